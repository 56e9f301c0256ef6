"""The consumer port over a real Kafka: ownership, positions, commits, and the quirks that are fenced."""

from __future__ import annotations

import threading
import time
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest
from kafka.consumer import group as client
from kafka.errors import KafkaConnectionError

from isolane.conformance.selftest.reference.fakes import eventually
from isolane.conformance.selftest.reference.kafka_bench import Member, Topics, values
from isolane.fixtures.services import Kafka
from isolane.reference.consumer import ConsumerFailed, KafkaUnavailable, TopicPartition
from isolane.reference.kafka_consumer import KafkaGroupConsumer

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from isolane.reference.runtime import Runtime

pytestmark = pytest.mark.services


@pytest.fixture(scope="module")
def kafka(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Kafka]:
    """One broker for all tests here; each has a prefix of topics and a group of its own."""
    with Kafka.native(tmp_path_factory.mktemp("kafka")) as kafka:
        yield kafka


@pytest.fixture
def topics(kafka: Kafka) -> Topics:
    """Topics for one test."""
    return Topics(kafka)


@pytest.fixture
def join(topics: Topics, runtime: Runtime) -> Iterator[Callable[..., Member]]:
    """Makes members, which leave with the test."""
    members: list[Member] = []

    def make(**settings: object) -> Member:
        members.append(Member(topics.connect(runtime, **settings)))
        return members[-1]

    yield make
    for member in members:
        member.busy = False
        member.consumer.close()


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


def test_with_nothing_to_fetch_a_poll_waits_where_it_can_be_woken(
    topics: Topics, join: Callable[..., Member], monkeypatch: pytest.MonkeyPatch
) -> None:
    """MEM-7: the client by itself would sleep while all partitions are paused, and hear nobody."""
    place = TopicPartition(topics.create("one"), 0)
    member = join()
    member.poll_until(lambda: member.owned == {place})
    member.consumer.pause([place])
    member.poll()  # a fetch that was under way may end in it
    slept: list[float] = []
    monkeypatch.setattr(client, "time", SimpleNamespace(sleep=slept.append, monotonic=time.monotonic, time=time.time))
    member.poll(0.3)
    assert slept == []
    threading.Timer(0.1, member.consumer.wake).start()
    began = time.monotonic()
    member.poll(30.0)
    assert time.monotonic() - began < 10


def test_a_partition_with_little_is_fetched_between_many_that_are_behind(
    topics: Topics, join: Callable[..., Member]
) -> None:
    """ISO-7: its record does not wait until each of the others has had a fetch of its own, also the second time."""
    loud = topics.create("loud", partitions=12)
    quiet = TopicPartition(topics.create("quiet"), 0)
    for partition in range(12):
        topics.produce(loud, *values(20, size=100_000), partition=partition)
    member = join()
    others = [TopicPartition(loud, partition) for partition in range(12)]
    member.poll_until(lambda: all(member.received[place] for place in others))
    for number in range(1, 6):
        before = sum(len(member.received[place]) for place in others)
        topics.produce(quiet.topic, b"little")
        while len(member.received[quiet]) < number:
            member.poll()
        assert sum(len(member.received[place]) for place in others) - before <= 4 * 256 * 1024 / 100_000
    assert not all(len(member.received[place]) == 20 for place in others), "nobody was behind any more"


def test_the_position_passes_what_cannot_be_delivered(topics: Topics, join: Callable[..., Member]) -> None:
    """OFF-3: aborted records are not returned, and the position moves over them to the end of the log."""
    topic = topics.create("transactions")
    topics.produce(topic, b"sound")
    topics.abort(topic, b"aborted", b"aborted")
    member = join()
    place = TopicPartition(topic, 0)
    member.poll_until(lambda: member.consumer.position(place) == 4)
    assert member.received[place] == [b"sound"]


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


def test_a_static_member_that_returns_in_time_moves_nothing(topics: Topics, join: Callable[..., Member]) -> None:
    """REB-2: who restarts with its instance id has its partition again, where it was; the others hear nothing."""
    topic = topics.create("two", partitions=2)
    first, second = (join(group_instance_id=name, session_timeout="45s") for name in ("first", "second"))
    with first.polling(), second.polling():
        eventually(lambda: len(first.owned) == len(second.owned) == 1, timeout=60)
    (place,) = second.owned
    topics.produce(topic, *values(5), partition=place.partition)
    second.poll_until(lambda: len(second.received[place]) == 5)
    before = list(first.told)
    with first.polling():
        second.finished = {place: 4}
        second.consumer.close()
        successor = join(group_instance_id="second", session_timeout="45s")
        successor.poll_until(lambda: successor.received[place])
    assert successor.owned == {place}
    assert successor.received[place] == values(5)[4:]
    assert first.told == before


