"""MEM-7: back-pressure pauses the partition concerned only, and nothing is fetched again and again."""

from __future__ import annotations

import math
from bisect import bisect_right

from isolane.conformance.checkers import cases, slots, span
from isolane.conformance.checkers.cases import Judge, Late
from isolane.conformance.checkers.plateau import PACKED
from isolane.conformance.history import History
from isolane.conformance.history_values import Fault, Produced
from isolane.conformance.verdict import Figure, Finding

FETCHED = 1.5
"""Bytes that may be fetched for each byte produced."""

ALONGSIDE = 0.9
"""The part of the records beside a held partition that must be accepted while it is held."""


def check(history: History) -> list[Finding]:
    """Return the findings on MEM-7 where the scenario declares it."""
    if "MEM-7" not in history.meta.judges:
        return []
    return [_volume(history), *(_alongside(history, fault) for fault in cases.of_kind(history, "stuck"))]


def _volume(history: History) -> Finding:
    """Hold what was fetched against what was produced, until records were compressed."""
    judge = Judge(history, "MEM-7", "bytes fetched")
    packed = history.phase(PACKED)
    until = history.last if packed is None else packed.began
    produced = sum(record.size for record in history.produced if record.acked < until)
    fetched = fetched_until(history, until)
    held = max((_unfetched(history, phase.ended) for phase in history.phases if phase.ended <= until), default=0)
    figures = {
        "produced": Figure(produced, "bytes"),
        "fetched": Figure(fetched, "bytes", f"≤ {FETCHED * produced:,.0f}"),
        "fetched / produced": Figure(fetched / produced if produced else 0.0, "", f"≤ {FETCHED:g}"),
        "most left in Kafka at the end of a phase": Figure(held, "bytes", "> 0"),
    }
    if not history.fetched:
        return judge.doubts("what was fetched was not counted: that takes a Kafka that the suite has started", figures)
    if not slots.single_life(history):
        return judge.doubts("restarts fetch again what was not committed", figures)
    if fetched > FETCHED * produced:
        known = [record for record in history.produced if record.acked < until]
        waited = sorted(known, key=lambda record: record.acked - history.finished_at(record))
        return judge.fails("records for each of which more than one and a half were fetched", waited, figures)
    if held <= 0:
        return judge.doubts("everything was fetched at once: nothing was ever held back", figures)
    return judge.passes(f"for each byte produced {fetched / produced:.2f} were fetched", figures)


def _alongside(history: History, fault: Fault) -> Finding:
    """Hold the partitions beside a held one to their records."""
    judge = Judge(history, "MEM-7", f"beside {fault.name}")
    held = {(head.record.topic, head.record.partition) for head in span.heads_of(history, fault)}
    beside = [record for record in _during(history, fault) if (record.topic, record.partition) not in held]
    late = [record for record in beside if history.finished_at(record) > fault.ended]
    figures = {
        "partitions held": Figure(len(held), "", "≥ 1"),
        "records beside them": Figure(len(beside), "", "≥ 1"),
        "of them accepted meanwhile": Figure(len(beside) - len(late), "", f"≥ {ALONGSIDE * len(beside):.0f}"),
    }
    if not held or not beside:
        return judge.doubts("no partition was held beside others", figures)
    if fault.ended == math.inf:
        return judge.doubts("the run ended while a partition was held", figures)
    if len(late) > (1 - ALONGSIDE) * len(beside):
        lasted = fault.ended - fault.began
        return judge.fails(
            "records that waited beside a held partition", late, figures, [Late(fault.began, lasted, lasted)]
        )
    return judge.passes("the partitions beside a held one went on", figures)


def fetched_until(history: History, at: float) -> int:
    """Return the bytes that came from Kafka to the members until then."""
    count = bisect_right([each.at for each in history.fetched], at)
    return history.fetched[count - 1].bytes if count else 0


def _unfetched(history: History, at: float) -> int:
    return sum(record.size for record in history.produced if record.acked < at) - fetched_until(history, at)


def _during(history: History, fault: Fault) -> list[Produced]:
    return [each for each in history.by_tenant[fault.tenant] if fault.began <= each.acked < fault.ended]
