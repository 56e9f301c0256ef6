"""Kafka as the suite uses it: transactions, codecs, partitions that come later, compaction, ends of logs, groups."""

from __future__ import annotations

import re
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import closing

import pytest
from kafka import KafkaConsumer

from isolane.conformance.broker import Broker, GroupDescription, UnreadableError
from isolane.conformance.errors import HarnessError
from isolane.conformance.producer import Codec, Producer, Producers
from isolane.conformance.reader import Reader, has_gaps
from isolane.fixtures.services.kafka import Kafka

pytestmark = pytest.mark.services

COMPACTED = {"cleanup.policy": "compact", "segment.ms": "100", "min.cleanable.dirty.ratio": "0.001"}


@pytest.fixture(scope="module")
def kafka(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Kafka]:
    """One broker for all tests here; each has a topic of its own."""
    with Kafka.native(tmp_path_factory.mktemp("kafka")) as kafka:
        yield kafka


@pytest.fixture
def broker(kafka: Kafka) -> Iterator[Broker]:
    """Its administrator."""
    with closing(Broker(kafka.bootstrap)) as broker:
        yield broker


@pytest.fixture
def topic(broker: Broker) -> str:
    """A topic of one partition."""
    name = f"t-{uuid.uuid4().hex[:8]}"
    broker.create_topics({name: 1})
    return name


def send(producer: Producer, topic: str, *values: bytes, partition: int = 0, key: bytes | None = None) -> list[int]:
    """Send values, and return their offsets."""
    offsets: list[int] = []
    failures: list[Exception] = []
    for value in values:
        producer.send(topic, partition, value, key=key, acknowledged=offsets.append, failed=failures.append)
    producer.flush(10)
    assert failures == []
    return offsets


def read(kafka: Kafka, topic: str) -> list[bytes | None]:
    """Everything in a topic, in order."""
    with closing(Reader(kafka.bootstrap)) as reader:
        return [message.value for message in reader.read([topic])]


def until(condition: Callable[[], bool], timeout: float = 30.0) -> bool:
    """Whether a condition came true in time."""
    deadline = time.monotonic() + timeout
    while not condition():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.05)
    return True


def test_an_aborted_transaction_has_offsets_and_no_records(kafka: Kafka, broker: Broker, topic: str) -> None:
    """Readers skip it, and the log goes on behind it; the end of each transaction takes an offset, too."""
    producers = Producers(kafka.bootstrap, f"tx-{topic}")
    with closing(producers):
        with producers.transactional.transaction(commit=True):
            committed = send(producers.transactional, topic, b"a", b"b")
        with producers.transactional.transaction(commit=False):
            aborted = send(producers.transactional, topic, b"c")
    assert (committed, aborted) == ([0, 1], [3])
    assert broker.ends([(topic, 0)]) == {(topic, 0): 5}
    assert read(kafka, topic) == [b"a", b"b"]


@pytest.mark.parametrize("codec", ["none", "gzip", "snappy", "lz4", "zstd"])
def test_every_codec_is_read_again(codec: Codec, kafka: Kafka, topic: str) -> None:
    """Whatever compresses the batches of a producer."""
    with closing(Producer(kafka.bootstrap, codec)) as producer:
        send(producer, topic, b"x" * 5000, b"y")
    assert read(kafka, topic) == [b"x" * 5000, b"y"]


def test_a_reader_goes_on_where_it_was_and_finds_topics_that_come_later(
    kafka: Kafka, broker: Broker, topic: str
) -> None:
    """Each record is given once; a topic that does not exist is no failure."""
    late = f"{topic}-late"
    with closing(Reader(kafka.bootstrap)) as reader, closing(Producer(kafka.bootstrap)) as producer:
        send(producer, topic, b"a")
        assert [each.value for each in reader.read([topic, late])] == [b"a"]
        assert reader.read([topic, late]) == []
        broker.create_topics({late: 1})
        send(producer, late, b"b")
        send(producer, topic, b"c")
        assert {each.value for each in reader.read([topic, late])} == {b"b", b"c"}


def test_partitions_that_are_added_can_be_written_to_as_soon_as_the_producer_knows(
    kafka: Kafka, broker: Broker, topic: str
) -> None:
    """It is told how many to wait for; more than there are is the harness' failure."""
    with closing(Producer(kafka.bootstrap)) as producer:
        send(producer, topic, b"a")
        broker.add_partitions(topic, 3)
        producer.await_partitions(topic, 3, timeout=10)
        assert send(producer, topic, b"b", partition=2) == [0]
        with pytest.raises(HarnessError, match=r"4 partitions of .* were not known within 0\.1 s"):
            producer.await_partitions(topic, 4, timeout=0.1)


