"""A Kafka in memory behind the consumer port."""

from __future__ import annotations

import threading
import time
from collections import defaultdict
from typing import TYPE_CHECKING, NamedTuple

from isolane.reference.consumer import ConsumerFailed, TopicPartition

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping, Sequence

    from isolane.reference.consumer import Owner


class FakeRecord(NamedTuple):
    """A record as it was fetched."""

    topic: str
    partition: int
    offset: int
    key: bytes | None
    value: bytes | None


class FakeKafka:
    """Partitions' logs and one group's committed offsets; the lock guards both, and what the members own."""

    def __init__(self) -> None:
        """Begin with no topic."""
        self.logs: dict[TopicPartition, list[FakeRecord]] = defaultdict(list)
        self.committed: dict[TopicPartition, int] = {}
        self.history: list[tuple[TopicPartition, int]] = []  # all commits, in order
        self.changed = threading.Condition()

    def produce(self, topic: str, partition: int, *values: bytes | None) -> None:
        """Append records."""
        place = TopicPartition(topic, partition)
        with self.changed:
            for value in values:
                self.logs[place].append(FakeRecord(*place, len(self.logs[place]), None, value))
            self.changed.notify_all()

    def commit(self, offsets: Mapping[TopicPartition, int]) -> None:
        """Take a member's commit."""
        with self.changed:
            self.committed.update(offsets)
            self.history.extend(offsets.items())


class FakeConsumer:
    """A member that owns whatever `own` says; changes happen in its next `poll`, as they do in Kafka.

    One poll returns at most `batch` records, of the partitions in turn.
    """

    def __init__(self, kafka: FakeKafka, owner: Owner, *, grace: float = 1.0, batch: int = 50) -> None:
        """Join."""
        self._kafka = kafka
        self._owner = owner
        self._grace = grace
        self._batch = batch
        self._positions: dict[TopicPartition, int] = {}  # in the order of their turns
        self._paused: set[TopicPartition] = set()
        self._wanted: set[TopicPartition] = set()
        self._done: list[Callable[[str | None], None]] = []
        self._lose = False
        self._woken = False
        self.fails: str | None = None
        self.silent: str | None = None
        self.closed = False

    def own(self, *places: TopicPartition, lost: bool = False) -> None:
        """Change which partitions are owned; those that go are revoked, or `lost`. For the test's thread."""
        with self._kafka.changed:
            self._wanted = set(places)
            self._lose = lost
            self._kafka.changed.notify_all()

    def begin_anew(self, place: TopicPartition) -> None:
        """Empty a partition's log: its offsets begin with 0 again. For the test's thread."""
        with self._kafka.changed:
            self._kafka.logs[place].clear()
            self._positions[place] = 0

    @property
    def paused(self) -> set[TopicPartition]:
        """The partitions that are paused."""
        return set(self._paused)

    def poll(self, timeout: float) -> Mapping[TopicPartition, Sequence[FakeRecord]]:
        """See `Consumer`."""
        if self.fails:
            raise ConsumerFailed(self.fails)
        while self._done:
            self._done.pop()(None)
        self._rebalance()
        with self._kafka.changed:
            batches = self._fetch()
            if not batches:
                self._kafka.changed.wait(0 if self._woken else timeout)
                batches = self._fetch()
            self._woken = False
        return batches

    def wake(self) -> None:
        """See `Consumer`."""
        with self._kafka.changed:
            self._woken = True
            self._kafka.changed.notify_all()

    def pause(self, places: Collection[TopicPartition]) -> None:
        """See `Consumer`."""
        self._paused.update(places)

    def resume(self, places: Collection[TopicPartition]) -> None:
        """See `Consumer`."""
        self._paused.difference_update(places)

    def position(self, place: TopicPartition) -> int | None:
        """See `Consumer`."""
        return self._positions.get(place)

    def seek(self, place: TopicPartition, offset: int) -> None:
        """See `Consumer`."""
        self._positions[place] = offset

    def ends(self) -> Mapping[TopicPartition, int]:
        """See `Consumer`."""
        with self._kafka.changed:
            return {place: len(self._kafka.logs[place]) for place in self._positions}

    def trouble(self) -> str | None:
        """See `Consumer`."""
        return self.silent

    def commit(self, offsets: Mapping[TopicPartition, int], done: Callable[[str | None], None]) -> None:
        """See `Consumer`."""
        self._kafka.commit(offsets)
        self._done.append(done)

    def close(self) -> None:
        """See `Consumer`."""
        self.own()
        self._rebalance()
        self.closed = True

    def _fetch(self) -> dict[TopicPartition, Sequence[FakeRecord]]:
        batches: dict[TopicPartition, Sequence[FakeRecord]] = {}
        left = self._batch
        for place in [place for place in self._positions if place not in self._paused]:
            begin = self._positions[place]
            if records := self._kafka.logs[place][begin : begin + left]:
                batches[place] = records
                left -= len(records)
                del self._positions[place]
                self._positions[place] = begin + len(records)
        return batches

    def _rebalance(self) -> None:
        with self._kafka.changed:
            gone = self._positions.keys() - self._wanted
            come = self._wanted - self._positions.keys()
        if gone and self._lose:
            self._owner.lost(gone)
        elif gone:
            self._owner.revoking(gone)
            end = time.monotonic() + self._grace
            while not self._owner.settled(gone) and time.monotonic() < end:
                time.sleep(0.001)
            self._kafka.commit(self._owner.revoked(gone))
        for place in gone:
            del self._positions[place]
        self._paused -= gone
        if come:
            self._owner.assigned(come)
        for place in come:
            self._positions[place] = self._kafka.committed.get(place, 0)
