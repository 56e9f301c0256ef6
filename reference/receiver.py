"""The one consumer: poll, hand over, pause and resume, commit, and change of ownership."""

from __future__ import annotations

import sys
from collections import Counter
from typing import TYPE_CHECKING, NamedTuple

from isolane.reference import log
from isolane.reference.consumer import KafkaUnavailable
from isolane.reference.partition import Partition

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping, Sequence

    from isolane.reference.config import Config
    from isolane.reference.consumer import Consumer, ConsumerRecord, Owner, TopicPartition
    from isolane.reference.partition import PartitionState, PartitionWorker
    from isolane.reference.runtime import Runtime
    from isolane.reference.sending import Cluster, Line

# The longest that the loop is deaf to a due commit, and to room in the budget; for all else it is woken.
_POLL_WAIT = 0.025
# How often the broker is asked for the ends of the partitions.
_OBSERVE_INTERVAL = 1.0


class ReceiverState(NamedTuple):
    """What is to be seen of the receiver, for telemetry.

    Attributes:
        polled: Seconds since its loop began its last round.
        trouble: Why nothing can be received now, or None.
        partitions: Those that it owns, of topics that a tenant owns.
        unowned: How many partitions it has been assigned of each topic that no tenant owns.
    """

    polled: float
    trouble: str | None
    partitions: Sequence[PartitionState]
    unowned: Mapping[str, int]


