"""The observer of the consumer group: who is in it, who has what, and how often it was formed anew."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Self

from kafka import KafkaConsumer
from kafka import TopicPartition as KafkaTopicPartition
from kafka.errors import KafkaError

from isolane.conformance.broker import OFFSETS, Broker
from isolane.conformance.history_files import HistoryWriter, Line
from isolane.conformance.kafka_clients import CONNECTING

_METADATA_KEYS = frozenset({2, 3})
"""Versions of keys that are about a group as a whole: of the classic protocol, and of the newer one."""

_FLEXIBLE = 4
"""The first version of a group's value with lengths of variable size."""


class GroupObserver:
    """Writes each change of a group, as it is seen, to the history."""

    def __init__(
        self, broker: Broker, group: str, topics: Mapping[str, int], states: HistoryWriter, generations: Generations
    ) -> None:
        """Observe `group` on `broker` (its own instance); `topics` numbers the topics by name."""
        self._broker, self._group, self._topics, self._states = broker, group, topics, states
        self._generations = generations
        self._written: Line = {}

    @classmethod
    def of(cls, broker: Broker, group: str, topics: Mapping[str, int], states: HistoryWriter) -> Self:
        """An observer that reads what Kafka keeps of the group, too."""
        return cls(broker, group, topics, states, Generations(broker.bootstrap, group))

    def read(self) -> None:
        """Read once.

        Raises:
            UnreadableError: The coordinator does not answer now.
        """
        seen = self._broker.group(self._group)
        line: Line = {
            "state": seen.state,
            "generation": self._generations.latest(),
            "members": {
                member: sorted(
                    f"{self._topics[topic]}/{number}" for topic, number in partitions if topic in self._topics
                )
                for member, partitions in seen.members.items()
            },
        }
        if line != self._written:
            self._states.write({"at": time.monotonic(), **line})
            self._written = line

    def close(self) -> None:
        """Close the connection."""
        self._generations.close()


class Generations:
    """Reads what Kafka writes of one group each time that it is formed anew, from now on. For one thread."""

    def __init__(self, bootstrap: str, group: str) -> None:
        """Connect to `bootstrap` (host:port)."""
        self._group = group.encode()
        self._consumer = KafkaConsumer(
            bootstrap_servers=bootstrap,
            client_id="isolane-groups",
            **CONNECTING,
            exclude_internal_topics=False,
            allow_auto_create_topics=False,
            fetch_max_wait_ms=20,
            metrics_enabled=False,
        )
        self._latest: int | None = None
        self._assigned = False
        self._assign(beginning=False)

    def latest(self) -> int | None:
        """How often the group was formed since this began, as Kafka counts; None where nobody may see that."""
        try:
            if not self._assigned:
                self._assign(beginning=True)
            for records in self._consumer.poll(timeout_ms=0).values():
                for record in records:
                    self._see(record.key, record.value)
        except KafkaError:
            return self._latest
        return self._latest

    def close(self) -> None:
        """Close the connection."""
        self._consumer.close(autocommit=False)

    def _assign(self, *, beginning: bool) -> None:
        """Begin at the end of the topic; one that is made later, with the first group, is read from its beginning."""
        if partitions := self._consumer.partitions_for_topic(OFFSETS):
            self._consumer.assign([KafkaTopicPartition(OFFSETS, each) for each in partitions])
            (self._consumer.seek_to_beginning if beginning else self._consumer.seek_to_end)()
            self._assigned = True

    def _see(self, key: bytes | None, value: bytes | None) -> None:
        if key and value and int.from_bytes(key[:2]) in _METADATA_KEYS and key[4:] == self._group:
            self._latest = generation_of(key, value)


def generation_of(key: bytes, value: bytes) -> int:
    """Return the generation, or epoch, in what Kafka keeps of a group."""
    if int.from_bytes(key[:2]) != 2:
        return int.from_bytes(value[2:6])
    version = int.from_bytes(value[:2])
    length, start = (value[2] - 1, 3) if version >= _FLEXIBLE else (int.from_bytes(value[2:4]), 4)
    return int.from_bytes(value[start + length : start + length + 4])
