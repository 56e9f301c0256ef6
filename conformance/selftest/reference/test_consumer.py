"""The consumer port: what holds of a real Kafka, of the simulated one, and of the one in memory of other tests."""

from __future__ import annotations

import threading
import time
from itertools import count
from typing import TYPE_CHECKING, NamedTuple, Protocol

import pytest

from isolane.conformance.selftest.reference.fake_kafka import FakeConsumer, FakeKafka
from isolane.conformance.selftest.reference.fakes import eventually
from isolane.conformance.selftest.reference.kafka_bench import Member, Topics, values
from isolane.conformance.simulation.broker import Broker as SimulatedBroker
from isolane.conformance.simulation.choice import Replayed
from isolane.conformance.simulation.consumer import SimulatedConsumer
from isolane.conformance.simulation.runtime import SimulatedRuntime
from isolane.conformance.simulation.scheduler import Process, Scheduler
from isolane.conformance.simulation.settings import Settings
from isolane.fixtures.services import Kafka
from isolane.reference.consumer import TopicPartition

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from isolane.conformance.simulation.broker import Log
    from isolane.reference.consumer import Consumer, Owner
    from isolane.reference.runtime import Runtime


class Broker(Protocol):
    """Topics of one test, wherever they are."""

    def create(self, name: str, partitions: int = 1) -> str:
        """Make a topic and return its whole name."""

    def produce(self, topic: str, *values: bytes, partition: int = 0) -> None:
        """Append records."""

    def committed(self) -> Mapping[TopicPartition, int]:
        """Return the offsets that the test's group has committed."""

    def connect(self, runtime: Runtime) -> Callable[[Owner], Consumer]:
        """Return how to connect to it."""

    def take_and_return(self, member: Member, join: Callable[[], Member]) -> TopicPartition:
        """Let the member lose one of its partitions, and get it back; return which."""

    def now(self) -> float:
        """Return the seconds of the clock by which members wait."""

    def soon(self, call: Callable[[], None]) -> None:
        """Let another thread call something in a tenth of a second."""


class Threaded:
    """Threads as they are, and their clock; a part of `Broker`."""

    def now(self) -> float:
        """See `Broker`."""
        return time.monotonic()

    def soon(self, call: Callable[[], None]) -> None:
        """See `Broker`."""
        threading.Timer(0.1, call).start()


class Memory(Threaded):
    """Topics in memory, all of whose partitions belong to the one member."""

    def __init__(self) -> None:
        """Begin with no topic."""
        self.kafka = FakeKafka()
        self.places: list[TopicPartition] = []

    def create(self, name: str, partitions: int = 1) -> str:
        """See `Broker`."""
        self.places += [TopicPartition(name, number) for number in range(partitions)]
        return name

    def produce(self, topic: str, *values: bytes, partition: int = 0) -> None:
        """See `Broker`."""
        self.kafka.produce(topic, partition, *values)

    def committed(self) -> Mapping[TopicPartition, int]:
        """See `Broker`."""
        return dict(self.kafka.committed)

    def connect(self, _runtime: Runtime) -> Callable[[Owner], Consumer]:
        """See `Broker`: the member owns every partition there is."""

        def connected(owner: Owner) -> Consumer:
            consumer = FakeConsumer(self.kafka, owner, grace=10.0)
            consumer.own(*self.places)
            return consumer

        return connected

    def take_and_return(self, member: Member, _join: Callable[[], Member]) -> TopicPartition:
        """See `Broker`."""
        assert isinstance(member.consumer, FakeConsumer)
        moved, *kept = self.places
        member.consumer.own(*kept)
        member.poll_until(lambda: moved not in member.owned)
        member.consumer.own(*self.places)
        member.poll_until(lambda: moved in member.owned)
        return moved


class Real(Topics, Threaded):
    """Topics of a real Kafka."""

    def take_and_return(self, member: Member, join: Callable[[], Member]) -> TopicPartition:
        """See `Broker`: another member joins, gets it, and leaves."""
        other = join()
        with member.polling(), other.polling():
            eventually(lambda: len(other.owned) == 1, timeout=60)
        (moved,) = other.owned
        with member.polling():
            other.consumer.close()
        member.poll_until(lambda: moved in member.owned)
        return moved


class Owned:
    """Sees each commit in the simulation: it is of a partition that the member owns."""

    def committed(self, name: str, place: TopicPartition, offset: int, log: Log, *, foreign: bool) -> None:
        """See `Watcher`."""
        assert not foreign, f"{name} committed {offset} of {place}"
        assert offset <= log.end


