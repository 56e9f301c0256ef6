"""Dead letters: confirmed by a real broker, or reported as not written."""

from __future__ import annotations

import socket
from itertools import count
from typing import TYPE_CHECKING, Any

import psutil
import pytest
from kafka import KafkaAdminClient, KafkaConsumer, TopicPartition
from kafka.admin import ConfigResource, ConfigResourceType

from isolane.conformance.selftest.reference.fakes import eventually
from isolane.fixtures.services import Kafka
from isolane.reference import dead_letter
from isolane.reference.config import Config
from isolane.reference.dead_letter import DeadLetters, DeadLetterUnavailable

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = pytest.mark.services

numbers = count()


@pytest.fixture(scope="module")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a real broker."""
    with Kafka.native(tmp_path_factory.mktemp("kafka")) as kafka:
        yield kafka.bootstrap


def dead_letters(broker: str) -> DeadLetters:
    """Return dead letters written to this broker, as configured by default."""
    tenant = {"topics": ["^managed_otlp"], "elasticsearch": {"endpoints": ["http://127.0.0.1:1"]}}
    return DeadLetters(Config.parse({"kafka": {"brokers": [broker]}, "tenants": {"a": tenant}}))


def new_topic() -> str:
    """Return the name of a topic that no test has used."""
    return f"managed_otlp.logs.t{next(numbers)}"


def letters(broker: str, topic: str) -> list[Any]:
    """Return all records of a topic's only partition."""
    place = TopicPartition(topic, 0)
    consumer = KafkaConsumer(bootstrap_servers=broker, enable_auto_commit=False)
    try:
        consumer.assign([place])
        consumer.seek_to_beginning(place)
        end = consumer.end_offsets([place])[place]
        records: list[Any] = []
        while consumer.position(place) < end:
            records.extend(consumer.poll(timeout_ms=1000).get(place, []))
        return records
    finally:
        consumer.close()


def test_letter_is_there_when_send_returns(broker: str) -> None:
    """A dead letter has the record's value, and where it came from and why as headers (POI-1)."""
    topic, writer = new_topic(), dead_letters(broker)
    writer.send(topic, 3, 42, b"\xff not OTLP", "wire type 7 in\nline \u00e9 \ud800")
    writer.send(topic, 3, 43, b"", "empty")
    first, second = letters(broker, f"{topic}.dead_letter")
    writer.close()
    assert first.value == b"\xff not OTLP"
    assert dict(first.headers) == {
        "topic": topic.encode(),
        "partition": b"3",
        "offset": b"42",
        "reason": "wire type 7 in\nline \u00e9 ?".encode(),
    }
    assert second.value == b""


def test_letter_may_be_as_large_as_a_record_that_came_compressed(broker: str) -> None:
    """What the broker took compressed fits into a dead letter, though it is larger than brokers take by default."""
    topic, writer = new_topic(), dead_letters(broker)
    writer.send(topic, 0, 0, b"a line that repeats\n" * 300_000, "too large")
    (letter,) = letters(broker, f"{topic}.dead_letter")
    writer.close()
    assert len(letter.value) == 6_000_000


def test_letter_that_the_topic_refuses_is_written_once_it_takes_it(broker: str) -> None:
    """A write that is not confirmed is reported, and succeeds when the cause is gone (POI-3)."""
    topic, writer = new_topic(), dead_letters(broker)
    name, size = f"{topic}.dead_letter", "max.message.bytes"
    admin = KafkaAdminClient(bootstrap_servers=broker)

    def written() -> bool:
        try:
            writer.send(topic, 0, 1, bytes(range(256)) * 4, "reason")
        except DeadLetterUnavailable:
            return False
        return True

    try:
        admin.create_topics({name: {"num_partitions": 1, "configs": {size: "100"}}}, wait_for_metadata=True)
        with pytest.raises(DeadLetterUnavailable, match=rf"^{name}: .*MessageSizeTooLarge"):
            writer.send(topic, 0, 1, bytes(range(256)) * 4, "reason")
        admin.alter_configs([ConfigResource(ConfigResourceType.TOPIC, name, {size: "1000000"})])
        eventually(written)  # a broker takes up what a topic is set to a moment after it has said so
    finally:
        admin.close()
    offsets = [dict(letter.headers)["offset"] for letter in letters(broker, name)]
    writer.close()
    assert offsets == [b"1"]


def test_topic_that_was_deleted_is_made_again(broker: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Somebody who cleans up dead letters does not stop the partition that writes the next one."""
    monkeypatch.setattr(dead_letter, "_PATIENCE", 1000)
    topic, writer = new_topic(), dead_letters(broker)
    writer.send(topic, 0, 0, b"first", "reason")
    admin = KafkaAdminClient(bootstrap_servers=broker)
    try:
        admin.delete_topics([f"{topic}.dead_letter"])
    finally:
        admin.close()
    with pytest.raises(DeadLetterUnavailable):
        writer.send(topic, 0, 1, b"second", "reason")
    writer.send(topic, 0, 1, b"second", "reason")
    values = [letter.value for letter in letters(broker, f"{topic}.dead_letter")]
    writer.close()
    assert values == [b"second"]


def test_broker_that_does_not_answer_is_reported_and_costs_no_descriptors(monkeypatch: pytest.MonkeyPatch) -> None:
    """A write ends in bounded time without a broker, however often it is tried, and leaves nothing behind."""
    monkeypatch.setattr(dead_letter, "_PATIENCE", 200)
    process = psutil.Process()
    with socket.create_server(("127.0.0.1", 0)) as silent:
        writer = dead_letters(f"127.0.0.1:{silent.getsockname()[1]}")
        used = []
        for _ in range(3):
            with pytest.raises(DeadLetterUnavailable, match="Unable to bootstrap"):
                writer.send("t", 0, 0, b"x", "reason")
            used.append((process.num_fds(), process.num_threads()))
        writer.close()
    assert used[0] == used[2]
