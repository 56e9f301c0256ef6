"""The fenced client on a small Kafka that does what a real one does rarely."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from kafka.errors import (
    CorruptRecordError,
    KafkaConnectionError,
    KafkaError,
    TopicAuthorizationFailedError,
)

from isolane.conformance.selftest.reference.fakes import eventually
from isolane.conformance.selftest.reference.small_kafka import SmallKafka, batch
from isolane.reference import kafka_member
from isolane.reference.kafka_consumer import KafkaGroupConsumer

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from isolane.conformance.selftest.reference.kafka_bench import Member
    from isolane.reference.runtime import Runtime


@pytest.fixture
def join(kafka: SmallKafka, runtime: Runtime) -> Iterator[Callable[..., Member]]:
    """Makes members, which leave at the end."""
    made: list[Member] = []

    def make(**settings: object) -> Member:
        made.append(kafka.join(runtime, **settings))
        return made[-1]

    yield make
    for member in made:
        member.consumer.close()
        client_of(member)._client.close()  # which is left out when the owner fails once more


@pytest.fixture
def kafka() -> Iterator[SmallKafka]:
    """A broker without topics."""
    with SmallKafka() as broker:
        yield broker


def client_of(member: Member) -> kafka_member.Member:
    """Return the client of a member."""
    assert isinstance(member.consumer, KafkaGroupConsumer)
    return member.consumer._member


def test_records_are_kept_when_the_next_fetch_cannot_be_sent(
    kafka: SmallKafka, join: Callable[..., Member], monkeypatch: pytest.MonkeyPatch
) -> None:
    """DEL-1, OFF-1: the client takes records out of its buffer, and their positions on, before it sends fetches."""
    place = kafka.topic("t")
    member = join()
    kafka.produce(place, b"first")
    member.poll_until(lambda: member.received[place])
    fetcher = client_of(member)._fetcher
    eventually(lambda: not fetcher._nodes_with_pending_fetch_requests)
    fetcher._completed_fetches.clear()
    kafka.produce(place, b"second")
    fetcher.send_fetches()
    eventually(lambda: fetcher._completed_fetches)

    def fail() -> None:
        raise KafkaConnectionError("as scripted")

    with monkeypatch.context() as patch:
        patch.setattr(fetcher, "_create_fetch_requests", fail)
        member.poll()
        assert member.received[place] == [b"first", b"second"]
        member.poll()
    kafka.produce(place, b"third")
    member.poll_until(lambda: len(member.received[place]) == 3)


def test_a_leader_that_is_no_known_broker_delays_only_its_own_partition(
    kafka: SmallKafka, join: Callable[..., Member], caplog: pytest.LogCaptureFixture
) -> None:
    """DEL-1: a broker tells who leads, and who is alive, at different moments; nothing was ever fetched there."""
    place, other = kafka.topic("a"), kafka.topic("b")
    member = join()
    for each in (place, other):
        kafka.produce(each, b"first")
    member.poll_until(lambda: member.received[place] and member.received[other])
    cluster = client_of(member)._manager.cluster
    kafka.leaders[place] = 2
    eventually(lambda: cluster.leader_for_partition(place) == 2)
    kafka.produce(other, b"second")
    kafka.produce(place, b"second")
    member.poll_until(lambda: member.received[other] == [b"first", b"second"])
    kafka.nodes.append(2)
    member.poll_until(lambda: member.received[place] == [b"first", b"second"], timeout=5)
    assert "trouble with Kafka" not in caplog.text


def test_an_exception_of_the_owner_ends_the_poll(
    kafka: SmallKafka, join: Callable[..., Member], monkeypatch: pytest.MonkeyPatch
) -> None:
    """REB-2, DEL-1: the client logs it, and raises what looks like passing trouble; partitions would stand still."""
    kafka.topic("t")
    member = join()

    def fail(_: object) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(member, "assigned", fail)
    with pytest.raises(KafkaError) as failure:
        member.poll_until(lambda: False, timeout=5)
    assert repr(failure.value.__cause__) == 'RuntimeError("can\'t start new thread")'


def test_a_header_name_that_is_no_text_does_not_matter(kafka: SmallKafka, join: Callable[..., Member]) -> None:
    """POI-1: brokers and other clients take any bytes; kafka-python took the record for corrupt, and raised."""
    place = kafka.topic("t")
    member = join()
    kafka.append(place, 2, lambda base: batch(base, b"first", b"second", header=b"n\xe4me"))
    kafka.produce(place, b"third")
    member.poll_until(lambda: member.received[place] == [b"first", b"second", b"third"])


@pytest.mark.parametrize("paused", [False, True])
def test_a_batch_that_cannot_be_read_holds_its_own_partition(
    kafka: SmallKafka,
    join: Callable[..., Member],
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    paused: bool,  # noqa: FBT001 - a parameter of the test
) -> None:
    """POI-1: with a trace, and until it can be; also one that is met while the partition is paused."""
    monkeypatch.setattr(kafka_member, "_LEFT_ALONE", 0.1)
    place, other = kafka.topic("a"), kafka.topic("b")
    member = join()
    kafka.append(place, 2, lambda base: batch(base, b"first") + batch(base + 1, b"second")[:-1] + b"!")
    member.poll_until(lambda: member.received[place] == [b"first"])
    if paused:
        member.consumer.pause([place])
    for number in range(3):
        kafka.produce(other, b"%d" % number)
        member.poll_beyond(other, number)
    member.consumer.resume([place])
    member.poll_until(lambda: "cannot be read" in caplog.text)
    kafka.logs[place] = [(0, 2, batch(0, b"first", b"second"))]
    member.poll_until(lambda: member.received[place] == [b"first", b"second"], timeout=5)


@pytest.mark.parametrize("error", [TopicAuthorizationFailedError, CorruptRecordError])
def test_an_error_of_one_partition_holds_no_other(
    kafka: SmallKafka, join: Callable[..., Member], monkeypatch: pytest.MonkeyPatch, error: type[KafkaError]
) -> None:
    """ISO, TEN: a right that one tenant's topic lacks, or a page that is damaged, ends nobody else's delivery."""
    monkeypatch.setattr(kafka_member, "_LEFT_ALONE", 0.1)
    place, other = kafka.topic("a"), kafka.topic("b")
    kafka.errors[place] = error.errno
    member = join()
    kafka.produce(place, b"first")
    for number in range(3):
        kafka.produce(other, b"%d" % number)
        member.poll_beyond(other, number)
    del kafka.errors[place]
    member.poll_until(lambda: member.received[place] == [b"first"], timeout=5)


@pytest.mark.parametrize("instance", [None, "pod-0"], ids=["dynamic", "static"])
def test_a_partition_that_is_added_after_a_restart_is_found(
    kafka: SmallKafka, join: Callable[..., Member], instance: str | None
) -> None:
    """TEN-1: a static member that returns in time is told that its former self leads; nobody watched the topics."""
    place = kafka.topic("t")
    former = join(group_instance_id=instance)
    former.poll_until(lambda: place in former.owned)
    former.consumer.close()
    member = join(group_instance_id=instance)
    member.poll_until(lambda: place in member.owned)
    kafka.topic("t", partitions=2)
    member.poll_until(lambda: len(member.owned) == 2, timeout=5)


def test_an_open_transaction_takes_no_turns(kafka: SmallKafka, join: Callable[..., Member]) -> None:
    """ISO-7, OFF-3: what is above it cannot be fetched yet; the partition counted as one that is far behind."""
    place, other = kafka.topic("a"), kafka.topic("b")
    member = join()
    kafka.open[place] = 100_000
    for each in (place, other):
        kafka.produce(each, bytes(1000))
    member.poll_until(lambda: member.received[place] and member.received[other])
    client = client_of(member)
    eventually(lambda: not client._fetcher._nodes_with_pending_fetch_requests)
    client._subscription.assignment[other].highwater = 2  # it is behind by one
    assert client._in_turn([place, other]) == [place, other]