class Simulated:
    """Topics in the simulation's Kafka, and members with two threads; the test itself is a task, their poll thread."""

    def __init__(self) -> None:
        """Begin with no topic, at the first instant of virtual time."""
        self.scheduler = Scheduler(Replayed())
        self.kafka = SimulatedBroker(self.scheduler, Owned(), subscription=".+")
        self.names = count()

    def create(self, name: str, partitions: int = 1) -> str:
        """See `Broker`."""
        self.kafka.create([TopicPartition(name, number) for number in range(partitions)])
        return name

    def produce(self, topic: str, *values: bytes, partition: int = 0) -> None:
        """See `Broker`."""
        self.kafka.produce(TopicPartition(topic, partition), values)

    def committed(self) -> Mapping[TopicPartition, int]:
        """See `Broker`."""
        return dict(self.kafka.committed)

    def connect(self, _runtime: Runtime) -> Callable[[Owner], Consumer]:
        """See `Broker`: its threads are tasks, and their clock is the scheduler's."""
        runtime = SimulatedRuntime(self.scheduler, Process(f"member {next(self.names)}"), seed=1)
        return lambda owner: SimulatedConsumer(self.kafka, Settings().config.kafka, owner, runtime)

    def now(self) -> float:
        """See `Broker`: virtual time."""
        return self.scheduler.now

    def soon(self, call: Callable[[], None]) -> None:
        """See `Broker`: a task."""

        def later() -> None:
            self.scheduler.sleep(0.1)
            call()

        SimulatedRuntime(self.scheduler, Process("another"), seed=1).spawn("soon", later)

    def take_and_return(self, member: Member, join: Callable[[], Member]) -> TopicPartition:
        """See `Broker`: another member joins, gets it, and leaves; both are polled by the one task."""
        other = join()

        def shared() -> bool:
            member.poll()
            other.poll()
            return len(other.owned) == 1

        eventually(shared)
        (moved,) = other.owned
        other.consumer.close()
        member.poll_until(lambda: moved in member.owned)
        return moved


class Setting(NamedTuple):
    """Where a test of the port takes place.

    Attributes:
        broker: Its topics.
        join: Makes a member of the group that reads them, which leaves with the test.
    """

    broker: Broker
    join: Callable[[], Member]


@pytest.fixture(scope="module")
def kafka(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Kafka]:
    """One broker for all tests here."""
    with Kafka.native(tmp_path_factory.mktemp("kafka")) as kafka:
        yield kafka


@pytest.fixture(params=["memory", "simulated", pytest.param("kafka", marks=pytest.mark.services)])
def broker(request: pytest.FixtureRequest) -> Iterator[Broker]:
    """Topics in memory, in the simulation, and of a real Kafka."""
    if request.param == "memory":
        yield Memory()
    elif request.param == "kafka":
        yield Real(request.getfixturevalue("kafka"))
    else:
        simulated = Simulated()
        yield simulated
        simulated.scheduler.close()


@pytest.fixture
def setting(broker: Broker, runtime: Runtime) -> Iterator[Setting]:
    """The same test with each broker."""
    members: list[Member] = []

    def join() -> Member:
        members.append(Member(broker.connect(runtime)))
        return members[-1]

    yield Setting(broker, join)
    for member in members:
        member.busy = False
        member.consumer.close()


def test_each_record_is_returned_once_and_in_order(setting: Setting) -> None:
    """OFF-1, DEL-10: of each partition in the order of its offsets; the position is where the next record will be."""
    topic = setting.broker.create("two", partitions=2)
    places = [TopicPartition(topic, number) for number in range(2)]
    for place in places:
        setting.broker.produce(topic, *values(300), partition=place.partition)
    member = setting.join()
    assert member.told == []
    member.poll_until(lambda: all(len(member.received[place]) == 300 for place in places))
    assert member.told == ["assigned"]
    assert member.owned == set(places)
    assert member.received == dict.fromkeys(places, values(300))
    assert [member.consumer.position(place) for place in places] == [300, 300]


def test_a_pause_holds_one_partition_back_until_it_is_resumed(setting: Setting) -> None:
    """MEM-7: nothing of it is returned meanwhile, everything of the others is, and then it goes on where it was."""
    topic = setting.broker.create("two", partitions=2)
    paused, other = (TopicPartition(topic, number) for number in range(2))
    for place in (paused, other):
        setting.broker.produce(topic, *values(5), partition=place.partition)
    member = setting.join()
    member.poll_until(lambda: len(member.received[paused]) == len(member.received[other]) == 5)
    member.consumer.pause([paused])
    for place in (paused, other):
        setting.broker.produce(topic, *values(9)[5:], partition=place.partition)
    member.poll_until(lambda: len(member.received[other]) == 9)
    assert len(member.received[paused]) == 5
    member.consumer.resume([paused])
    member.poll_until(lambda: len(member.received[paused]) == 9)
    assert member.received[paused] == values(9)


