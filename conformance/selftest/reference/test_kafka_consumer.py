"""The consumer port over a real Kafka: ownership, positions, commits, and the quirks that are fenced."""

from __future__ import annotations

import gc
import logging
import threading
import time
import uuid
from collections import defaultdict
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import pytest
from kafka import KafkaAdminClient, KafkaProducer

from isolane.conformance.selftest.reference.fakes import eventually
from isolane.fixtures.services import Kafka
from isolane.reference.config import Kafka as Settings
from isolane.reference.consumer import TopicPartition
from isolane.reference.kafka_consumer import KafkaGroupConsumer

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Mapping

    from isolane.reference.runtime import Runtime

pytestmark = pytest.mark.services


@pytest.fixture(scope="module")
def kafka(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Kafka]:
    """One broker for all tests here; each has a prefix of topics and a group of its own."""
    with Kafka.native(tmp_path_factory.mktemp("kafka")) as kafka:
        yield kafka


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

    def __init__(self, topics: Topics, runtime: Runtime, **settings: object) -> None:
        """Connect; nothing is owned before the first polls."""
        self.owned: set[TopicPartition] = set()
        self.told: list[str] = []
        self.received: dict[TopicPartition, list[bytes | None]] = defaultdict(list)
        self.busy = False
        self.finished: dict[TopicPartition, int] = {}
        document = {
            "brokers": [topics.kafka.bootstrap],
            "group_id": topics.prefix,
            "session_timeout": "6s",
            "heartbeat_interval": "200ms",
            "metadata_max_age": "500ms",
            "revoke_grace": "10s",
            **settings,
        }
        self.consumer = KafkaGroupConsumer(Settings.model_validate(document), topics.pattern, self, runtime)

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


@pytest.fixture
def topics(kafka: Kafka) -> Topics:
    """Topics for one test."""
    return Topics(kafka)


@pytest.fixture
def join(topics: Topics, runtime: Runtime) -> Iterator[Callable[..., Member]]:
    """Makes members, which leave with the test."""
    members: list[Member] = []

    def make(**settings: object) -> Member:
        members.append(Member(topics, runtime, **settings))
        return members[-1]

    yield make
    for member in members:
        member.busy = False
        member.consumer.close()


def values(number: int, size: int = 100) -> list[bytes]:
    """Return so many different values."""
    return [b"%06d" % n + b"." * size for n in range(number)]


def test_discovered_topics_and_partitions_begin_at_their_first_record(
    topics: Topics, join: Callable[..., Member]
) -> None:
    """TEN-1: a topic, and a partition, that appear while running are received from their first record.

    So they are by a group that begins at the end of what is there when it starts.
    """
    old = topics.create("old")
    topics.produce(old, b"before")
    member = join(initial_offset="latest")
    member.poll_until(lambda: member.consumer.position(TopicPartition(old, 0)) == 1)
    new = topics.create("new")
    topics.produce(new, b"first", b"second")
    member.poll_until(lambda: len(member.received[TopicPartition(new, 0)]) == 2)
    topics.widen(new, 2)
    topics.produce(new, b"third", partition=1)
    topics.produce(old, b"after")
    member.poll_until(lambda: member.received[TopicPartition(new, 1)] and member.received[TopicPartition(old, 0)])
    assert member.received == {
        TopicPartition(old, 0): [b"after"],
        TopicPartition(new, 0): [b"first", b"second"],
        TopicPartition(new, 1): [b"third"],
    }


def test_where_a_new_group_begins_is_committed_before_anything_is_read(
    topics: Topics, join: Callable[..., Member]
) -> None:
    """OFF-6: whoever owns the partition next begins there, too, whatever was appended meanwhile."""
    old = topics.create("old")
    topics.produce(old, b"before")
    member = join(initial_offset="latest")
    member.poll_until(lambda: member.owned)
    assert topics.committed() == {TopicPartition(old, 0): 1}


def test_a_join_that_outlasts_a_poll_is_completed(topics: Topics, join: Callable[..., Member]) -> None:
    """TEN-1, LIF-1: however short the polls are, a rebalance that they take part in is finished, not forgotten."""
    old = TopicPartition(topics.create("old"), 0)
    member = join()
    member.poll_until(lambda: member.owned == {old})
    for number in range(3):
        new = TopicPartition(topics.create(f"new{number}"), 0)
        topics.produce(new.topic, b"first")
        end = time.monotonic() + 60
        while not member.received[new]:
            member.poll(0.002)
            assert time.monotonic() < end, "the new partition was never received"


