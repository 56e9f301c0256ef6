"""REB-8: cycles of joining and leaving at saturation leak nothing: throughput, memory, threads, descriptors, slots.

Throughput is that of everybody together. What a process needs is that of the member which lived through all of it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from statistics import median

from isolane.conformance.checkers import cases, membership, slots
from isolane.conformance.checkers.cases import Judge, Late
from isolane.conformance.checkers.membership import JOINED
from isolane.conformance.history import History
from isolane.conformance.history_ledger import is_accepted
from isolane.conformance.history_values import Phase, Produced, Sample
from isolane.conformance.verdict import Figure, Finding

FRESH, BEFORE, CYCLES, AFTER = "fresh", "before", "cycles", "after"
"""The phases: one member measured alone, and once more when another one had come and gone; cycles; and again."""

FEWEST_CYCLES = 10
THROUGHPUT = 0.9
"""What is left of the throughput before, at least."""

FLAT = 1.10
"""What a process may need afterwards of what it needed before, or a little more than that of what is few."""

_MORE = {"memory": 8.0, "threads": 2, "descriptors": 8}
"""The little more: MiB that an allocator keeps, a thread that is about to end, connections kept for the next rush."""

_NEEDS: tuple[tuple[str, str, Callable[[Sample], float]], ...] = (
    ("memory", "MiB", lambda sample: sample.rss / 1024**2),
    ("threads", "", lambda sample: sample.threads),
    ("descriptors", "", lambda sample: sample.fds),
)


def check(history: History) -> list[Finding]:
    """Return the findings on REB-8, on throughput and on what the process needs, where the scenario declares it."""
    if "REB-8" not in history.meta.judges:
        return []
    before, cycles, after = (history.phase(name) for name in (BEFORE, CYCLES, AFTER))
    if before is None or cycles is None or after is None or not after.complete:
        return [Judge(history, "REB-8").doubts("the cycles, or the measurements around them, are not complete", {})]
    joined = sum(
        event.name == JOINED and cycles.began <= event.at < cycles.ended for event in membership.processes(history)
    )
    counted = {"cycles of joining and leaving": Figure(joined, "", f"≥ {FEWEST_CYCLES}")}
    alone = [before, *(phase for phase in history.phases if phase.name == FRESH)]
    found = [_throughput(history, alone, after, counted), _process(history, before, after, counted)]
    if "cap_ceiling" in history.meta.bounds:
        found.append(_slots(history, after, counted))
    return found


def _throughput(history: History, alone: list[Phase], after: Phase, counted: dict[str, Figure]) -> Finding:
    """Hold throughput against the best before: a leak may be complete with the first member that goes."""
    judge = Judge(history, "REB-8", "throughput")
    one = max(_accepted(history, phase) / phase.seconds for phase in alone)
    other = _accepted(history, after) / after.seconds
    figures = counted | {
        "throughput before": Figure(one, "items/s"),
        "throughput after": Figure(other, "items/s", f"≥ {THROUGHPUT * one:.0f}"),
    }
    waiting = list(_waiting(history, after))
    if other < THROUGHPUT * one and waiting:
        slow = [Late(after.began, after.seconds, after.seconds)]
        return judge.fails("throughput fell with the cycles; records that waited", waiting, figures, slow)
    if not all(_is_saturated(history, phase) for phase in (alone[0], after)):
        return judge.doubts("not all the time something waited to be delivered", figures)
    return _passed(judge, f"throughput after the cycles is {other / one:.2f} of that before", figures, counted)


def _process(history: History, before: Phase, after: Phase, counted: dict[str, Figure]) -> Finding:
    judge = Judge(history, "REB-8", "the process")
    one, other = (_samples(history, phase) for phase in (before, after))
    same = {sample.pid for sample in one} & {sample.pid for sample in other}
    if not same:
        return judge.doubts("no process lived through all the cycles and was sampled", counted)
    pid = same.pop()
    figures, grown = dict(counted), []
    for name, unit, need in _NEEDS:
        was, now = (median(need(sample) for sample in phase if sample.pid == pid) for phase in (one, other))
        bound = max(FLAT * was, was + _MORE[name])
        figures |= {f"{name} before": Figure(was, unit), f"{name} after": Figure(now, unit, f"≤ {bound:.0f}")}
        if now > bound:
            grown.append(name)
    waiting = list(_waiting(history, after))
    if grown and waiting:
        return judge.fails(f"{', '.join(grown)} grew with the cycles; records that waited", waiting, figures)
    return _passed(judge, "the cycles left memory, threads and descriptors as they were", figures, counted)


def _slots(history: History, after: Phase, counted: dict[str, Figure]) -> Finding:
    """A slot that is returned twice is one more for ever: more is open at a cluster than the ceiling allows."""
    judge = Judge(history, "REB-8", "slots")
    ceiling = slots.limit(history, "cap_ceiling") or 0
    most, record = 0, None
    for tenant in history.by_tenant:
        for attempt in slots.attempts_of(history, tenant):
            if after.began <= attempt.arrived < after.ended and attempt.concurrent > most:
                most = attempt.concurrent
                record = next(iter(cases.records(history, attempt.tokens())), None)
    figures = counted | {"most requests open at one cluster after": Figure(most, "", f"≤ {ceiling}")}
    if most > ceiling and record is not None:
        return judge.fails("records sent beside more requests than the ceiling allows", [record], figures)
    return _passed(judge, f"no more requests were open at a cluster than {ceiling} after the cycles", figures, counted)


def _passed(judge: Judge, summary: str, figures: dict[str, Figure], counted: dict[str, Figure]) -> Finding:
    joined = next(iter(counted.values())).value
    if joined < FEWEST_CYCLES:
        return judge.doubts(f"members came and went only {joined:g} times", figures)
    return judge.passes(summary, figures)


def _accepted(history: History, phase: Phase) -> int:
    return sum(
        is_accepted(status)
        for attempt in history.attempts
        if attempt.answered is not None and phase.began <= attempt.answered < phase.ended
        for _, status in attempt.items()
    )


def _is_saturated(history: History, phase: Phase) -> bool:
    return any(slots.saturated(history, tenant, phase.began, phase.ended) for tenant in history.by_tenant)


def _waiting(history: History, phase: Phase) -> Iterator[Produced]:
    """Yield the records that were there when a phase began and were still not accepted when it ended."""
    for records in history.by_tenant.values():
        yield from (
            record
            for record in records
            if record.acked < phase.ended <= history.accepted_at(record) and record.acked < phase.began + 1.0
        )


def _samples(history: History, phase: Phase) -> list[Sample]:
    return [sample for sample in history.samples if phase.began <= sample.at < phase.ended]
