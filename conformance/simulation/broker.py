"""A Kafka broker in memory: partitions' logs, and one group's committed offsets."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple, Protocol

from isolane.conformance.simulation import assignment
from isolane.conformance.simulation.group import Group
from isolane.conformance.simulation.locks import Bell
from isolane.conformance.simulation.scheduler import Process
from isolane.reference.consumer import TopicPartition

if TYPE_CHECKING:
    from isolane.conformance.simulation.scheduler import Scheduler

UNAVAILABLE = "the broker is down"


class SimulatedRecord(NamedTuple):
    """See `isolane.reference.consumer.ConsumerRecord`."""

    topic: str
    partition: int
    offset: int
    key: bytes | None
    value: bytes | None


class Log:
    """A partition: its records in order, which need not be numbered without gaps (OFF-3).

    Attributes:
        records: All of them.
        end: The offset of the next one.
    """

    __slots__ = ("_offsets", "end", "records")

    def __init__(self) -> None:
        """Begin empty."""
        self.records: list[SimulatedRecord] = []
        self.end = 0
        self._offsets: list[int] = []

    def append(self, place: TopicPartition, value: bytes | None) -> SimulatedRecord:
        """Add a record."""
        record = SimulatedRecord(*place, self.end, None, value)
        self.records.append(record)
        self._offsets.append(self.end)
        self.end += 1
        return record

    def skip(self, offsets: int) -> None:
        """Leave out so many offsets, as control records and compaction do."""
        self.end += offsets

    def since(self, offset: int, limit: int) -> Sequence[SimulatedRecord]:
        """Return at most `limit` records from an offset on."""
        first = bisect_left(self._offsets, offset)
        return self.records[first : first + limit]


class Watcher(Protocol):
    """Who is told of commits."""

    def committed(self, name: str, place: TopicPartition, offset: int, log: Log, *, foreign: bool) -> None:
        """See an offset that the process `name` commits; `foreign` is whether somebody else owns the partition."""


class Broker:
    """All topics and one group.

    Attributes:
        logs: By partition.
        committed: Offsets, by partition.
        group: The consumer group.
        arrived: Is rung when records arrive, or the broker comes back.
        version: How often topics and partitions were added.
    """

    def __init__(
        self,
        scheduler: Scheduler,
        watcher: Watcher,
        subscription: str,
        protocol: assignment.Protocol = "cooperative",
        *,
        session_timeout: float = 0.5,
        rebalance_timeout: float = 1.0,
    ) -> None:
        """Begin without topics, with a coordinator that keeps the times given in seconds."""
        self.logs: dict[TopicPartition, Log] = {}
        self.committed: dict[TopicPartition, int] = {}
        self.arrived = Bell(scheduler)
        self.version = 0
        self.group = Group(
            scheduler,
            protocol,
            self._subscribed,
            session_timeout=session_timeout,
            rebalance_timeout=rebalance_timeout,
        )
        self._watcher = watcher
        self._matches = re.compile(subscription).match
        self._up = True
        scheduler.spawn("coordinator", Process("kafka"), lambda: self.group.watch(lambda: self._up))

    def create(self, places: Iterable[TopicPartition]) -> None:
        """Make partitions, and so topics."""
        for place in places:
            self.logs.setdefault(place, Log())
        self.version += 1

    def produce(self, place: TopicPartition, values: Sequence[bytes | None], *, gap: int = 0) -> list[SimulatedRecord]:
        """Append records, and leave out so many offsets behind each; they are acknowledged at once."""
        log = self.logs[place]
        records = []
        for value in values:
            records.append(log.append(place, value))
            if gap:
                log.skip(gap)
        self.arrived.ring()
        return records

    @property
    def is_up(self) -> bool:
        """Whether it answers."""
        return self._up

    def go_down(self) -> None:
        """Answer nobody."""
        self._up = False

    def come_back(self) -> None:
        """Answer again; whoever was a member still is."""
        self._up = True
        self.group.excuse()
        self.arrived.ring()

    def commit(
        self, name: str, member_id: str | None, generation: int, offsets: Mapping[TopicPartition, int]
    ) -> str | None:
        """Take a member's commit; return why not, or None.

        Args:
            name: Of the process; for whoever is told.
            member_id: In the group.
            generation: Of the member.
            offsets: By partition.
        """
        trouble = self.group.may_commit(member_id, generation) if self._up else UNAVAILABLE
        if trouble is None:
            owners = self.group.owners()
            for place, offset in offsets.items():
                foreign = owners.get(place, member_id) != member_id
                self._watcher.committed(name, place, offset, self.logs[place], foreign=foreign)
                self.committed[place] = offset
        return trouble

    def _subscribed(self) -> list[TopicPartition]:
        return [place for place in self.logs if self._matches(place.topic)]