def test_a_second_process_with_the_same_instance_id_ends_the_first(topics: Topics, join: Callable[..., Member]) -> None:
    """REB-3: of two with one name only the later one is a member; the other one is told that it cannot go on."""
    topics.create("one")
    first = join(group_instance_id="same")
    first.poll_until(lambda: first.owned)
    second = join(group_instance_id="same")
    with second.polling(), pytest.raises(ConsumerFailed):
        first.poll_until(lambda: False)


def test_an_expelled_member_is_told_that_it_lost_everything(topics: Topics, join: Callable[..., Member]) -> None:
    """REB-3: a member that did not poll for too long commits nothing for what it owned, and joins again."""
    topics.create("one")
    member = join(max_poll_interval="1s")
    member.poll_until(lambda: member.owned)
    member.finished = dict.fromkeys(member.owned, 0)
    consumer = member.consumer
    assert isinstance(consumer, KafkaGroupConsumer)
    eventually(lambda: not consumer._member._coordinator.stable(), timeout=60)
    member.poll_until(lambda: member.told == ["assigned", "lost", "assigned"])
    assert topics.committed() == {}


def test_an_expelled_member_claims_nothing_that_another_owns(
    topics: Topics, join: Callable[..., Member], monkeypatch: pytest.MonkeyPatch
) -> None:
    """REB-3: a leader that is told of two owners may give a partition to one while the other still works on it."""
    topics.create("two", partitions=2)
    first = join(max_poll_interval="1s")
    first.poll_until(lambda: len(first.owned) == 2)
    second = join()
    second.poll_until(lambda: len(second.owned) == 2)
    assert isinstance(second.consumer, KafkaGroupConsumer)
    (assignor,) = second.consumer._member._coordinator._assignors.values()
    assign, claims = assignor.assign, []

    def led(cluster: object, members: list[Any]) -> object:
        claims.append(
            [place for member in members for place in assignor.parse_member_metadata(member.metadata).partitions]
        )
        return assign(cluster, members)

    monkeypatch.setattr(assignor, "assign", led)
    with second.polling():
        first.poll_until(lambda: len(first.owned) == len(second.owned) == 1)
    assert first.told == ["assigned", "lost", "assigned"]
    assert len(claims[0]) == 2
    assert all(len(places) == len(set(places)) for places in claims)


def test_a_member_expelled_while_it_joins_is_told_that_it_lost_everything(
    topics: Topics, join: Callable[..., Member], monkeypatch: pytest.MonkeyPatch
) -> None:
    """REB-3: a member that is frozen between two steps of a rebalance claims nothing of what others have got since."""
    topics.create("two", partitions=2)
    first = join()
    first.poll_until(lambda: len(first.owned) == 2)
    second = join()
    assert isinstance(first.consumer, KafkaGroupConsumer)
    coordinator = first.consumer._member._coordinator
    proceed, expelled = coordinator._do_join_and_sync_async, threading.Event()

    async def frozen() -> object:
        while not expelled.is_set():
            await coordinator._net.sleep(0.01)
            if len(second.owned) == 2:
                expelled.set()
        return await proceed()

    monkeypatch.setattr(coordinator, "_do_join_and_sync_async", frozen)
    with second.polling():
        first.poll_until(lambda: expelled.is_set() and len(first.owned) == len(second.owned) == 1)
    assert first.told == ["assigned", "lost", "assigned"]


def test_a_member_expelled_while_its_work_is_waited_for_is_told_that_it_lost_the_rest(
    topics: Topics, join: Callable[..., Member]
) -> None:
    """REB-3: likewise, when the listener is what lasts: before a join it is told of topics that were deleted."""
    gone, left = (TopicPartition(topics.create(name), 0) for name in ("gone", "left"))
    member = join()
    member.poll_until(lambda: member.owned == {gone, left})
    assert isinstance(member.consumer, KafkaGroupConsumer)
    member.busy = True
    topics.delete(gone.topic)
    with member.polling():
        eventually(lambda: "revoking" in member.told, timeout=60)
        member.consumer._member._coordinator.reset_generation()  # as when a heartbeat is answered with UnknownMemberId
        member.busy = False
        eventually(lambda: len(member.told) > 3 and member.owned == {left}, timeout=60)
    assert member.told == ["assigned", "revoking", "revoked", "lost", "assigned"]


