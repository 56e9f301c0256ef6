"""Kafka as the suite needs it, typed: topics, committed offsets and ends of logs.

Beside `producer` and `reader` this is the one module of the suite that imports kafka-python, which ships no types.
"""

from __future__ import annotations

import logging
import re
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass

from kafka import KafkaAdminClient
from kafka import TopicPartition as KafkaTopicPartition
from kafka.errors import InvalidReplicationFactorError, KafkaError, NoError, TopicAlreadyExistsError
from kafka.protocol.consumer import OffsetSpec

from isolane.conformance.errors import HarnessError
from isolane.conformance.history_values import AT_REST
from isolane.conformance.kafka_clients import CONNECTING

TopicPartition = tuple[str, int]
"""A topic's name and a partition's number."""

_UUID_END = re.compile(r"(?<=-[0-9a-f]{8})-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$")
"""All but the first digits of the UUID that a coordinator appends to a member's name."""

logging.getLogger("kafka").setLevel(logging.CRITICAL)  # its news of every reconnection would bury a run's own output


OFFSETS = "__consumer_offsets"
"""The topic in which Kafka keeps what groups have committed."""

FENCED_AT_MOST = 30.0
"""Seconds in which a broker that its controller takes for gone must have told it that it is there."""

FENCED_LOOK = 0.25
"""Seconds between two looks whether it has."""


class UnreadableError(Exception):
    """Something could not be read from Kafka this time."""


@dataclass(frozen=True, slots=True)
class GroupDescription:
    """A consumer group: Kafka's word for its state, and the partitions of each member by the member's name."""

    state: str
    members: Mapping[str, tuple[TopicPartition, ...]]


