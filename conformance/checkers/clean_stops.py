"""REB-7 and LIF-3: who leaves in peace finishes what is under way, and leaves nothing to be delivered twice."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from isolane.conformance.checkers import duplicates, membership
from isolane.conformance.checkers.cases import Judge
from isolane.conformance.checkers.duplicates import Repeat
from isolane.conformance.checkers.membership import JOINED, LEFT
from isolane.conformance.checkers.partitions import discovery_bound
from isolane.conformance.history import History
from isolane.conformance.history_ledger import is_accepted
from isolane.conformance.history_values import Event, Produced
from isolane.conformance.verdict import Figure, Finding

NEARLY_NONE = 0.05
"""The part of the items that were under way when members were told to stop, of which so many may be delivered twice."""

FEWEST_STOPS = 2
"""Members that must have been told to stop while requests were under way."""

RESTARTED = "restarted"
"""The phase in which the one member is stopped with healthy clusters, and started again."""


def check(history: History) -> list[Finding]:
    """Return the findings on REB-7 and LIF-3, each where the scenario declares it."""
    found = []
    if "REB-7" in history.meta.judges:
        found.append(_rolling(history))
    if "LIF-3" in history.meta.judges:
        found.append(_restarted(history))
    return found


def _rolling(history: History) -> Finding:
    judge = Judge(history, "REB-7")
    until = membership.end(history)
    asked = [event for event in history.events if (event.kind, event.name) == ("signal", "terminated")]
    under_way = [count for event in asked if event.at < until and (count := _items_under_way(history, event.at))]
    again = list(_caused_cleanly(history))
    figures = {
        "members told to stop with requests under way": Figure(len(under_way), "", f"≥ {FEWEST_STOPS}"),
        "items that were under way then": Figure(sum(under_way)),
        "items accepted twice, with nobody killed or frozen": Figure(
            len(again), "", f"≤ {NEARLY_NONE * sum(under_way):.0f}"
        ),
    }
    if len(again) > NEARLY_NONE * sum(under_way):
        return judge.fails("records delivered again after members had come or left in peace", _records(again), figures)
    if len(under_way) < FEWEST_STOPS:
        return judge.doubts("too few members were told to stop with requests under way", figures)
    return judge.passes("members that came and left in peace left next to nothing to deliver again", figures)


def _restarted(history: History) -> Finding:
    judge = Judge(history, "LIF-3")
    phase = history.phase(RESTARTED)
    if phase is None or not phase.complete:
        return judge.doubts("no member was stopped and started again", {})
    accepted = sum(
        is_accepted(status)
        for attempt in history.attempts
        if attempt.answered is not None and attempt.answered < phase.began
        for _, status in attempt.items()
    )
    again = [
        repeat
        for repeat in _caused_cleanly(history)
        if phase.began <= repeat.again.arrived
        and repeat.before.answered is not None
        and repeat.before.answered < phase.ended
    ]
    figures = {
        "items accepted before": Figure(accepted, "", "≥ 1"),
        "items accepted again afterwards": Figure(len(again), "", "= 0"),
    }
    if again:
        return judge.fails("records delivered again after a clean stop", _records(again), figures)
    if not accepted:
        return judge.doubts("nothing was accepted before the stop", figures)
    return judge.passes("a clean stop left nothing to deliver again", figures)


def _items_under_way(history: History, at: float) -> int:
    return sum(
        1
        for attempt in history.attempts
        if attempt.arrived < at and attempt.answered is not None and attempt.answered > at
        for _ in attempt.tokens()
    )


def _caused_cleanly(history: History) -> Iterator[Repeat]:
    """Yield what was delivered again where nothing but clean comings and goings can be the reason."""
    events, settled = membership.processes(history), discovery_bound(history)
    for repeat in duplicates.repeats(history):
        causes = _between(events, repeat, settled)
        if causes and not duplicates.is_lost(repeat.before) and {each.name for each in causes} <= {JOINED, LEFT}:
            yield repeat


def _between(events: Sequence[Event], repeat: Repeat, settled: float) -> list[Event]:
    assert repeat.before.answered is not None
    since = repeat.before.answered - settled
    return [event for event in events if since <= event.at <= repeat.again.arrived]


def _records(again: Sequence[Repeat]) -> list[Produced]:
    return [repeat.record for repeat in again]
