"""The program: all parts, wired as the configuration says."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from isolane.reference import otlp
from isolane.reference.letters import Letters
from isolane.reference.partition import PartitionWorker
from isolane.reference.receiver import Receiver
from isolane.reference.sending import Afterwards, IsolatedLine
from isolane.reference.shared import SharedLine

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from isolane.reference.config import Config
    from isolane.reference.consumer import Consumer, ConsumerRecord, Owner
    from isolane.reference.flush import Lane, Piece
    from isolane.reference.letters import Destination
    from isolane.reference.otlp import Document
    from isolane.reference.partition import Partition
    from isolane.reference.receiver import ReceiverState
    from isolane.reference.runtime import Runtime, Thread
    from isolane.reference.sending import Cluster, Line, LineState


class State(NamedTuple):
    """What is to be seen of the program, for telemetry.

    Attributes:
        receiver: Of the poll loop and the partitions.
        line: Of the tenants and the sending workers.
        attempts: How many attempts came to what, by tenant and `Division.outcome`.
        documents: How many documents came to what, by tenant and outcome, each time that they were sent.
        dead_letters: How many records, or parts of records, became dead letters, by tenant.
        undelivered_letters: How many are yet to be written.
        revoke_grace: How long the poll loop may wait for revoked partitions, in seconds.
    """

    receiver: ReceiverState
    line: LineState
    attempts: Mapping[tuple[str, str], int]
    documents: Mapping[tuple[str, str], int]
    dead_letters: Mapping[str, int]
    undelivered_letters: int
    revoke_grace: float


class Program:
    """A receiver, a worker for each partition, a line, the sending workers, and the dead letters."""

    def __init__(
        self,
        config: Config,
        runtime: Runtime,
        connect: Callable[[Owner], Consumer],
        clusters: Mapping[str, Cluster],
        dead_letters: Destination,
    ) -> None:
        """Take the ports to Kafka, to the clusters by tenant, and to the dead letters; nothing runs yet."""
        self._config = config
        self._runtime = runtime
        self._letters = Letters(runtime, config.retry, dead_letters)
        # The three modes (design decision 12): in `shared_loop` the poll thread does all work of the partitions
        # itself; in `partition_workers` each partition has a worker; in `isolated` the line isolates tenants, too.
        mode = config.kafka.partition_processing.mode
        line = IsolatedLine if mode == "isolated" else SharedLine
        self._afterwards = Afterwards(runtime, self._condemned)
        self._line: Line = line(config, runtime, clusters, self._afterwards)
        self._receiver = Receiver(config, runtime, self._line, connect, self._worker_for, inline=mode == "shared_loop")
        self._receiving: Thread | None = None

    def start(self) -> None:
        """Start all threads."""
        spawn = self._runtime.spawn
        for number in range(self._line.threads):
            spawn(f"sender {number}", self._line.work)
        spawn("dead letters", self._letters.work)
        self._receiving = spawn("receiver", self._receiver.run)

    def stop(self, timeout: float) -> bool:
        """Stop receiving, finish what is under way, commit it, and leave the group; tell whether that was done in time.

        What answers in time is sent to nobody again (LIF-3). Blocks at most `timeout` seconds (LIF-2).
        """
        assert self._receiving is not None, "it was not started"
        self._receiver.stop()
        if self._receiver.consumer:
            self._receiving.join(timeout)
        self._line.close()
        self._letters.close()
        return not (self._receiver.consumer and self._receiving.is_alive())

    def change(self, config: Config, clusters: Mapping[str, Cluster]) -> None:
        """Take other tenants from now on, and leave those alone that are the same (OPS-4).

        Args:
            config: Differs from the former one in its tenants alone.
            clusters: Of the tenants that are new, or are to be sent to in another way.
        """
        self._config = config
        self._receiver.change(config, clusters)

    def state(self) -> State:
        """Return what is to be seen of it; for any thread."""
        return State(
            self._receiver.state(),
            self._line.state(self._config.tenants),
            *self._afterwards.counts(),
            *self._letters.counts(),
            self._config.kafka.revoke_grace,
        )

    def _worker_for(self, partition: Partition, index_for: Callable[[str], str]) -> PartitionWorker:
        encoding = self._config.kafka.encoding

        def decode(record: ConsumerRecord) -> list[Document]:
            signal = otlp.signal_of(record.topic)
            return otlp.documents(
                record.topic,
                record.partition,
                record.offset,
                signal,
                record.value,
                encoding=encoding,
                index=index_for(signal),
            )

        return PartitionWorker(partition, self._line, decode, self._undecodable)

    def _undecodable(self, lane: Lane, piece: Piece, reason: str) -> None:
        self._letters.reject(lane, piece, reason, self._config.dead_letter.undecodable)

    def _condemned(self, lane: Lane, piece: Piece, reason: str) -> None:
        self._letters.reject(lane, piece, reason, self._config.dead_letter.permanent)