def test_a_pause_ends_with_the_ownership_that_it_belongs_to(setting: Setting) -> None:
    """REB-4, REB-2: a partition that was taken away comes back without its pause; one that was kept keeps it."""
    topic = setting.broker.create("two", partitions=2)
    places = {TopicPartition(topic, number) for number in range(2)}
    member = setting.join()
    member.poll_until(lambda: member.owned == places)
    member.consumer.pause(places)
    moved = setting.broker.take_and_return(member, setting.join)
    (kept,) = places - {moved}
    for place in places:
        setting.broker.produce(topic, b"late", partition=place.partition)
    member.poll_until(lambda: member.received[moved])
    member.poll_until(lambda: member.consumer.ends().get(kept) == 1)
    assert not member.received[kept]
    member.consumer.resume([kept])
    member.poll_until(lambda: member.received[kept])
    assert member.received == {place: [b"late"] for place in places}


def test_a_partition_can_be_read_again(setting: Setting) -> None:
    """OPS-4: after a seek the records come again from there, in order, also when it was paused meanwhile."""
    place = TopicPartition(setting.broker.create("one"), 0)
    setting.broker.produce(place.topic, *values(5))
    member = setting.join()
    member.poll_until(lambda: len(member.received[place]) == 5)
    member.consumer.pause([place])
    member.consumer.seek(place, 2)
    member.consumer.resume([place])
    member.poll_until(lambda: len(member.received[place]) == 8)
    assert member.received[place] == [*values(5), *values(5)[2:]]


def test_the_ends_are_known_of_paused_partitions_too(setting: Setting) -> None:
    """OPS-1: the end of a partition grows while nothing of it is fetched."""
    place = TopicPartition(setting.broker.create("one"), 0)
    member = setting.join()
    member.poll_until(lambda: member.consumer.ends() == {place: 0})
    member.consumer.pause([place])
    setting.broker.produce(place.topic, *values(7))
    member.poll_until(lambda: member.consumer.ends() == {place: 7})
    assert not member.received[place]


def test_a_poll_ends_when_it_is_woken(setting: Setting) -> None:
    """MEM-7: whoever makes room is heard at once, in the poll that waits, and if none does, in the next one."""
    place = TopicPartition(setting.broker.create("one"), 0)
    member = setting.join()
    member.poll_until(lambda: member.owned == {place})
    member.consumer.pause([place])
    began = setting.broker.now()
    setting.broker.soon(member.consumer.wake)
    member.poll(30.0)
    member.consumer.wake()
    member.poll(30.0)
    assert setting.broker.now() - began < 10
    member.poll(0.5)
    assert setting.broker.now() - began > 0.5, "a poll that nobody wakes waits as before"


def test_who_makes_room_when_it_is_closed_wakes_nobody(setting: Setting) -> None:
    """LIF-2: a worker may still be at it, and has nothing to fear."""
    setting.broker.create("one")
    member = setting.join()
    member.poll_until(lambda: member.owned)
    member.consumer.close()
    member.consumer.wake()


def test_a_commit_is_confirmed_without_blocking(setting: Setting) -> None:
    """OFF-4: offsets are committed as they are given, and a later poll tells that they were."""
    place = TopicPartition(setting.broker.create("one"), 0)
    setting.broker.produce(place.topic, *values(5))
    member = setting.join()
    member.poll_until(lambda: len(member.received[place]) == 5)
    done: list[str | None] = []
    member.consumer.commit({place: 3}, done.append)
    assert done == []
    member.poll_until(lambda: done)
    assert done == [None]
    assert setting.broker.committed() == {place: 3}


def test_a_member_that_leaves_commits_and_is_followed_at_once(setting: Setting) -> None:
    """LIF-3: closing commits what is finished; who follows begins there."""
    place = TopicPartition(setting.broker.create("one"), 0)
    setting.broker.produce(place.topic, *values(5))
    first = setting.join()
    first.poll_until(lambda: len(first.received[place]) == 5)
    first.finished = {place: 4}
    first.consumer.close()
    assert first.told == ["assigned", "revoking", "revoked"]
    assert setting.broker.committed() == {place: 4}
    second = setting.join()
    second.poll_until(lambda: second.received[place])
    assert second.received[place] == values(5)[4:]


def test_the_group_is_joined_before_anything_is_received(setting: Setting) -> None:
    """LIF-4: a member in good standing has no trouble."""
    setting.broker.create("one")
    member = setting.join()
    member.poll_until(lambda: member.owned)
    assert member.consumer.trouble() is None