def test_a_group_with_history_begins_unknown_partitions_at_their_first_record(
    topics: Topics, join: Callable[..., Member]
) -> None:
    """OFF-6: what appeared while the group was away is not skipped, even when the group began at the end."""
    old = topics.create("old")
    member = join(initial_offset="latest")
    member.poll_until(lambda: member.owned)
    done: list[str | None] = []
    member.consumer.commit({TopicPartition(old, 0): 0}, done.append)
    member.poll_until(lambda: done)
    member.consumer.close()
    new = topics.create("new")
    topics.produce(new, b"meanwhile")
    successor = join(initial_offset="latest")
    successor.poll_until(lambda: successor.received[TopicPartition(new, 0)] == [b"meanwhile"])


def test_a_resumed_partition_goes_on_while_another_drains(topics: Topics, join: Callable[..., Member]) -> None:
    """MEM-7, REB-2: what was buffered of a paused partition is returned after the resume, in order.

    It does not stay parked until another partition, which always has records, has drained.
    """
    topic = topics.create("two", partitions=2)
    slow, busy = TopicPartition(topic, 0), TopicPartition(topic, 1)
    sent = {slow: values(1000, size=1000), busy: values(8000, size=1000)}
    for place, own in sent.items():
        topics.produce(topic, *own, partition=place.partition)
    member = join()
    member.poll_until(lambda: member.received[slow])
    while len(member.received[slow]) < 1000:
        member.consumer.pause([slow])
        before = len(member.received[slow])
        member.poll()
        member.poll()
        assert len(member.received[slow]) == before
        member.consumer.resume([slow])
        member.poll_beyond(slow, before)
        assert len(member.received[busy]) < 8000, "the other partition drained before this one went on"
    member.poll_until(lambda: len(member.received[busy]) == 8000)
    assert member.received == sent


def test_the_position_passes_what_cannot_be_delivered(topics: Topics, join: Callable[..., Member]) -> None:
    """OFF-3: aborted records are not returned, and the position moves over them to the end of the log."""
    topic = topics.create("transactions")
    topics.produce(topic, b"sound")
    topics.abort(topic, b"aborted", b"aborted")
    member = join()
    place = TopicPartition(topic, 0)
    member.poll_until(lambda: member.consumer.position(place) == 4)
    assert member.received[place] == [b"sound"]


def test_a_commit_is_confirmed_without_blocking(topics: Topics, join: Callable[..., Member]) -> None:
    """OFF-4: offsets are committed as they are given, and a later poll tells that they were."""
    place = TopicPartition(topics.create("one"), 0)
    topics.produce(place.topic, *values(5))
    member = join()
    member.poll_until(lambda: len(member.received[place]) == 5)
    done: list[str | None] = []
    member.consumer.commit({place: 3}, done.append)
    assert done == []
    member.poll_until(lambda: done)
    assert done == [None]
    assert topics.committed() == {place: 3}


def test_the_ends_are_known_of_paused_partitions_too(topics: Topics, join: Callable[..., Member]) -> None:
    """OPS-1: the end of a partition is told by the broker, and grows while nothing is fetched."""
    place = TopicPartition(topics.create("one"), 0)
    member = join()
    member.poll_until(lambda: member.consumer.ends() == {place: 0})
    member.consumer.pause([place])
    topics.produce(place.topic, *values(7))
    member.poll_until(lambda: member.consumer.ends() == {place: 7})
    assert not member.received


def test_a_partition_can_be_read_again(topics: Topics, join: Callable[..., Member]) -> None:
    """OPS-4: after a seek the records come again from there, in order, also when it was paused meanwhile."""
    place = TopicPartition(topics.create("one"), 0)
    sent = values(5)
    topics.produce(place.topic, *sent)
    member = join()
    member.poll_until(lambda: len(member.received[place]) == 5)
    member.consumer.pause([place])
    member.consumer.seek(place, 2)
    member.consumer.resume([place])
    member.poll_until(lambda: len(member.received[place]) == 8)
    assert member.received[place] == [*sent, *sent[2:]]


