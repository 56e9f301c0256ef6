"""A reader of topics: kafka-python's consumer without a group, typed."""

from __future__ import annotations

import time
from collections.abc import Collection, Mapping
from contextlib import closing, suppress
from dataclasses import dataclass

from kafka import KafkaConsumer
from kafka import TopicPartition as KafkaTopicPartition
from kafka.errors import KafkaError

from isolane.conformance.broker import UnreadableError
from isolane.conformance.kafka_clients import CONNECTING


@dataclass(frozen=True, slots=True)
class Message:
    """A record as a reader finds it."""

    topic: str
    partition: int
    offset: int
    value: bytes | None
    headers: Mapping[str, bytes]


class Reader:
    """Reads topics from their beginning to their end, and on from there. For one thread."""

    def __init__(self, bootstrap: str) -> None:
        """Connect to `bootstrap` (host:port); what a transaction has not committed is not read."""
        self._consumer = KafkaConsumer(
            bootstrap_servers=bootstrap,
            client_id="isolane-reader",
            **CONNECTING,
            auto_offset_reset="earliest",
            isolation_level="read_committed",
            allow_auto_create_topics=False,
            fetch_max_wait_ms=20,
            max_partition_fetch_bytes=16 * 1024 * 1024,
            metrics_enabled=False,
        )
        self._assigned: set[KafkaTopicPartition] = set()
        self._found: list[Message] = []  # by readings that failed since: the consumer goes on behind it

    def read(self, topics: Collection[str], timeout: float = 5.0) -> list[Message]:
        """Everything that was in those of the topics that exist when this was called, and was not returned before.

        Raises:
            UnreadableError: The broker does not answer within `timeout` seconds. What was read comes with the next
                call.
        """
        deadline = time.monotonic() + timeout
        try:
            self._assign(topics)
            ends = self._consumer.end_offsets(list(self._assigned)) if self._assigned else {}
            while any(self._consumer.position(at) < end for at, end in ends.items()):
                if time.monotonic() > deadline:
                    raise UnreadableError(f"not read to its end within {timeout:g} s")
                for records in self._consumer.poll(timeout_ms=50).values():
                    self._found += [
                        Message(each.topic, each.partition, each.offset, each.value, dict(each.headers))
                        for each in records
                    ]
        except KafkaError as error:
            raise UnreadableError(repr(error)) from error
        found, self._found = self._found, []
        return found

    def close(self) -> None:
        """Close the connection."""
        self._consumer.close(autocommit=False)

    def _assign(self, topics: Collection[str]) -> None:
        known = {at.topic for at in self._assigned}
        if known.issuperset(topics):
            return
        found = {
            KafkaTopicPartition(topic, partition)
            for topic in (self._consumer.topics() & set(topics)) - known
            for partition in self._consumer.partitions_for_topic(topic) or ()
        }
        if found:
            self._assigned |= found
            self._consumer.assign(list(self._assigned))


def has_gaps(bootstrap: str, topic: str) -> bool:
    """Return whether any offset of a topic of one partition is missing below the last: compaction has been there.

    Of a topic that cannot be read now nothing is known, so it has none.
    """
    with closing(Reader(bootstrap)) as reader, suppress(UnreadableError):
        offsets = [message.offset for message in reader.read([topic])]
        return bool(offsets) and len(offsets) <= offsets[-1]
    return False
