"""What happened to the consumer group: who came and went, when it was at rest, and who had which partition."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from isolane.conformance.history import History
from isolane.conformance.history_values import Event, GroupState

Place = tuple[int, int]

JOINED, LEFT, KILLED, FROZEN, THAWED, EXITED = "started", "stopped", "killed", "frozen", "thawed", "exited"
"""What members do, and what is done to them: the names of events of the kind ``process``."""

ENDS = frozenset({LEFT, KILLED, EXITED})
"""Those with which a member's process is over."""


@dataclass(frozen=True, slots=True)
class Change:
    """A change of members, and the calm that followed it.

    Attributes:
        event: What happened.
        before: The group as it was at rest before.
        after: The group as it was at rest when the next change came; None where it was not.
        settled: When it had come to rest; infinity where it had not.
        until: When the next change came, or the end.
    """

    event: Event
    before: GroupState
    after: GroupState | None
    settled: float
    until: float

    @property
    def calm(self) -> float:
        """Seconds for which nothing changed any more."""
        return max(0.0, self.until - self.settled)


def end(history: History) -> float:
    """Return when the scenario was over, and members were stopped for that reason alone."""
    return next((event.at for event in history.events if (event.kind, event.name) == ("phase", "end")), math.inf)


def processes(history: History) -> list[Event]:
    """Return what happened to members before the end, in order."""
    until = end(history)
    return [event for event in history.events if event.kind == "process" and event.at < until]


def interferences(history: History) -> list[float]:
    """Return when anything was done, or happened, to members before the end, in order: stops begin when asked for."""
    until = end(history)
    return [event.at for event in history.events if event.kind in {"process", "signal"} and event.at < until]


def changes(history: History) -> Iterator[Change]:
    """Yield the changes of a group that somebody was in, as far as its state is known."""
    moments = interferences(history)
    for event in processes(history):
        following = next((at for at in moments if at > event.at), min(end(history), history.last))
        before = at_rest_before(history, event.at)
        if before is None or not before.members:
            continue
        state = state_at(history, following)
        after = state if state is not None and state.at_rest else None
        settled = math.inf if after is None else max(event.at, after.at)
        yield Change(event, before, after, settled, following)


def state_at(history: History, at: float) -> GroupState | None:
    """Return what the group was last seen as before that moment; None where it was not seen yet."""
    return next((state for state in reversed(history.groups) if state.at <= at), None)


def at_rest_before(history: History, at: float) -> GroupState | None:
    """Return what the group was when it was last seen at rest before that moment."""
    return next((state for state in reversed(history.groups) if state.at <= at and state.at_rest), None)


def unrest(history: History) -> list[tuple[float, float]]:
    """Return the stretches in which the group was seen not to be at rest; one that never ended ends at infinity.

    Nor is one at rest with partitions that are nobody's, though somebody had them: in a cooperative rebalance Kafka's
    own word for the group says so in between. A group that nobody is in is at rest, too.
    """
    stretches: list[tuple[float, float]] = []
    began: float | None = None
    had: set[Place] = set()
    for state in history.groups:
        have = owners(state).keys()
        had |= have
        moving = bool(state.members) and (not state.at_rest or have < had)
        if moving and began is None:
            began = state.at
        elif not moving and began is not None:
            stretches.append((began, state.at))
            began = None
    return stretches if began is None else [*stretches, (began, math.inf)]


def owners(state: GroupState) -> Mapping[Place, str]:
    """Return the id of the member that has each partition."""
    return {place: member for member, places in state.members.items() for place in places}


def returns(history: History) -> dict[Place, list[tuple[float, float]]]:
    """Return, for each partition, when it was first seen away from a member, and back with the same one."""
    found: dict[Place, list[tuple[float, float]]] = {}
    had: dict[Place, str] = {}
    left: dict[tuple[Place, str], float] = {}
    for state in history.groups:
        if not state.at_rest:
            continue
        have = owners(state)
        for place, member in had.items():
            if have.get(place) != member:
                left[place, member] = state.at
        for place, member in have.items():
            if had.get(place) != member and (place, member) in left:
                found.setdefault(place, []).append((left.pop((place, member)), state.at))
        had = dict(have)
    return found