def test_a_partition_that_comes_back_begins_where_it_was_committed_last(
    topics: Topics, join: Callable[..., Member], monkeypatch: pytest.MonkeyPatch
) -> None:
    """OFF-2: not where it was committed when the member was asked for it before, in a poll that ended too soon."""
    place = TopicPartition(topics.create("one"), 0)
    topics.produce(place.topic, *values(5))
    first = join(max_poll_interval="1s")
    assert isinstance(first.consumer, KafkaGroupConsumer)
    coordinator = first.consumer._member._coordinator
    ask = coordinator._send_offset_fetch_request

    async def late(places: object) -> object:
        await coordinator._net.sleep(0.2)
        return await ask(places)

    monkeypatch.setattr(coordinator, "_send_offset_fetch_request", late)
    first.poll_until(lambda: first.owned)
    assert first.consumer.position(place) is None
    monkeypatch.undo()
    eventually(lambda: not coordinator.stable(), timeout=60)
    second = join()
    second.poll_until(lambda: len(second.received[place]) == 5)
    second.finished = {place: 4}
    second.consumer.close()
    first.poll_until(lambda: first.received[place])
    assert first.told == ["assigned", "lost", "assigned"]
    assert first.received[place] == values(5)[4:]


def test_a_topic_may_be_deleted_while_the_work_of_another_is_waited_for(
    topics: Topics, join: Callable[..., Member]
) -> None:
    """REB-2: the member goes on with what is left, and is told of each topic that went."""
    first, second, left = (TopicPartition(topics.create(name), 0) for name in ("first", "second", "left"))
    member = join()
    member.poll_until(lambda: member.owned == {first, second, left})
    assert isinstance(member.consumer, KafkaGroupConsumer)
    subscription = member.consumer._member._subscription
    member.busy = True
    topics.delete(first.topic)
    with member.polling():
        eventually(lambda: "revoking" in member.told, timeout=60)
        topics.delete(second.topic)
        eventually(lambda: subscription.subscription == {left.topic}, timeout=60)
        member.busy = False
        topics.produce(left.topic, b"more")
        eventually(lambda: member.owned == {left} and member.received[left], timeout=60)
    assert member.told == ["assigned", "revoking", "revoked", "revoking", "revoked"]


def test_a_partition_begins_soon_when_one_that_was_asked_for_with_it_is_gone(
    topics: Topics, join: Callable[..., Member], monkeypatch: pytest.MonkeyPatch
) -> None:
    """TEN-1: where it begins is asked for again at once when that has failed, and not when the request would expire."""
    gone = TopicPartition(topics.create("gone"), 0)
    topic = topics.create("left", partitions=12)
    left = {TopicPartition(topic, partition) for partition in range(12)}
    member = join()
    assert isinstance(member.consumer, KafkaGroupConsumer)
    fetcher = member.consumer._member._fetcher
    failed: list[float] = []

    async def fail(*_: object) -> None:
        while gone in member.owned:
            await fetcher._net.sleep(0.01)
        monkeypatch.undo()
        failed.append(time.monotonic())
        raise KafkaConnectionError

    monkeypatch.setattr(fetcher, "_send_list_offsets_request", fail)
    member.poll_until(lambda: member.owned == {gone, *left})
    topics.delete(gone.topic)
    member.poll_until(lambda: all(member.consumer.position(place) == 0 for place in left))
    assert time.monotonic() - failed[0] < 4


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
    member.poll_until(lambda: _commits(member, place, 1))
    assert topics.committed() == {place: 1}


def _commits(member: Member, place: TopicPartition, offset: int) -> bool:
    """Commit, and tell whether that was confirmed: a broker that has just begun may not coordinate the group yet."""
    done: list[str | None] = []
    member.consumer.commit({place: offset}, done.append)
    member.poll_until(lambda: done)
    return done == [None]


@pytest.mark.usefixtures("refused_connections")
def test_a_broker_may_be_away_at_the_start(topics: Topics, join: Callable[..., Member]) -> None:
    """LIF-4: where no broker answers that is told within seconds, and nothing is left behind; later one can join."""
    place = TopicPartition(topics.create("one"), 0)
    topics.kafka.kill()
    before = threading.active_count()
    try:
        with pytest.raises(KafkaUnavailable):
            join()
    finally:
        topics.kafka.start()
    assert threading.active_count() == before
    member = join()
    member.poll_until(lambda: member.owned == {place})