class Receiver:
    """Owns the partitions of this member. Its loop never blocks for a cluster (LIF-1), unless it works inline.

    It is the `Owner` that the consumer tells of its partitions. The lock guards the partitions, which of them are
    paused or unowned, what is left to commit, and whether to stop; they are changed by the poll thread, or while that
    waits in the consumer, and read by whoever stops the receiver, changes it or looks at it. It guards the
    configuration, too, and which partitions are to be owned anew.
    """

    def __init__(
        self,
        config: Config,
        runtime: Runtime,
        line: Line,
        connect: Callable[[Owner], Consumer],
        worker_for: Callable[[Partition, Callable[[str], str]], PartitionWorker],
        *,
        inline: bool,
    ) -> None:
        """Take the parts around it.

        Args:
            config: Of the process.
            runtime: Of the process.
            line: Where pieces of records go.
            connect: Makes the consumer; blocks for some seconds at most, and raises KafkaUnavailable if it cannot.
            worker_for: Makes the worker of a partition, whose tenant has these indices for its signals.
            inline: Whether the poll thread does the work of the workers itself (the mode `shared_loop`).
        """
        self._config = config
        self._runtime = runtime
        self._line = line
        self._connect = connect
        self._worker_for = worker_for
        self._inline = inline
        self._partitions: dict[TopicPartition, Partition] = {}
        self._workers: dict[TopicPartition, PartitionWorker] = {}
        self._paused: dict[TopicPartition, None] = {}  # in order: who was paused first is resumed first
        self._unowned: dict[TopicPartition, int | None] = {}  # with the first offset that waits, once it is known
        self._finished: dict[TopicPartition, int] = {}  # by ownerships that a change ended, and not yet committed
        self._moved: dict[TopicPartition, None] = {}  # those whose owner, or index, is another one by now
        self.consumer: Consumer | None = None  # before there is one, there is nothing to give back
        self._polled_at = runtime.now()
        self._trouble: str | None = "no broker has answered yet"
        self._observe_at = 0.0
        self._commit_at = 0.0
        self._committing = False
        self._stopping = False
        self._lock = runtime.lock()

    def run(self) -> None:
        """Receive until `stop`; then give everything back. For the poll thread.

        Raises:
            ConsumerFailed: the consumer cannot go on.
        """
        self.consumer = consumer = self._connected()
        if consumer is None:
            return
        while not self._stopping:
            self._polled_at = self._runtime.now()
            for place, records in consumer.poll(_POLL_WAIT).items():
                self._hand_over(consumer, place, records)
            self._adopt(consumer)
            self._pause(consumer)
            self._resume(consumer)
            self._commit(consumer)
            self._observe(consumer)
        consumer.close()

    def _connected(self) -> Consumer | None:
        """Return the consumer, however long it takes until a broker answers (LIF-4); None if it is stopped before."""
        while not self._stopping:
            self._polled_at = self._runtime.now()
            try:
                return self._connect(self)
            except KafkaUnavailable as error:
                self._trouble = f"no broker answers: {error}"
                log.warning("Kafka is not available", error=str(error))
        return None

    def stop(self) -> None:
        """Let `run` end: begin nothing more, and wait only for attempts that are under way."""
        with self._lock:
            self._stopping = True
            partitions = list(self._partitions.values())
        self._close(partitions)
        self._wake()

    def state(self) -> ReceiverState:
        """Return what is to be seen of it; for any thread."""
        with self._lock:
            owned = [(partition, place in self._paused) for place, partition in self._partitions.items()]
            unowned = Counter(place.topic for place in self._unowned)
        partitions = [partition.state(paused=paused) for partition, paused in owned]
        return ReceiverState(self._runtime.now() - self._polled_at, self._trouble, partitions, unowned)

    def change(self, config: Config, clusters: Mapping[str, Cluster]) -> None:
        """See `Program.change`; for any thread, however long the poll thread is held up.

        What has another owner is closed before anybody is connected, and owned anew after that: at no time may a
        record go to its owner's cluster of another time (TEN-2).
        """
        with self._lock:
            former, self._config = self._config, config
            for place in [*self._partitions, *self._unowned]:
                if former.destination(place.topic) != config.destination(place.topic):
                    self._moved[place] = None
            self._close(self._owned(self._moved))
            for tenant, cluster in clusters.items():
                self._line.connect(tenant, cluster)
        self._wake()

    def assigned(self, places: Collection[TopicPartition]) -> None:
        """See `Owner`."""
        known = {place.topic for place in self._unowned}
        for place in places:
            with self._lock:  # a change comes before it, or finds what has begun
                self._begin(place)
            if place in self._workers and not self._inline:
                self._runtime.spawn(f"partition {place.topic}/{place.partition}", self._workers[place].work)
        for topic in sorted({place.topic for place in self._unowned} - known):
            claimants = self._config.claimants(topic)
            log.warning("nobody owns the topic: its records wait", topic=topic, claimed_by=claimants)
        log.info("assigned", partitions=_names(places))

    def revoking(self, places: Collection[TopicPartition]) -> None:
        """See `Owner`."""
        self._close(self._owned(places))

    def settled(self, places: Collection[TopicPartition]) -> bool:
        """See `Owner`."""
        return not any(self._line.under_way(partition) for partition in self._owned(places))

    def revoked(self, places: Collection[TopicPartition]) -> Mapping[TopicPartition, int]:
        """See `Owner`."""
        left = {place: self._finished[place] for place in places if place in self._finished}
        ended = {partition: self._end(partition) for partition in self._forget(places)}
        log.info("revoked", partitions=_names(places))
        return left | {
            partition.place: offset
            for partition, offset in ended.items()
            if offset is not None and offset != partition.committed
        }

    def lost(self, places: Collection[TopicPartition]) -> None:
        """See `Owner`."""
        self._drop(places)
        log.warning("lost", partitions=_names(places))

    def _wake(self) -> None:
        if self.consumer is not None:
            self.consumer.wake()

    def _hand_over(self, consumer: Consumer, place: TopicPartition, records: Sequence[ConsumerRecord]) -> None:
        partition = self._partitions.get(place)
        if partition is None:
            # TEN-4: nobody owns the topic; it stays unmarked, and nothing more of it is fetched.
            consumer.pause([place])
            with self._lock:
                self._unowned[place] = records[0].offset
            return
        if not partition.continues_with(records[0].offset):
            # The log begins anew: the topic was made again, or an operator went back. So does the ownership.
            self.lost([place])
            self.assigned([place])
            partition = self._partitions[place]
        partition.deliver(records)
        if self._inline:
            self._workers[place].drain()

    def _adopt(self, consumer: Consumer) -> None:
        """Own anew what has another owner, or another index, since the configuration changed (OPS-4)."""
        with self._lock:
            moved = list(self._moved)
        for place in moved:
            partition = self._partitions.get(place)
            begin = partition.end() if partition else self._unowned[place]
            finished = begin if partition and begin is not None else self._finished.get(place)
            self._drop([place])
            self.assigned([place])
            if finished is not None:
                with self._lock:
                    self._finished[place] = finished
            if begin is not None:
                consumer.seek(place, begin)
            consumer.resume([place])

    def _pause(self, consumer: Consumer) -> None:
        """Fetch no more of partitions with full mailboxes (MEM-7), nor of tenants for whom the budget has no room."""
        rooms = self._line.rooms()
        full = [
            place
            for place, partition in self._partitions.items()
            if place not in self._paused and (rooms.get(partition.tenant, 1) <= 0 or partition.crowded)
        ]
        if full:
            consumer.pause(full)
            with self._lock:
                self._paused.update(dict.fromkeys(full))

    def _resume(self, consumer: Consumer) -> None:
        """Fetch again of partitions that have room, each as much as before: no more of them than there is room for."""
        if not self._paused:
            return
        rooms, expected = self._line.rooms(), 0
        for place in list(self._paused):
            partition = self._partitions[place]
            if rooms.get(partition.tenant, sys.maxsize) > expected and partition.roomy:
                consumer.resume([place])
                with self._lock:
                    del self._paused[place]
                expected += partition.latest

    def _commit(self, consumer: Consumer) -> None:
        if self._committing or self._runtime.now() < self._commit_at:
            return
        self._commit_at = self._runtime.now() + self._config.kafka.autocommit.interval
        due = {
            partition: offset
            for place, partition in self._partitions.items()
            if (offset := partition.committable(consumer.position(place))) is not None and offset != partition.committed
        }
        left = dict(self._finished)
        if not due and not left:
            return

        def done(trouble: str | None) -> None:
            self._committing = False
            if trouble:
                log.warning("not committed", error=trouble)
                return
            for partition, offset in due.items():
                partition.committed = offset
            with self._lock:
                self._finished = {place: at for place, at in self._finished.items() if left.get(place) != at}

        # One at a time, so that a later one never arrives first (OFF-2).
        self._committing = True
        consumer.commit(left | {partition.place: offset for partition, offset in due.items()}, done)

    def _observe(self, consumer: Consumer) -> None:
        self._trouble = consumer.trouble()
        if self._runtime.now() < self._observe_at:
            return
        self._observe_at = self._runtime.now() + _OBSERVE_INTERVAL
        for place, end in consumer.ends().items():
            if place in self._partitions:
                self._partitions[place].log_end = end

    def _owned(self, places: Collection[TopicPartition]) -> list[Partition]:
        return [self._partitions[place] for place in places if place in self._partitions]

    def _forget(self, places: Collection[TopicPartition]) -> list[Partition]:
        partitions = self._owned(places)
        with self._lock:
            for place in places:
                self._partitions.pop(place, None)
                self._workers.pop(place, None)
                # A pause belongs to one ownership: the client forgets it too.
                self._paused.pop(place, None)
                self._unowned.pop(place, None)
                self._finished.pop(place, None)
                self._moved.pop(place, None)
        return partitions

    def _drop(self, places: Collection[TopicPartition]) -> None:
        """End ownerships at once: attempts under way are cut, and nothing is waited for."""
        partitions = self._forget(places)
        self._close(partitions)  # first: what a cut makes room for would be cut by nobody
        for partition in partitions:
            self._end(partition)

    def _end(self, partition: Partition) -> int | None:
        committable = partition.end()
        self._line.cut(partition)
        return committable

    def _close(self, partitions: Collection[Partition]) -> None:
        for partition in partitions:
            partition.close()
            self._line.drop(partition)

    def _begin(self, place: TopicPartition) -> None:
        """Begin the ownership of a partition, or leave it alone if nobody owns its topic (TEN-4)."""
        tenant = self._config.tenant_of(place.topic)
        if tenant is None:
            self._unowned[place] = None
            return
        bounds = self._config.kafka.partition_processing
        partition = Partition(self._runtime, place, tenant, bounds, self._line, made_room=self._wake)
        self._partitions[place] = partition
        self._workers[place] = self._worker_for(partition, self._config.tenants[tenant].elasticsearch.index_for)


def _names(places: Collection[TopicPartition]) -> list[str]:
    return sorted(f"{place.topic}/{place.partition}" for place in places)