def test_a_partition_is_handed_over_when_it_is_settled_and_committed(
    topics: Topics, join: Callable[..., Member]
) -> None:
    """REB-7: a partition is given away only when its work has settled and its last offset is committed.

    What the member keeps goes on, and nothing of it is returned twice (REB-2).
    """
    topic = topics.create("two", partitions=2)
    for partition in range(2):
        topics.produce(topic, *values(5), partition=partition)
    first = join()
    first.poll_until(lambda: len(first.owned) == 2)
    first.finished = {TopicPartition(topic, 0): 4, TopicPartition(topic, 1): 4}
    first.busy = True
    second = join()
    with first.polling(), second.polling():
        eventually(lambda: "revoking" in first.told, timeout=60)
        assert "revoked" not in first.told
        assert not second.owned
        first.busy = False
        eventually(lambda: len(second.owned) == 1, timeout=60)
        (kept,), (moved,) = first.owned, second.owned
        topics.produce(topic, b"more", partition=kept.partition)
        eventually(lambda: len(first.received[kept]) > 5 and second.received[moved], timeout=60)
    assert first.received == {kept: [*values(5), b"more"], moved: values(5)}
    assert second.received == {moved: values(5)[4:]}


def test_the_grace_is_bounded(topics: Topics, join: Callable[..., Member]) -> None:
    """REB-5: work that never settles holds a rebalance up no longer than the grace."""
    topics.create("two", partitions=2)
    first = join(revoke_grace="300ms")
    first.poll_until(lambda: len(first.owned) == 2)
    first.busy = True
    second = join()
    with first.polling(), second.polling():
        eventually(lambda: len(second.owned) == 1, timeout=60)
    assert len(first.owned) == 1


def test_a_member_that_leaves_commits_and_frees_its_partitions_at_once(
    topics: Topics, join: Callable[..., Member]
) -> None:
    """LIF-3: closing commits what is finished, and the successor does not wait for the session to end."""
    place = TopicPartition(topics.create("one"), 0)
    topics.produce(place.topic, *values(5))
    first = join()
    first.poll_until(lambda: len(first.received[place]) == 5)
    first.finished = {place: 5}
    first.consumer.close()
    assert first.told == ["assigned", "revoking", "revoked"]
    assert topics.committed() == {place: 5}
    second = join(session_timeout="60s")
    second.poll_until(lambda: second.owned)


def test_an_expelled_member_is_told_that_it_lost_everything(topics: Topics, join: Callable[..., Member]) -> None:
    """REB-3: a member that did not poll for too long commits nothing for what it owned, and joins again."""
    topics.create("one")
    member = join(max_poll_interval="1s")
    member.poll_until(lambda: member.owned)
    member.finished = dict.fromkeys(member.owned, 0)
    eventually(lambda: not member.consumer._member._coordinator.stable(), timeout=60)
    member.poll_until(lambda: member.told == ["assigned", "lost", "assigned"])
    assert topics.committed() == {}


@pytest.fixture
def refused_connections(caplog: pytest.LogCaptureFixture) -> Iterator[None]:
    """Collects the sockets of refused connections, which kafka-python leaves to the garbage collector.

    They hang on the exceptions that it logs, so that these must not be kept either.
    """
    caplog.set_level(logging.CRITICAL, "kafka")
    yield
    gc.collect()


refusing = pytest.mark.filterwarnings("ignore:unclosed <socket:ResourceWarning")


@refusing
@pytest.mark.usefixtures("refused_connections")
def test_a_broker_may_be_away(topics: Topics, join: Callable[..., Member]) -> None:
    """LIF-4: while the broker is down nothing is raised, and when it is back the member goes on by itself."""
    place = TopicPartition(topics.create("one"), 0)
    member = join()
    assert member.consumer.trouble() == "not a member of the group yet"
    member.poll_until(lambda: member.owned)
    assert member.consumer.trouble() is None
    topics.kafka.kill()
    try:
        member.poll_until(member.consumer.trouble)
    finally:
        topics.kafka.start()
    member.poll_until(lambda: member.consumer.trouble() is None)
    topics.produce(place.topic, b"back")
    member.poll_until(lambda: member.received[place] == [b"back"])
    done: list[str | None] = []
    member.consumer.commit({place: 1}, done.append)
    member.poll_until(lambda: done)
    assert done == [None]


@refusing
@pytest.mark.usefixtures("refused_connections")
def test_a_broker_may_be_away_at_the_start(topics: Topics, join: Callable[..., Member]) -> None:
    """LIF-4: a member that finds no broker waits for one, and then joins."""
    place = TopicPartition(topics.create("one"), 0)
    topics.kafka.kill()
    joined: list[Member] = []
    joining = threading.Thread(target=lambda: joined.append(join()))
    joining.start()
    joining.join(0.5)
    assert joining.is_alive()
    topics.kafka.start()
    joining.join(60)
    (member,) = joined
    member.poll_until(lambda: member.owned == {place})
