"""A member of the simulated group behind the consumer port, with the two threads that a Kafka client has."""

from __future__ import annotations

from typing import TYPE_CHECKING

from isolane.conformance.simulation.broker import SimulatedRecord
from isolane.conformance.simulation.group import FENCED, REBALANCING, UNKNOWN_MEMBER
from isolane.conformance.simulation.locks import Bell
from isolane.reference.consumer import ConsumerFailed

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping, Sequence

    from isolane.conformance.simulation.assignment import Places
    from isolane.conformance.simulation.broker import Broker
    from isolane.conformance.simulation.runtime import SimulatedRuntime
    from isolane.reference.config import Kafka
    from isolane.reference.consumer import Owner, TopicPartition

PATIENCE = 0.25
"""Seconds that one poll waits for a join, and `close` for the I/O thread once partitions are given back."""

_SETTLE_CHECK = 0.01

Commit = tuple["Mapping[TopicPartition, int]", "Callable[[str | None], None]", "int | None"]


class SimulatedConsumer:
    """See `isolane.reference.consumer.Consumer`.

    As in kafka-python 3.0.12, an I/O thread sends heartbeats and commits, joins, and calls the owner, and only while
    the poll thread waits in `poll` or `close`. A call of the owner that blocks stops the heartbeats; the grace for
    revoked partitions does not.
    """

    def __init__(
        self, broker: Broker, kafka: Kafka, owner: Owner, runtime: SimulatedRuntime, *, batch: int = 50
    ) -> None:
        """Begin to join; one poll returns at most `batch` records, of the partitions in turn."""
        self._batch = batch
        self._broker = broker
        self._kafka = kafka
        self._owner = owner
        self._scheduler = runtime.scheduler
        self._name = runtime.process.name
        self._positions: dict[TopicPartition, int] = {}  # in the order of their turns
        self._paused: dict[TopicPartition, None] = {}
        self._commits: list[Commit] = []
        self._done: list[tuple[Callable[[str | None], None], str | None]] = []
        self._member_id: str | None = None
        self._generation = 0
        self._joining = False  # sent, and not answered yet
        self._rejoin = True
        self._expelled = False
        self._inside = False  # whether the poll thread waits here
        self._calling = False  # whether the owner is called, or may be: then the poll thread stays
        self._woken = False
        self._waits = False  # whether the poll thread does, for records
        self._closing = False
        self._closed = False
        self._known = 0  # the version of the topics when it joined
        self._known_since = 0.0
        self._polled_at = self._beaten_at = runtime.now()
        self._trouble: str | None = None
        self._io = Bell(self._scheduler)
        self._changed = Bell(self._scheduler)
        runtime.spawn("kafka i/o", self._work)

    @property
    def paused(self) -> Collection[TopicPartition]:
        """The partitions of which nothing is returned."""
        return self._paused

    @property
    def owned(self) -> Collection[TopicPartition]:
        """The partitions that it believes to own."""
        return self._positions

    def fail(self, trouble: str) -> None:
        """Let the next `poll` raise."""
        self._trouble = trouble

    def poll(self, timeout: float) -> Mapping[TopicPartition, Sequence[SimulatedRecord]]:
        """See `Consumer`."""
        self._scheduler.point()
        if self._trouble is not None:
            raise ConsumerFailed(self._trouble)
        now = self._polled_at = self._scheduler.now
        done, self._done = self._done, []
        for call, trouble in done:
            call(trouble)
        self._inside = True
        if self._rejoin:
            self._io.ring()
            self._await_join(now + PATIENCE)
        batches = {} if self._calling else self._fetch()
        if not batches:
            if not self._rejoin and not self._woken:
                self._waits = True
                self._broker.arrived.wait(now + timeout)
                self._waits = False
            while self._calling:
                self._changed.wait()
            batches = self._fetch()
        self._inside = self._woken = False
        return batches

    def wake(self) -> None:
        """See `Consumer`; polls of other members may return early, too."""
        self._woken = True
        if self._waits:
            self._broker.arrived.ring()

    def pause(self, places: Collection[TopicPartition]) -> None:
        """See `Consumer`."""
        self._scheduler.point()
        self._paused.update(dict.fromkeys(places))

    def resume(self, places: Collection[TopicPartition]) -> None:
        """See `Consumer`."""
        self._scheduler.point()
        for place in places:
            self._paused.pop(place, None)

    def position(self, place: TopicPartition) -> int | None:
        """See `Consumer`."""
        self._scheduler.point()
        return self._positions.get(place)

    def seek(self, place: TopicPartition, offset: int) -> None:
        """See `Consumer`."""
        self._positions[place] = offset

    def ends(self) -> Mapping[TopicPartition, int]:
        """See `Consumer`."""
        return {place: self._broker.logs[place].end for place in self._positions}

    def trouble(self) -> str | None:
        """See `Consumer`."""
        if self._member_id is None or self._expelled:
            return "not a member of the group yet"
        return None if self._broker.is_up else "the group's broker does not answer"

    def commit(self, offsets: Mapping[TopicPartition, int], done: Callable[[str | None], None]) -> None:
        """See `Consumer`."""
        self._scheduler.point()
        # It is for the generation of now; while a rebalance is under way there is none.
        self._commits.append((dict(offsets), done, None if self._joining else self._generation))
        self._io.ring()

    def close(self) -> None:
        """See `Consumer`."""
        end = self._scheduler.now + self._kafka.revoke_grace + PATIENCE
        self._closing = self._inside = True  # and it stays inside
        self._io.ring()
        while not self._closed and self._scheduler.now < end:
            self._changed.wait(end)

    def _await_join(self, until: float) -> None:
        while self._rejoin and self._scheduler.now < until:
            self._changed.wait(until)

    def _fetch(self) -> dict[TopicPartition, Sequence[SimulatedRecord]]:
        batches: dict[TopicPartition, Sequence[SimulatedRecord]] = {}
        left = self._batch
        if not self._broker.is_up:
            return batches
        for place in [place for place in self._positions if place not in self._paused]:
            log = self._broker.logs[place]
            position = self._positions[place]
            if position < log.end and left:
                records = log.since(position, left)
                del self._positions[place]
                last = records[-1].offset if records else log.end
                self._positions[place] = log.end if not records or last == log.records[-1].offset else last + 1
                if records:
                    batches[place] = records
                    left -= len(records)
        return batches

    def _work(self) -> None:
        """Be the I/O thread."""
        while not self._closing:
            self._send_commits()
            self._beat()
            if self._rejoin and self._inside and self._broker.is_up:
                self._join()
                self._changed.ring()
            elif not self._commits:
                self._io.wait(self._beaten_at + self._kafka.heartbeat_interval)
        self._send_commits()
        self._end_ownership(tuple(self._positions))
        if self._broker.is_up:
            self._broker.group.leave(self._member_id)
        self._closed = True
        self._changed.ring()

    def _send_commits(self) -> None:
        while self._commits:
            offsets, done, generation = self._commits.pop(0)
            self._scheduler.point()
            if generation is None:
                self._done.append((done, REBALANCING))
                continue
            trouble = self._broker.commit(self._name, self._member_id, generation, offsets)
            self._done.append((done, trouble))
            if generation == self._generation:
                self._learn(trouble)

    def _beat(self) -> None:
        """Send a heartbeat if it is time, and look whether the poll thread still polls."""
        now = self._scheduler.now
        if now < self._beaten_at + self._kafka.heartbeat_interval:
            return
        self._beaten_at = now
        if self._member_id is None or self._joining or not self._broker.is_up:
            return
        if now > self._polled_at + self._kafka.max_poll_interval and not self._inside:
            self._broker.group.leave(self._member_id)
            self._learn(UNKNOWN_MEMBER)
            return
        self._scheduler.point()
        self._learn(self._broker.group.heartbeat(self._member_id, self._generation))
        discovered = self._known != self._broker.version
        if discovered and now >= self._known_since + self._kafka.metadata_max_age:
            self._learn(REBALANCING)

    def _learn(self, trouble: str | None) -> None:
        if trouble in {UNKNOWN_MEMBER, FENCED}:
            self._expelled = self._rejoin = True
        elif trouble == REBALANCING:
            self._rejoin = True

    def _join(self) -> None:
        """Take part in a rebalance, as far as it is until the poll thread does not wait any more."""
        group = self._broker.group
        if not self._joining:
            self._calling = True
            if self._expelled:
                self._lose()
            elif group.protocol == "eager":
                self._end_ownership(tuple(self._positions))
            self._calling = False
            self._scheduler.point()
            self._known, self._known_since = self._broker.version, self._scheduler.now
            joined = group.join(self._member_id, tuple(self._positions))
            if joined is None:
                self._learn(UNKNOWN_MEMBER)
                return
            self._member_id = joined
            self._joining = True
        assert self._member_id is not None
        answer = group.assignment(self._member_id, self._scheduler.now + PATIENCE / 2)
        if answer is None or self._closing or not self._inside:
            return
        self._joining = False
        if isinstance(answer, str):
            self._learn(answer)
            return
        self._generation, assigned = answer
        self._beaten_at = self._scheduler.now
        self._calling = True
        self._take(assigned)
        self._calling = False

    def _take(self, assigned: Places) -> None:
        """Give back what is not assigned any more, and begin with what is new."""
        self._rejoin = False
        gone = tuple(place for place in self._positions if place not in assigned)
        if gone:
            self._end_ownership(gone)
            self._rejoin = True  # so that whoever is to have them gets them
        new = tuple(place for place in assigned if place not in self._positions)
        for place in new:
            self._positions[place] = self._broker.committed.get(place, 0)
        if new:
            self._owner.assigned(new)

    def _end_ownership(self, places: Places) -> None:
        """Wait the grace for what is under way, commit what is finished, and give the partitions back."""
        if not places:
            return
        self._owner.revoking(places)
        end = self._scheduler.now + self._kafka.revoke_grace
        while not self._owner.settled(places) and self._scheduler.now < end:
            self._beat()
            self._scheduler.sleep(_SETTLE_CHECK)
        offsets = self._owner.revoked(places)
        self._scheduler.point()
        self._broker.commit(self._name, self._member_id, self._generation, offsets)
        self._forget(places)

    def _lose(self) -> None:
        """Learn that others may own the partitions already."""
        self._expelled = False
        self._member_id = None
        if self._positions:
            places = tuple(self._positions)
            self._owner.lost(places)
            self._forget(places)

    def _forget(self, places: Places) -> None:
        for place in places:
            del self._positions[place]
            self._paused.pop(place, None)
