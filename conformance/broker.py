"""Kafka as the suite needs it, typed: topics, committed offsets, and a producer that tells each offset.

The one module of the suite that imports kafka-python, which ships no types.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager

from kafka import KafkaAdminClient, KafkaProducer
from kafka.errors import KafkaError

from isolane.conformance.errors import HarnessError

TopicPartition = tuple[str, int]
"""A topic's name and a partition's number."""

logging.getLogger("kafka").setLevel(logging.CRITICAL)  # its news of every reconnection would bury a run's own output


class CommitsUnreadableError(Exception):
    """The committed offsets could not be read this time."""


class Broker:
    """One Kafka cluster, seen by its administrator. Thread-safe as far as each caller has its own instance."""

    def __init__(self, bootstrap: str) -> None:
        """Connect to `bootstrap` (host:port).

        Raises:
            HarnessError: No broker answers there.
        """
        self.bootstrap = bootstrap
        try:
            self._admin = KafkaAdminClient(bootstrap_servers=bootstrap, client_id="isolane-suite")
        except KafkaError as error:
            raise HarnessError(f"no Kafka broker answers at {bootstrap}: {error}") from error

    def close(self) -> None:
        """Close the connection."""
        self._admin.close()

    def create_topics(self, partitions: Mapping[str, int]) -> None:
        """Create topics with their numbers of partitions; returns when every partition has a leader."""
        topics = {name: {"num_partitions": number, "replication_factor": 1} for name, number in partitions.items()}
        try:
            self._admin.create_topics(topics, wait_for_metadata=True)
        except KafkaError as error:
            raise HarnessError(f"Kafka does not create the topics {', '.join(topics)}: {error}") from error

    def delete_topics(self, names: Iterable[str]) -> None:
        """Delete topics."""
        try:
            self._admin.delete_topics(list(names))
        except KafkaError as error:
            raise HarnessError(f"Kafka does not delete the topics of a scenario that ended: {error}") from error

    def committed(self, group: str) -> dict[TopicPartition, int]:
        """The group's committed offsets; partitions without one are absent.

        Raises:
            CommitsUnreadableError: The coordinator does not answer now.
        """
        try:
            offsets = self._admin.list_group_offsets(group)[group]
        except KafkaError as error:
            raise CommitsUnreadableError(repr(error)) from error
        return {(at.topic, at.partition): held.offset for at, held in offsets.items() if held.offset >= 0}


@contextmanager
def connected(bootstrap: str) -> Iterator[Broker]:
    """A `Broker` that is closed at the end."""
    broker = Broker(bootstrap)
    try:
        yield broker
    finally:
        broker.close()


class Producer:
    """Sends records and tells where each one went. Its callbacks run on kafka-python's own I/O thread."""

    def __init__(self, bootstrap: str) -> None:
        """Connect to `bootstrap` (host:port); every record is confirmed by all replicas, in order."""
        self._producer = KafkaProducer(
            bootstrap_servers=bootstrap,
            client_id="isolane-load",
            acks="all",
            max_request_size=16 * 1024 * 1024,
            metrics_enabled=False,
        )

    def send(
        self,
        topic: str,
        partition: int,
        value: bytes,
        *,
        acknowledged: Callable[[int], None],
        failed: Callable[[Exception], None],
    ) -> None:
        """Send one record; later exactly one of `acknowledged(offset)` and `failed(error)` is called."""
        future = self._producer.send(topic, value=value, partition=partition)
        future.add_callback(lambda sent: acknowledged(sent.offset))
        future.add_errback(failed)

    def flush(self, timeout: float) -> None:
        """Wait until everything sent is acknowledged.

        Raises:
            HarnessError: Not within `timeout` seconds.
        """
        try:
            self._producer.flush(timeout=timeout)
        except KafkaError as error:
            raise HarnessError(f"Kafka did not take the load within {timeout:g} s: {error}") from error

    def close(self) -> None:
        """Close the connection; what is not yet sent is given up after a second."""
        self._producer.close(timeout=1)
