"""Confirmed writes of what can never be delivered, to a topic beside the record's own (DEL-4, POI-1).

kafka-python's producer and admin client stand behind this module; nobody else of the reference writes to Kafka.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kafka import KafkaAdminClient, KafkaProducer
from kafka.errors import KafkaError, TopicAlreadyExistsError

from isolane.reference.kafka_client import closing_when_it_fails, connection, unavailable

if TYPE_CHECKING:
    from isolane.reference.config import Config

_PATIENCE = 10_000  # milliseconds for each step of a write: to find a broker, the topic, and to have it confirmed
_LARGEST = 64 * 1024**2  # bytes: a record that came compressed may be larger than the broker takes by default


class DeadLetterUnavailable(Exception):  # noqa: N818 - named for the fact
    """A dead letter was not confirmed, and may or may not have been written; it is to be written again (POI-3)."""


class DeadLetters:
    """Writes dead letters; one thread at a time may call it, and it must not be the one that polls."""

    def __init__(self, config: Config) -> None:
        """Take the configuration; nothing is connected before the first write."""
        self._topic_for = config.dead_letter.topic_for
        self._connection: dict[str, object] = {
            **connection(config.kafka),
            "client_id": f"{config.kafka.client_id}-dead-letters",
            "bootstrap_timeout_ms": _PATIENCE,
            "request_timeout_ms": _PATIENCE,
        }
        self._producer: KafkaProducer | None = None
        self._topics: set[str] = set()

    def send(self, topic: str, partition: int, offset: int, value: bytes, reason: str) -> None:
        """Write a dead letter for the record there, and return when all replicas have it.

        Its headers are `topic`, `partition` and `offset` of the record, and `reason`, as text. The topic it is
        written to is made when it is not there. Blocks for half a minute at most.

        Raises:
            DeadLetterUnavailable: the write was not confirmed.
        """
        target = self._topic_for(topic)
        headers = {"topic": topic, "partition": str(partition), "offset": str(offset), "reason": reason}
        try:
            producer = self._connected()
            self._ensure(target)
            written = producer.send(
                target, value, headers=[(name, text.encode(errors="replace")) for name, text in headers.items()]
            )
            written.get(timeout=_PATIENCE / 1000 + 1)  # longer than the delivery takes to fail by itself
        except KafkaError as error:
            self._topics.discard(target)
            raise DeadLetterUnavailable(f"{target}: {unavailable(error)}") from error

    def close(self) -> None:
        """Close the connections; blocks for a second at most."""
        if self._producer is not None:
            self._producer.close(timeout=1)

    def _connected(self) -> KafkaProducer:
        if self._producer is None:
            with closing_when_it_fails() as client:
                self._producer = KafkaProducer(
                    **self._connection,
                    kafka_client=client,
                    acks="all",
                    enable_idempotence=False,  # a letter written twice is better than a producer that gives up
                    compression_type="gzip",
                    max_request_size=_LARGEST,
                    max_block_ms=_PATIENCE,
                    delivery_timeout_ms=_PATIENCE,
                    allow_auto_create_topics=False,
                )
        return self._producer

    def _ensure(self, topic: str) -> None:
        """Make the topic unless it is there: brokers need not create topics by themselves, nor let this process do it.

        Whoever may not create a topic is told just that, and not whether it is there: so that is asked first.
        """
        if topic in self._topics:
            return
        with closing_when_it_fails() as client:
            admin = KafkaAdminClient(**self._connection, kafka_client=client)
        try:
            if any(found["error_code"] for found in admin.describe_topics([topic])):
                configs = {"max.message.bytes": str(_LARGEST)}
                admin.create_topics({topic: {"configs": configs}}, timeout_ms=_PATIENCE, wait_for_metadata=True)
        except TopicAlreadyExistsError:
            pass
        finally:
            admin.close()
        self._topics.add(topic)
