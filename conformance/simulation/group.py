"""The broker's side of a consumer group: members, generations, and who is expelled when."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from isolane.conformance.simulation.assignment import Places, Protocol, cooperative, eager
from isolane.conformance.simulation.locks import Bell

if TYPE_CHECKING:
    from isolane.conformance.simulation.scheduler import Scheduler
    from isolane.reference.consumer import TopicPartition

UNKNOWN_MEMBER = "UNKNOWN_MEMBER_ID"
"""The group does not know the member (any more)."""

FENCED = "ILLEGAL_GENERATION"
"""The member speaks of a generation that is over."""

REBALANCING = "REBALANCE_IN_PROGRESS"
"""The member is to join again."""


class _Member:
    __slots__ = ("assigned", "expires", "generation", "joined", "owned")

    def __init__(self) -> None:
        self.owned: Places = ()  # what it said that it owns when it joined
        self.assigned: Places = ()
        self.generation = 0  # of the assignment
        self.joined = False  # in the rebalance under way
        self.expires = math.inf


class Group:
    """One consumer group, as its coordinator knows it; every method is one request, and atomic.

    Attributes:
        protocol: How partitions move.
        generation: The latest; a member of an earlier one is fenced.
        rebalances: How many were completed.
    """

    def __init__(
        self,
        scheduler: Scheduler,
        protocol: Protocol,
        places: Callable[[], Sequence[TopicPartition]],
        *,
        session_timeout: float,
        rebalance_timeout: float,
    ) -> None:
        """Begin without members.

        Args:
            scheduler: Of time.
            protocol: How partitions move.
            places: Tells all partitions that are subscribed to.
            session_timeout: Seconds without a heartbeat after which a member is expelled.
            rebalance_timeout: Seconds that a rebalance waits for its members.
        """
        self.protocol: Protocol = protocol
        self.generation = 0
        self.rebalances = 0
        self._scheduler = scheduler
        self._places = places
        self._session_timeout = session_timeout
        self._rebalance_timeout = rebalance_timeout
        self._members: dict[str, _Member] = {}
        self._rebalance_by: float | None = None  # None while no rebalance is under way
        self._decided = Bell(scheduler)
        self._sooner = Bell(scheduler)
        self._ids = 0

    def join(self, member_id: str | None, owned: Places) -> str | None:
        """Begin a rebalance, or take part in the one under way.

        Args:
            member_id: None for who is new.
            owned: What the member believes to own.

        Returns:
            The member's id; None when it has one that the group does not know (any more).
        """
        if member_id is None:
            self._ids += 1
            member_id = f"member-{self._ids}"
            self._members[member_id] = _Member()
        elif member_id not in self._members:
            return None
        if self._rebalance_by is None:
            self._begin()
        member = self._members[member_id]
        member.owned, member.joined, member.expires = owned, True, math.inf
        self._complete()
        return member_id

    def assignment(self, member_id: str, until: float) -> tuple[int, Places] | str | None:
        """Block until a rebalance that the member has joined is complete; return its generation and partitions.

        Returns:
            None when the time has come; `UNKNOWN_MEMBER` when it was expelled.
        """
        while (member := self._members.get(member_id)) is not None:
            if not member.joined:
                return member.generation, member.assigned
            if not self._decided.wait(until) and self._scheduler.now >= until:
                return None
        return UNKNOWN_MEMBER

    def heartbeat(self, member_id: str, generation: int) -> str | None:
        """Keep a session alive; return what is wrong, if anything is."""
        member = self._members.get(member_id)
        if member is None:
            return UNKNOWN_MEMBER
        if generation != member.generation:
            return FENCED
        if not member.joined:
            member.expires = self._scheduler.now + self._session_timeout
        return None if self._rebalance_by is None else REBALANCING

    def may_commit(self, member_id: str | None, generation: int) -> str | None:
        """Return why a member of a generation may not commit, or None."""
        member = self._members.get(member_id or "")
        if member is None:
            return UNKNOWN_MEMBER
        return None if generation == member.generation == self.generation else FENCED

    def leave(self, member_id: str | None) -> None:
        """Remove a member; the others share what it owned."""
        if self._members.pop(member_id or "", None) is not None:
            self._decided.ring()
            if self._rebalance_by is None:
                self._begin()
            self._complete()

    def owners(self) -> dict[TopicPartition, str]:
        """Return who was assigned what in the latest generation."""
        return {place: name for name, member in self._members.items() for place in member.assigned}

    def excuse(self) -> None:
        """Begin all sessions anew, as a coordinator that was away does."""
        for member in self._members.values():
            if not member.joined:
                member.expires = self._scheduler.now + self._session_timeout
        if self._rebalance_by is not None:
            self._rebalance_by = self._scheduler.now + self._rebalance_timeout
        self._sooner.ring()

    def watch(self, is_up: Callable[[], bool]) -> None:
        """Expel members whose time is over while the broker `is_up`; for a task of its own."""
        while True:
            times = [member.expires for member in self._members.values() if not member.joined]
            if self._rebalance_by is not None:
                times.append(self._rebalance_by)
            until = min(times, default=math.inf)
            if until > self._scheduler.now or not is_up():
                self._sooner.wait(until if until < math.inf and is_up() else None)
            else:
                self._expel()

    def _expel(self) -> None:
        now = self._scheduler.now
        late = self._rebalance_by is not None and self._rebalance_by <= now
        gone = [name for name, member in self._members.items() if not member.joined and (late or member.expires <= now)]
        for name in gone:
            del self._members[name]
        if gone and self._rebalance_by is None:
            self._begin()
        if late:
            self._rebalance_by = now + self._rebalance_timeout
        self._complete()

    def _begin(self) -> None:
        self._rebalance_by = self._scheduler.now + self._rebalance_timeout
        self._sooner.ring()

    def _complete(self) -> None:
        """Assign the partitions, if all members have joined."""
        if not all(member.joined for member in self._members.values()):
            return
        self._rebalance_by = None
        self.generation += 1
        self.rebalances += 1
        places = sorted(self._places())
        if self.protocol == "eager":
            assigned = eager(list(self._members), places, self.generation)
        else:
            assigned = cooperative({name: member.owned for name, member in self._members.items()}, places)
        for name, member in self._members.items():
            member.assigned, member.generation = assigned[name], self.generation
            member.joined = False
            member.expires = self._scheduler.now + self._session_timeout
        self._decided.ring()
        self._sooner.ring()
