"""REB-7 and LIF-3: who leaves in peace finishes what is under way, and leaves nothing to be delivered twice."""

from __future__ import annotations

import math
from collections.abc import Iterator

from isolane.conformance.checkers import duplicates, membership, slots
from isolane.conformance.checkers.cases import Judge
from isolane.conformance.checkers.duplicates import Repeat
from isolane.conformance.checkers.membership import JOINED, LEFT
from isolane.conformance.checkers.partitions import discovery_bound
from isolane.conformance.history import History
from isolane.conformance.history_ledger import is_accepted
from isolane.conformance.history_values import Produced
from isolane.conformance.tokens import ITEM_BITS
from isolane.conformance.verdict import Figure, Finding

NEARLY_NONE = 0.05
"""The part of what was under way when members were told to stop: so much may come twice, or be hung up on."""

FEWEST_STOPS = 2
"""Members that must have been told to stop while requests were under way."""

ASKED, HUNG_UP = "terminated", "client_gone"
"""The signal by which a member is told to stop, and how a request ends whose sender does not wait for its answer."""

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
    asked = [event for event in history.events if (event.kind, event.name) == ("signal", ASKED)]
    under_way = [count for event in asked if event.at < until and (count := _items_under_way(history, event.at))]
    again = [repeat.record for repeat in _caused_cleanly(history)]
    dropped = list(_thrown_away(history))
    most = NEARLY_NONE * sum(under_way)
    figures = {
        "members told to stop with requests under way": Figure(len(under_way), "", f"≥ {FEWEST_STOPS}"),
        "items that were under way then": Figure(sum(under_way)),
        "items accepted twice, with nobody killed or frozen": Figure(len(again), "", f"≤ {most:.0f}"),
        "items hung up on, with nobody killed or frozen": Figure(len(dropped), "", f"≤ {most:.0f}"),
    }
    if len(again) > most:
        return judge.fails("records delivered again after members had come or left in peace", again, figures)
    if len(dropped) > most:
        what = "records in requests that their senders hung up on as members came or left in peace"
        return judge.fails(what, dropped, figures)
    if len(under_way) < FEWEST_STOPS:
        return judge.doubts("too few members were told to stop with requests under way", figures)
    return judge.passes("members that came and left in peace finished what was under way", figures)


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
        return judge.fails("records delivered again after a clean stop", [repeat.record for repeat in again], figures)
    if not accepted:
        return judge.doubts("nothing was accepted before the stop", figures)
    return judge.passes("a clean stop left nothing to deliver again", figures)


def _items_under_way(history: History, at: float) -> int:
    return sum(
        1
        for attempt in history.attempts
        if attempt.arrived < at < slots.end(attempt)
        for token in attempt.tokens()
        if token is not None
    )


def _caused_cleanly(history: History) -> Iterator[Repeat]:
    """Yield what was delivered again where nothing but clean comings and goings can be the reason."""
    settled = discovery_bound(history)
    for repeat in duplicates.repeats(history):
        assert repeat.before.answered is not None
        since = repeat.before.answered - settled
        if not duplicates.is_lost(repeat.before) and _is_clean(history, since, repeat.again.arrived):
            yield repeat


def _thrown_away(history: History) -> Iterator[Produced]:
    """Yield the record of each item whose sender hung up, on a request that was not slow, in such a time."""
    settled, until = discovery_bound(history), membership.end(history)
    patience = slots.seconds(history, "slow_after", math.inf)
    for attempt in history.attempts:
        if attempt.answered is not None or attempt.how != HUNG_UP or attempt.closed is None:
            continue
        soon = attempt.closed - attempt.arrived < patience
        if soon and attempt.closed < until and _is_clean(history, attempt.closed - settled, attempt.closed):
            for token in attempt.tokens():
                record = None if token is None else history.find(token >> ITEM_BITS)
                if record is not None:
                    yield record


def _is_clean(history: History, since: float, until: float) -> bool:
    """Return whether members came or left between two moments, and nothing else happened to any."""
    names = {
        event.name
        for event in history.events
        if (event.kind == "process" or event.name == ASKED) and since <= event.at <= until
    }
    return bool(names) and names <= {JOINED, LEFT, ASKED}
