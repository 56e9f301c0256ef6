"""TEN-1: what is created while everything runs is read from its first record, and soon."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from isolane.conformance.checkers import cases, harness
from isolane.conformance.checkers.happenings import happenings
from isolane.conformance.checkers.partitions import UNSEEN, discovery_bound
from isolane.conformance.checkers.story import story
from isolane.conformance.history import History
from isolane.conformance.history_values import Produced
from isolane.conformance.verdict import Figure, Finding, Verdict


@dataclass(frozen=True, slots=True)
class _Newcomer:
    """A partition that came while the scenario lived: when, and its records by offset."""

    came: float
    records: Sequence[Produced]

    def since(self, history: History) -> float:
        """The moment from which it had to be read: it and its first record were there, and its cluster was well."""
        first = self.records[0]
        since = max(self.came, first.acked)
        for fault in history.faults:
            if fault.tenant == history.meta.owners[first.topic] and fault.began <= since < fault.ended < math.inf:
                since = fault.ended
        return since

    def delay(self, history: History) -> float:
        """Seconds from that moment until its first record was finished."""
        return max(history.finished_at(self.records[0]) - self.since(history), 0)


def check(history: History) -> list[Finding]:
    """Return the finding on TEN-1; none where no partition was new, or nothing was written to those that were."""
    newcomers = list(_newcomers(history))
    if not newcomers:
        return []
    bound = discovery_bound(history)
    worst = max(newcomers, key=lambda newcomer: newcomer.delay(history))
    figures = {
        "new partitions": Figure(len(newcomers)),
        "longest time until the first record was accepted": Figure(worst.delay(history), "s", f"≤ {bound:g}"),
    }
    skipped = next((each for each in newcomers if each.delay(history) == math.inf), None)
    if skipped is not None:
        return [_skipped(history, skipped, figures)]
    if worst.delay(history) > bound:
        late = f"was accepted only {worst.delay(history):.1f} s later"
        doubt = harness.excuse(history, worst.since(history), worst.delay(history), bound)
        if doubt := doubt or _upset(history, worst) or _restart(history, [worst], bound):
            summary = f"the first record of a new partition {late}, but {doubt}"
            return [Finding("TEN-1", history.scenario, Verdict.INCONCLUSIVE, summary, figures=figures)]
        return [_failed(history, worst, figures, late)]
    if restart := _restart(history, newcomers, bound):
        return [Finding("TEN-1", history.scenario, Verdict.INCONCLUSIVE, restart, figures=figures)]
    summary = f"every new partition was read from its first record on, within {bound:g} s ({len(newcomers)})"
    return [Finding("TEN-1", history.scenario, Verdict.PASS, summary, figures=figures)]


def _newcomers(history: History) -> Iterator[_Newcomer]:
    known = {number: topic.partitions for number, topic in enumerate(history.meta.topics)}
    for event in history.events:
        if event.kind != "topic":
            continue
        topic, partitions = int(event.detail["topic"]), int(event.detail["partitions"])
        before = 0 if event.name == "created" else known[topic]
        known[topic] = partitions
        for partition in range(before, partitions):
            records = [
                record for record in history.by_partition.get((topic, partition), ()) if record.kind not in UNSEEN
            ]
            if records and topic in history.meta.owners:
                yield _Newcomer(event.at, records)


def _skipped(history: History, newcomer: _Newcomer, figures: dict[str, Figure]) -> Finding:
    if reason := cases.pending(history, newcomer.records[:1]):
        summary = f"{history.place(newcomer.records[0])}, the first record of a new partition, is missing, but {reason}"
        return Finding("TEN-1", history.scenario, Verdict.INCONCLUSIVE, summary, figures=figures)
    return _failed(history, newcomer, figures, _fate(history, newcomer))


def _fate(history: History, newcomer: _Newcomer) -> str:
    later = next((each for each in newcomer.records if history.finished_at(each) < math.inf), None)
    if later is None:
        return "was never accepted, nor anything behind it"
    return f"was never accepted, and the one at {later.offset} was: it began there instead of at its first record"


def _upset(history: History, newcomer: _Newcomer) -> str | None:
    """Return what kept members, or Kafka, from their work before the newcomer was read; None when nothing did."""
    since, read = newcomer.since(history), history.finished_at(newcomer.records[0])
    upset = [each for each in happenings(history).values() if each.upsets_the_group and each.meets(since, read)]
    return f"{upset[0].case} was under way before that" if upset else None


def _restart(history: History, newcomers: Sequence[_Newcomer], bound: float) -> str | None:
    """Return why nothing is proven of discovery: a member was started before all newcomers were read, or had to be."""
    for newcomer in newcomers:
        until = min(history.finished_at(newcomer.records[0]), newcomer.since(history) + bound)
        if any(
            event.kind == "process" and event.name == "started" and newcomer.came < event.at < until
            for event in history.events
        ):
            return (
                f"a member was started before {history.place(newcomer.records[0])} was read: it may have found it then"
            )
    return None


def _failed(history: History, newcomer: _Newcomer, figures: dict[str, Figure], fate: str) -> Finding:
    first = newcomer.records[0]
    return Finding(
        "TEN-1",
        history.scenario,
        Verdict.FAIL,
        f"{history.place(first)}, the first record of a partition that was new, {fate}",
        figures=figures,
        evidence=(first.token,),
        story=story(history, first),
    )