def test_a_compacted_topic_gets_gaps(kafka: Kafka, broker: Broker) -> None:
    """Within seconds, as its settings and those of the broker say; one that is not compacted has none."""
    name = f"compacted-{uuid.uuid4().hex[:8]}"
    broker.create_topics({name: 1}, {name: COMPACTED})
    with closing(Producer(kafka.bootstrap)) as producer:
        send(producer, name, *(b"%d" % number for number in range(50)), key=b"same")
        assert not has_gaps(kafka.bootstrap, name)

        def gone() -> bool:
            send(producer, name, b"", key=uuid.uuid4().bytes)
            return has_gaps(kafka.bootstrap, name)

        assert until(gone)
    assert b"48" not in read(kafka, name)


def test_a_broker_that_was_taken_for_gone_is_waited_for(kafka: Kafka, broker: Broker) -> None:
    """Stopped for longer than its session, it has no room for partitions at first: no reason to give up."""
    name = f"fenced-{uuid.uuid4().hex[:8]}"
    for number in range(3):
        kafka.freeze()
        time.sleep(2.5)  # longer than `broker.session.timeout.ms`
        kafka.thaw()
        broker.create_topics({f"{name}-{number}": 1})
    assert len(broker.leaders([f"{name}-{number}" for number in range(3)])) == 3


def test_a_group_without_members_is_not_at_rest(broker: Broker, topic: str) -> None:
    """Nobody could say that a member has joined it."""
    assert broker.members(f"group-{topic}") is None


def test_who_has_no_partition_yet_does_not_serve(monkeypatch: pytest.MonkeyPatch, broker: Broker) -> None:
    """A cooperative rebalance is at rest in between, before what one member gives up is with the one that came."""
    halfway = GroupDescription("Stable", {"a-1": (("t", 0),), "a-2": ()})
    monkeypatch.setattr(broker, "group", lambda _group: halfway)
    assert (broker.members("g"), broker.members("g", serving=True)) == (2, 1)


@pytest.mark.parametrize("instance", [None, "member-0"], ids=["dynamic", "static"])
def test_who_has_which_partition_is_told(instance: str | None, kafka: Kafka, broker: Broker) -> None:
    """By the member's own instance id, or by a short form of what its coordinator calls it."""
    name = f"owned-{uuid.uuid4().hex[:8]}"
    broker.create_topics({name: 2})
    consumer = KafkaConsumer(
        name, bootstrap_servers=kafka.bootstrap, group_id=name, client_id="a", group_instance_id=instance
    )
    with closing(consumer):
        assert until(lambda: consumer.poll(10) is not None and set(owned(broker, name)) == {(name, 0), (name, 1)})
        assert all(re.fullmatch(instance or "a-[0-9a-f]{8}", owner) for owner in broker.group(name).members)


def test_deleting_topics_passes_over_those_that_do_not_exist(broker: Broker, topic: str) -> None:
    """A dead-letter topic may never have been made."""
    broker.delete_topics([topic, f"{topic}.dead_letter"])
    assert until(lambda: (topic, 0) not in _existing(broker, topic))


def _existing(broker: Broker, topic: str) -> set[tuple[str, int]]:
    return {(topic, 0)} if topic in broker._admin.list_topics() else set()


def owned(broker: Broker, group: str) -> list[tuple[str, int]]:
    """The partitions that anybody has; none while the group has no coordinator yet."""
    try:
        return [place for places in broker.group(group).members.values() for place in places]
    except UnreadableError:
        return []


def test_one_broker_leads_everything(broker: Broker, topic: str) -> None:
    """The partitions of a topic, and every group, once there is one."""
    assert broker.leaders([topic]) == {(topic, 0): 1}
    assert broker.leaders([]) == {}
    broker.rewind(f"group-{topic}", [topic])  # the first group makes the topic in which offsets are kept
    assert until(lambda: broker.coordinator(f"group-{topic}") == 1)


def test_an_operator_sets_offsets_back_when_nobody_is_in_the_group(kafka: Kafka, broker: Broker, topic: str) -> None:
    """They are at the beginning afterwards; while a member is there Kafka refuses."""
    group = f"group-{topic}"
    with closing(Producer(kafka.bootstrap)) as producer:
        send(producer, topic, b"a", b"b")
    consumer = KafkaConsumer(topic, bootstrap_servers=kafka.bootstrap, group_id=group, auto_offset_reset="earliest")
    with closing(consumer):
        assert until(lambda: bool(consumer.poll(timeout_ms=100)))
        consumer.commit()
        with pytest.raises(HarnessError, match="does not set the offsets"):
            broker.rewind(group, [topic])
    assert broker.committed(group) == {(topic, 0): 2}
    broker.rewind(group, [topic])
    assert broker.committed(group) == {(topic, 0): 0}
