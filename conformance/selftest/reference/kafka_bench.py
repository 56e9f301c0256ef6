"""Topics of a real Kafka, and members of a group that remember what they were told."""

from __future__ import annotations

import threading
import uuid
from collections import defaultdict
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from kafka import KafkaAdminClient, KafkaProducer

from isolane.conformance.selftest.reference.fakes import eventually
from isolane.reference.config import Kafka as Settings
from isolane.reference.consumer import TopicPartition
from isolane.reference.kafka_consumer import KafkaGroupConsumer

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Mapping

    from isolane.fixtures.services import Kafka
    from isolane.reference.consumer import Consumer, Owner
    from isolane.reference.runtime import Runtime


class Topics:
    """Topics of one test: makes them, adds partitions, and produces."""

    def __init__(self, kafka: Kafka) -> None:
        """Choose a prefix that no other test has."""
        self.kafka = kafka
        self.prefix = f"t{uuid.uuid4().hex[:8]}"
        self.pattern = rf"{self.prefix}\..+"

    def create(self, name: str, partitions: int = 1) -> str:
        """Make a topic and return its whole name."""
        topic = f"{self.prefix}.{name}"
        with closing(KafkaAdminClient(bootstrap_servers=self.kafka.bootstrap)) as admin:
            admin.create_topics({topic: {"num_partitions": partitions}}, wait_for_metadata=True)
        return topic

    def widen(self, topic: str, partitions: int) -> None:
        """Give a topic more partitions."""
        with closing(KafkaAdminClient(bootstrap_servers=self.kafka.bootstrap)) as admin:
            admin.create_partitions({topic: partitions})

    def delete(self, topic: str) -> None:
        """Delete a topic."""
        with closing(KafkaAdminClient(bootstrap_servers=self.kafka.bootstrap)) as admin:
            admin.delete_topics([topic])

    def produce(self, topic: str, *values: bytes, partition: int = 0) -> None:
        """Append records."""
        with closing(KafkaProducer(bootstrap_servers=self.kafka.bootstrap)) as producer:
            for value in values:
                producer.send(topic, value, partition=partition)
            producer.flush(10)

    def abort(self, topic: str, *values: bytes) -> None:
        """Append records in a transaction that is aborted."""
        with closing(KafkaProducer(bootstrap_servers=self.kafka.bootstrap, transactional_id=self.prefix)) as producer:
            producer.init_transactions()
            producer.begin_transaction()
            for value in values:
                producer.send(topic, value, partition=0)
            producer.flush(10)
            producer.abort_transaction()

    def connect(self, runtime: Runtime, **settings: object) -> Callable[[Owner], KafkaGroupConsumer]:
        """Return how to connect a member of the test's group."""
        document = {
            "brokers": [self.kafka.bootstrap],
            "group_id": self.prefix,
            "session_timeout": "6s",
            "heartbeat_interval": "200ms",
            "metadata_max_age": "500ms",
            "revoke_grace": "10s",
            **settings,
        }
        return lambda owner: KafkaGroupConsumer(Settings.model_validate(document), self.pattern, owner, runtime)

    def committed(self) -> dict[TopicPartition, int]:
        """Return the offsets that the test's group has committed."""
        with closing(KafkaAdminClient(bootstrap_servers=self.kafka.bootstrap)) as admin:
            offsets = admin.list_group_offsets(self.prefix)[self.prefix]
        return {TopicPartition(*place): entry.offset for place, entry in offsets.items()}


@contextmanager
def closing(client: Any) -> Iterator[Any]:  # noqa: ANN401 - kafka-python has no types
    """Close a client of kafka-python at the end."""
    try:
        yield client
    finally:
        client.close()


class Member:
    """A member of the test's group, with what it was told and what it has received.

    Attributes:
        owned: The partitions it owns.
        told: Everything that its owner was told, in order.
        received: The values of the records of each partition, in order.
        busy: Whether something is under way for whatever is taken away.
        finished: The offsets that may be committed for what is taken away.
    """

    def __init__(self, connect: Callable[[Owner], Consumer]) -> None:
        """Connect; nothing is owned before the first polls."""
        self.owned: set[TopicPartition] = set()
        self.told: list[str] = []
        self.received: dict[TopicPartition, list[bytes | None]] = defaultdict(list)
        self.busy = False
        self.finished: dict[TopicPartition, int] = {}
        self.consumer = connect(self)

    def poll(self, timeout: float = 0.05) -> None:
        """Poll once."""
        for place, records in self.consumer.poll(timeout).items():
            self.received[place] += [record.value for record in records]

    def poll_until(self, condition: Callable[[], object], timeout: float = 60.0) -> None:
        """Poll until a condition holds."""

        def polled() -> object:
            self.poll()
            return condition()

        eventually(polled, timeout)

    def poll_beyond(self, place: TopicPartition, number: int) -> None:
        """Poll until more than so many records of a partition are received."""
        self.poll_until(lambda: len(self.received[place]) > number, timeout=30.0)

    @contextmanager
    def polling(self) -> Iterator[None]:
        """Poll in a thread of its own for the time of the block, as members do that must answer each other."""
        over = threading.Event()

        def poll() -> None:
            while not over.is_set():
                self.poll()

        thread = threading.Thread(target=poll)
        thread.start()
        try:
            yield
        finally:
            over.set()
            thread.join()

    def assigned(self, places: Collection[TopicPartition]) -> None:
        """See `Owner`."""
        self.told.append("assigned")
        self.owned |= set(places)

    def revoking(self, places: Collection[TopicPartition]) -> None:
        """See `Owner`."""
        assert self.owned >= set(places)
        self.told.append("revoking")

    def settled(self, places: Collection[TopicPartition]) -> bool:
        """See `Owner`."""
        assert self.owned >= set(places)
        return not self.busy

    def revoked(self, places: Collection[TopicPartition]) -> Mapping[TopicPartition, int]:
        """See `Owner`."""
        self.told.append("revoked")
        self.owned -= set(places)
        return {place: offset for place, offset in self.finished.items() if place in places}

    def lost(self, places: Collection[TopicPartition]) -> None:
        """See `Owner`."""
        self.told.append("lost")
        self.owned -= set(places)


def values(number: int, size: int = 100) -> list[bytes]:
    """Return so many different values."""
    return [b"%06d" % n + b"." * size for n in range(number)]
