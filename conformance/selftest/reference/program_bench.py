"""The whole program, with Kafka, the clusters and the dead letters in memory."""

from __future__ import annotations

from typing import TYPE_CHECKING, get_args

from isolane.conformance.selftest.reference.fake_kafka import FakeConsumer, FakeKafka
from isolane.conformance.selftest.reference.fakes import FakeCluster, config, eventually
from isolane.fixtures.payloads import value
from isolane.reference.config import Mode
from isolane.reference.consumer import TopicPartition
from isolane.reference.dead_letter import DeadLetterUnavailable
from isolane.reference.program import Program

if TYPE_CHECKING:
    from isolane.reference.consumer import Owner
    from isolane.reference.runtime import Runtime

MODES = get_args(Mode)
A, A1, B = (
    TopicPartition("managed_otlp.logs.a", 0),
    TopicPartition("managed_otlp.logs.a", 1),
    TopicPartition("managed_otlp.logs.b", 0),
)


class FakeDeadLetters:
    """Where dead letters are written, while it is there."""

    def __init__(self) -> None:
        """Begin with nothing."""
        self.available = True
        self.written: list[tuple[str, int, int, bytes, str]] = []
        self.tried = 0

    def send(self, topic: str, partition: int, offset: int, value: bytes, reason: str) -> None:
        """See `Destination`."""
        self.tried += 1
        if not self.available:
            raise DeadLetterUnavailable("away")
        self.written.append((topic, partition, offset, value, reason))


class Bench:
    """A program in one mode, which owns the partitions that the test says."""

    def __init__(self, runtime: Runtime, mode: Mode, grace: float = 0.5, **settings: object) -> None:
        """Start it; nothing is owned yet."""
        kafka = {"partition_processing": {"mode": mode, "max_in_flight": {"records": 20, "bytes": "64KiB"}}}
        sending = {"num_consumers": 4, "queue_size": 2}
        limiter = {"ceiling": 2, "slow_after": "200ms", "probation_slots": 2}
        settings = {"kafka": kafka, "sending_queue": sending, "limiter": limiter, **settings}
        self.grace = grace
        self.kafka = FakeKafka()
        self.clusters = {tenant: FakeCluster() for tenant in "ab"}
        self.dead_letters = FakeDeadLetters()
        self.consumer: FakeConsumer | None = None
        self._settings = settings
        self.config = config("ab", **settings)
        self.program = Program(self.config, runtime, self._connect, self.clusters, self.dead_letters)
        self.program.start()
        eventually(lambda: self.consumer)

    def _connect(self, owner: Owner) -> FakeConsumer:
        self.consumer = FakeConsumer(self.kafka, owner, grace=self.grace)
        return self.consumer

    def own(self, *places: TopicPartition, lost: bool = False) -> None:
        """Change what the program owns."""
        assert self.consumer is not None
        self.consumer.own(*places, lost=lost)

    def produce(self, place: TopicPartition, number: int, items: int = 1) -> list[str]:
        """Produce records with so many items each; return the ids of their documents."""
        begin = len(self.kafka.logs[place])
        tokens = ["isotok" + "0" * 24] * items
        self.kafka.produce(*place, *[value("otlp_proto", "logs", tokens)] * number)
        return [f"{place.topic}:{place.partition}:{begin + n}:{item}" for n in range(number) for item in range(items)]

    def commits(self, place: TopicPartition, offset: int) -> None:
        """Wait until an offset is committed."""
        eventually(lambda: self.kafka.committed.get(place) == offset)

    def change(self, tenants: str, *, renewed: str = "") -> None:
        """Serve these tenants from now on; those that are new, and the `renewed`, have a cluster of their own anew."""
        connected = {tenant: FakeCluster() for tenant in tenants if tenant not in self.clusters or tenant in renewed}
        self.program.change(config(tenants, **self._settings), connected)
        self.clusters |= connected

    def stop(self) -> None:
        """Stop the program, which must be done in time."""
        assert self.program.stop(10)
