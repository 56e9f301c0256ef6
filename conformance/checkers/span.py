"""MEM-8: how much is finished behind a stuck head before its partition waits."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

from isolane.conformance.checkers import cases, slots
from isolane.conformance.checkers.cases import Judge
from isolane.conformance.history import History
from isolane.conformance.history_values import Fault, Produced
from isolane.conformance.tokens import ITEM_BITS
from isolane.conformance.verdict import Figure, Finding

SPAN = 10_000
"""What is allowed where nothing is promised."""


@dataclass(frozen=True, slots=True)
class Head:
    """A record that was refused all through a fault, and those behind it: how many there were, and were finished."""

    record: Produced
    refused: int
    behind: int
    finished: tuple[Produced, ...]


def check(history: History) -> list[Finding]:
    """Return the finding on MEM-8 where the scenario declares it."""
    if "MEM-8" not in history.meta.judges:
        return []
    judge = Judge(history, "MEM-8")
    bound = slots.limit(history, "span") or SPAN
    faults = cases.of_kind(history, "stuck")
    heads = [head for fault in faults for head in heads_of(history, fault)]
    worst = max(heads, key=lambda head: (len(head.finished), head.behind), default=None)
    if worst is None:
        return [judge.doubts("no record was refused all through a fault", {})]
    figures = {
        "attempts of the stuck record": Figure(worst.refused, "", "≥ 1"),
        "records behind it": Figure(worst.behind, "", f"> {bound:,}"),
        "of them finished while it was stuck": Figure(len(worst.finished), "", f"≤ {bound:,}"),
    }
    if len(worst.finished) > bound:
        late = sorted(worst.finished, key=history.finished_at)[bound:]
        return [judge.fails(f"records finished behind {history.place(worst.record)} beyond the span", late, figures)]
    if any(fault.ended == math.inf for fault in faults):
        return [judge.doubts("the run ended while a record was stuck", figures)]
    if worst.behind <= bound:
        return [judge.doubts(f"no more than {bound:,} records were behind the stuck one", figures)]
    return [
        judge.passes(f"of {worst.behind:,} records behind a stuck one {len(worst.finished):,} were finished", figures)
    ]


def heads_of(history: History, fault: Fault) -> Iterator[Head]:
    """Yield the first record of each partition that was sent in the fault and was not finished before its end."""
    for (topic, _), records in history.by_partition.items():
        if history.meta.owners.get(topic) != fault.tenant:
            continue
        stuck = next((each for each in records if _is_stuck(history, each, fault)), None)
        if stuck is not None:
            behind = [each for each in records if each.offset > stuck.offset and each.acked < fault.ended]
            finished = tuple(each for each in behind if _is_finished_by(history, each, fault.ended))
            yield Head(stuck, len(_sent(history, stuck)), len(behind), finished)


def _is_finished_by(history: History, record: Produced, at: float) -> bool:
    """Return whether a record was finished until then; what never was is not, even where the end is not known."""
    return history.finished_at(record) <= at and history.finished_at(record) < math.inf


def _is_stuck(history: History, record: Produced, fault: Fault) -> bool:
    """Return whether a record was refused at its first attempt, and was not finished within the fault."""
    finished = history.finished_at(record)
    tried = [at for at in _sent(history, record) if fault.began <= at < fault.ended]
    return bool(tried) and (finished == math.inf or finished > fault.ended) and record.acked < fault.ended


def _sent(history: History, record: Produced) -> list[float]:
    sendings = history.sendings.get(record.record << ITEM_BITS, ())
    return [sending.attempt.arrived for sending in sendings]