class Broker:
    """One Kafka cluster, seen by its administrator. Thread-safe as far as each caller has its own instance."""

    def __init__(self, bootstrap: str) -> None:
        """Connect to `bootstrap` (host:port).

        Raises:
            HarnessError: No broker answers there.
        """
        self.bootstrap = bootstrap
        try:
            self._admin = KafkaAdminClient(bootstrap_servers=bootstrap, client_id="isolane-suite", **CONNECTING)
        except KafkaError as error:
            raise HarnessError(f"no Kafka broker answers at {bootstrap}: {error}") from error

    def close(self) -> None:
        """Close the connection."""
        self._admin.close()

    def create_topics(
        self, partitions: Mapping[str, int], configs: Mapping[str, Mapping[str, str]] | None = None
    ) -> None:
        """Create topics with their numbers of partitions; returns when every partition has a leader.

        There are as many copies of each as the brokers' configuration says.

        One that is there already stays as it is. `configs` has the settings of those that have any of their own, by
        name. Brokers that a busy machine has kept from telling their controller that they live can take no partitions
        until they have told it: that is waited for.

        Raises:
            HarnessError: Kafka refuses, or has too few brokers for half a minute.
        """
        topics = {
            name: {"num_partitions": number, "replication_factor": -1, "configs": (configs or {}).get(name, {})}
            for name, number in partitions.items()
        }
        deadline = time.monotonic() + FENCED_AT_MOST
        while True:
            try:
                self._admin.create_topics(topics, wait_for_metadata=True)
            except TopicAlreadyExistsError:
                return
            except KafkaError as error:
                if not isinstance(error, InvalidReplicationFactorError) or time.monotonic() >= deadline:
                    raise HarnessError(f"Kafka does not create the topics {', '.join(topics)}: {error}") from error
            else:
                return
            time.sleep(FENCED_LOOK)

    def add_partitions(self, topic: str, total: int) -> None:
        """Give a topic more partitions, `total` in all; returns when all of them have a leader."""
        try:
            self._admin.create_partitions({topic: total})
            self._admin.wait_for_topics([topic])
        except KafkaError as error:
            raise HarnessError(f"Kafka does not give {topic} {total} partitions: {error}") from error

    def delete_topics(self, names: Iterable[str]) -> None:
        """Delete those of the topics that there are."""
        try:
            if there := set(names).intersection(self._admin.list_topics()):
                self._admin.delete_topics(list(there))
        except KafkaError as error:
            raise HarnessError(f"Kafka does not delete the topics of a scenario that ended: {error}") from error

    def committed(self, group: str) -> dict[TopicPartition, int]:
        """The group's committed offsets; partitions without one are absent.

        Raises:
            UnreadableError: The coordinator does not answer now.
        """
        try:
            offsets = self._admin.list_group_offsets(group)[group]
        except KafkaError as error:
            raise UnreadableError(repr(error)) from error
        return {(at.topic, at.partition): held.offset for at, held in offsets.items() if held.offset >= 0}

    def group(self, group: str) -> GroupDescription:
        """What a group of the classic protocol is now; one that nobody is in, and never was, is in the state `Dead`.

        A member goes by its instance id, and otherwise by the id that its coordinator gave it, cut short.

        Raises:
            UnreadableError: The coordinator does not answer now.
        """
        try:
            described = self._admin.describe_groups([group])[group]
        except KafkaError as error:
            raise UnreadableError(repr(error)) from error
        return GroupDescription(
            state=described["group_state"],
            members={
                each["group_instance_id"] or _UUID_END.sub("", each["member_id"]): tuple(
                    _assigned(each["member_assignment"])
                )
                for each in described["members"]
            },
        )

    def members(self, group: str, *, serving: bool = False) -> int | None:
        """How many members a group has that is at rest; None while it is not, or where that cannot be told.

        With `serving` only those count that have partitions: a cooperative rebalance rests in between, when those that
        came have none yet.
        """
        try:
            described = self.group(group)
        except UnreadableError:
            return None
        if described.state != AT_REST:
            return None
        return sum(bool(places) or not serving for places in described.members.values())

    def leaders(self, topics: Iterable[str]) -> dict[TopicPartition, int]:
        """The broker that leads each partition of these topics, by its number; -1 while there is none.

        Raises:
            UnreadableError: No broker answers now.
        """
        try:
            described = self._admin.describe_topics(list(topics))
        except KafkaError as error:
            raise UnreadableError(repr(error)) from error
        return {
            (topic["name"], partition["partition_index"]): partition["leader_id"]
            for topic in described
            for partition in topic["partitions"]
        }

    def coordinator(self, group: str) -> int:
        """The broker that leads a group, by its number: the leader of the partition in which its offsets are kept.

        Raises:
            UnreadableError: No broker answers now, or no group was ever led.
        """
        leaders = self.leaders([OFFSETS])
        if not leaders:
            raise UnreadableError(f"there is no topic {OFFSETS} yet")
        return leaders[OFFSETS, _java_hash(group) % len(leaders)]

    def rewind(self, group: str, topics: Iterable[str]) -> int:
        """Set the offsets of a group that nobody is in back to the beginning of these topics; of how many partitions.

        Raises:
            HarnessError: Kafka refuses: somebody is in the group still, say; or it does not answer.
        """
        try:
            offsets = {KafkaTopicPartition(*at): OffsetSpec.EARLIEST for at in self.leaders(topics)}
            done = self._admin.reset_group_offsets(group, offsets)
        except (KafkaError, UnreadableError) as error:
            raise HarnessError(f"Kafka does not set the offsets of {group} back: {error}") from error
        if refused := {result["error"] for result in done.values()} - {NoError}:
            raise HarnessError(f"Kafka does not set the offsets of {group} back: {refused.pop().__name__}")
        return len(offsets)

    def ends(self, partitions: Iterable[TopicPartition]) -> dict[TopicPartition, int]:
        """The end of each partition's log: the offset that the next record will get.

        Raises:
            UnreadableError: The broker does not answer now.
        """
        wanted = {KafkaTopicPartition(*at): OffsetSpec.LATEST for at in partitions}
        try:
            found = self._admin.list_partition_offsets(wanted) if wanted else {}
        except KafkaError as error:
            raise UnreadableError(repr(error)) from error
        return {(at.topic, at.partition): end.offset for at, end in found.items()}


def _assigned(assignment: object) -> Iterator[TopicPartition]:
    """Yield the partitions of an assignment; of one in a format that is not Kafka's own nothing is known."""
    if isinstance(assignment, Mapping):
        for topic in assignment["assigned_partitions"]:
            yield from ((topic["topic"], partition) for partition in topic["partitions"])


@contextmanager
def connected(bootstrap: str) -> Iterator[Broker]:
    """A `Broker` that is closed at the end."""
    broker = Broker(bootstrap)
    try:
        yield broker
    finally:
        broker.close()


def _java_hash(text: str) -> int:
    """Java's hash code of ASCII text without its sign: what Kafka chooses the partition of a group by."""
    code = 0
    for character in text:
        code = (31 * code + ord(character)) & 0xFFFFFFFF
    return code & 0x7FFFFFFF
