"""The whole program in its three modes, with Kafka and the clusters in memory."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

import pytest

from isolane.conformance.selftest.reference.fakes import eventually, reply
from isolane.conformance.selftest.reference.program_bench import A1, MODES, A, B, Bench
from isolane.reference import receiver
from isolane.reference.consumer import TopicPartition
from isolane.reference.outcome import Outcome, Reply

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from isolane.reference.config import Mode
    from isolane.reference.flush import Lane
    from isolane.reference.otlp import Document


def test_everything_arrives_at_its_own_cluster_and_is_committed(bench: Bench) -> None:
    """TEN-2, TEN-3, OFF-4: every item of every record is accepted once, and the commit reaches the end."""
    expected_a = bench.produce(A, 130, items=3) + bench.produce(A1, 7)
    expected_b = bench.produce(B, 60)
    bench.own(A, A1, B)
    bench.commits(A, 130)
    bench.commits(A1, 7)
    bench.commits(B, 60)
    assert sorted(bench.clusters["a"].accepted) == sorted(expected_a)
    assert sorted(bench.clusters["b"].accepted) == sorted(expected_b)


def test_nothing_is_committed_before_it_is_accepted(bench: Bench) -> None:
    """OFF-1: while a cluster answers nothing the commit stays; it follows when the cluster is back."""
    bench.clusters["a"].answer(None)
    bench.produce(A, 15)
    bench.own(A)
    eventually(lambda: bench.clusters["a"].open)
    bench.commits(A, 0)
    bench.clusters["a"].answer()
    bench.commits(A, 15)
    offsets = [offset for place, offset in bench.kafka.history if place == A]
    assert offsets == sorted(offsets)


def test_the_poll_need_not_end_by_itself(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    """MEM-7, OPS-4, LIF-2: room in a full mailbox, other tenants, and a stop end it."""
    monkeypatch.setattr(receiver, "_POLL_WAIT", 60.0)
    expected = bench.produce(A, 300)
    bench.own(A)
    eventually(lambda: sorted(bench.clusters["a"].accepted) == sorted(expected))
    bench.change("a")
    eventually(lambda: "b" not in bench.program._receiver._config.tenants)
    bench.stop()


def test_a_black_hole_stops_in_time_and_loses_nothing(bench: Bench) -> None:
    """LIF-2, DEL-1: with a cluster that never answers, and everything full, it stops soon and commits nothing new."""
    bench.clusters["a"].answer(None)
    bench.produce(A, 500)
    bench.own(A, B)
    eventually(lambda: bench.clusters["a"].open)
    bench.stop()
    assert bench.kafka.committed.get(A, 0) == 0
    assert bench.consumer is not None
    assert bench.consumer.closed


@pytest.mark.parametrize("mode", MODES)
def test_a_partition_that_moves_away_is_finished_and_committed_first(
    bench_of: Callable[..., Bench], mode: Mode
) -> None:
    """REB-7: attempts under way to a cluster that answers are awaited, and what they finish is committed."""
    bench = bench_of(mode, grace=20.0, limiter={"ceiling": 2, "slow_after": "20s", "probation_slots": 2})
    _lose_under_way(bench, A)
    bench.clusters["a"].answer()
    bench.produce(B, 3)
    bench.commits(B, 3)
    accepted = {int(name.split(":")[2]) for name in bench.clusters["a"].accepted}
    assert bench.kafka.committed[A] == max(accepted) + 1


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("answers", [True, False], ids=["answers", "silent"])
def test_a_stop_while_partitions_change_hands_is_as_any_other(
    bench_of: Callable[..., Bench], mode: Mode, *, answers: bool
) -> None:
    """LIF-2, REB-7: what is awaited for a rebalance is awaited once, also when the process is told to stop meanwhile.

    Everything that was accepted is committed, and nothing else.
    """
    bench = bench_of(mode, grace=2.0, limiter={"ceiling": 2, "slow_after": "20s", "probation_slots": 2})
    _lose_under_way(bench, A, B)
    stopping = threading.Thread(target=bench.stop)
    stopping.start()
    eventually(lambda: bench.program._receiver._stopping)
    if answers:
        bench.clusters["a"].answer()
    stopping.join(10)
    assert not stopping.is_alive()
    accepted = {int(name.split(":")[2]) for name in bench.clusters["a"].accepted}
    assert len(accepted) > 1 or not answers
    assert bench.kafka.committed[A] == max(accepted) + 1


def _lose_under_way(bench: Bench, *owned: TopicPartition) -> None:
    """Own partitions, and be left with B while attempts for A are under way that nobody answers yet."""
    bench.produce(A, 1)
    bench.own(*owned)
    bench.commits(A, 1)
    bench.clusters["a"].answer(None)
    bench.produce(A, 5)
    eventually(lambda: bench.clusters["a"].open)
    bench.own(B)
    eventually(lambda: _has_forgotten(bench, A))


def _has_forgotten(bench: Bench, place: TopicPartition) -> bool:
    partition = bench.program._receiver._partitions.get(place)
    return partition is None or partition.closed


def test_a_lost_partition_commits_nothing_more(bench: Bench) -> None:
    """REB-3, OFF-5: completions that belong to a lost ownership move no offset, and the next one starts afresh."""
    bench.clusters["a"].answer(None)
    bench.produce(A, 10)
    bench.own(A)
    eventually(lambda: bench.clusters["a"].open)
    bench.own(lost=True)
    eventually(lambda: _has_forgotten(bench, A))
    bench.kafka.committed[A] = 4
    bench.kafka.history.clear()
    bench.clusters["a"].answer()
    bench.own(A)
    bench.commits(A, 10)
    assert all(offset >= 4 for _, offset in bench.kafka.history)


def test_nothing_begins_for_a_lost_partition_in_place_of_what_is_cut(bench_of: Callable[..., Bench]) -> None:
    """DEL-8, REB-3: what the cut makes room for would be cut by nobody."""
    bench = bench_of(flush={"max_bytes": "1KiB"}, limiter={"ceiling": 2, "slow_after": "20s", "probation_slots": 2})
    line = bench.program._line
    cut = line.cut

    def cut_and_see(lane: Lane) -> None:
        cut(lane)
        eventually(lambda: not line.state("a").tenants["a"].slots, timeout=2)

    line.cut = cut_and_see  # type: ignore[method-assign]
    bench.clusters["a"].answer(None)
    bench.produce(A, 20)
    bench.own(A)
    eventually(lambda: bench.clusters["a"].open and line.state("a").tenants["a"].waiting)
    bench.own(lost=True)
    eventually(lambda: not bench.program.state().receiver.partitions)
    eventually(lambda: not line.state("a").held)
    assert len(bench.clusters["a"].attempts) == 1


def test_a_topic_that_is_made_again_is_read_from_its_first_record(bench: Bench) -> None:
    """OFF-2: when offsets begin anew in a partition that is owned, so does everything that is known of it."""
    bench.produce(A, 5)
    bench.own(A)
    bench.commits(A, 5)
    assert bench.consumer is not None
    bench.consumer.begin_anew(A)
    expected = bench.produce(A, 3)
    bench.commits(A, 3)
    assert sorted(bench.clusters["a"].accepted[5:]) == sorted(expected)


def test_a_topic_that_nobody_owns_waits_and_delays_nobody(bench: Bench, caplog: pytest.LogCaptureFixture) -> None:
    """TEN-4: it is named once in the output, stays uncommitted, and is fetched no more."""
    nobodys = TopicPartition("managed_otlp.logs.nobody", 0)
    bench.produce(nobodys, 200)
    bench.produce(A, 5)
    bench.own(A, nobodys)
    bench.commits(A, 5)
    assert bench.consumer is not None
    consumer = bench.consumer
    eventually(lambda: consumer.paused == {nobodys})
    assert nobodys not in bench.kafka.committed
    assert [record.__dict__["fields"] for record in caplog.records if "nobody" in record.message] == [
        {"topic": nobodys.topic, "claimed_by": ()}
    ]


def test_a_topic_that_two_tenants_claim_is_named_with_them(
    bench_of: Callable[..., Bench], caplog: pytest.LogCaptureFixture
) -> None:
    """TEN-2: patterns that overlap cannot be compared in the file; who claims a topic is told when it is there."""
    claimed = TopicPartition("managed_otlp.logs.ab", 0)
    bench = bench_of()
    overlapping = bench.config.tenants["a"].model_copy(update={"topics": (r"^managed_otlp\.logs\.ab",)})
    both = bench.config.tenants["b"].model_copy(update={"topics": (r"^managed_otlp\.logs\.(b|ab)$",)})
    bench.program.change(bench.config.model_copy(update={"tenants": {"a": overlapping, "b": both}}), {})
    bench.own(B, claimed)
    eventually(lambda: bench.program.state().receiver.unowned == {claimed.topic: 1})
    told = {"topic": claimed.topic, "claimed_by": ("a", "b")}
    eventually(lambda: [each.__dict__["fields"] for each in caplog.records if "nobody" in each.message] == [told])


def test_an_isolated_tenant_is_not_delayed_by_a_black_hole(bench_of: Callable[..., Bench]) -> None:
    """ISO-2: with one tenant's cluster gone and its partitions full, the other's records pass and are committed."""
    bench = bench_of("isolated")
    bench.clusters["a"].answer(None)
    bench.produce(A, 300)
    bench.produce(A1, 300)
    bench.own(A, A1, B)
    assert bench.consumer is not None
    consumer = bench.consumer
    eventually(lambda: consumer.paused == {A, A1})
    bench.produce(B, 300)
    bench.commits(B, 300)
    bench.clusters["a"].answer()
    bench.commits(A, 300)
    bench.commits(A1, 300)
    eventually(lambda: not consumer.paused)


def test_the_sick_stop_at_their_part_of_the_budget(bench_of: Callable[..., Bench]) -> None:
    """MEM-6, MEM-7: of a tenant whose cluster is gone nothing is fetched beyond its part, whatever its partitions.

    The other tenant's records pass, and when the cluster is back everything is delivered.
    """
    bench = bench_of(memory={"budget": "32KiB"}, flush={"max_bytes": "16KiB"})
    bench.clusters["a"].answer(None)
    places = [TopicPartition(A.topic, number) for number in range(20)]
    for place in places:
        bench.produce(place, 40, items=10)
    bench.own(*places, B)
    assert bench.consumer is not None
    consumer = bench.consumer
    eventually(lambda: consumer.paused == set(places))
    fetched = [place for place in places if consumer.position(place)]
    assert len(fetched) < len(places) / 2
    bench.produce(B, 300)
    bench.commits(B, 300)
    bench.clusters["a"].answer()
    for place in places:
        bench.commits(place, 40)


@pytest.mark.parametrize("mode", ["shared_loop", "partition_workers"])
def test_a_baseline_is_delayed_by_a_black_hole(bench_of: Callable[..., Bench], mode: Mode) -> None:
    """The negative controls: in both baselines one tenant's cluster, when it is gone, stops the other's records."""
    bench = bench_of(mode)
    bench.clusters["a"].answer(None)
    places = [TopicPartition(A.topic, number) for number in range(10)]
    for place in places:
        bench.produce(place, 1)
    bench.own(B, *places)
    eventually(lambda: bench.clusters["a"].open == 4)
    bench.produce(B, 50)
    with pytest.raises(AssertionError, match="it did not happen in time"):
        eventually(lambda: bench.kafka.committed.get(B) == 50, timeout=0.5)
    bench.clusters["a"].answer()
    bench.commits(B, 50)


def test_a_worker_for_each_partition_isolates_while_partitions_are_few(bench_of: Callable[..., Bench]) -> None:
    """ISO-9: each partition has one flush under way, so fewer sick ones than sending workers leave room for others."""
    bench = bench_of("partition_workers", flush={"max_bytes": "1KiB"})
    bench.clusters["a"].answer(None)
    bench.produce(A, 300)
    bench.produce(A1, 300)
    bench.own(A, A1, B)
    eventually(lambda: bench.clusters["a"].open == 2)
    bench.produce(B, 300)
    bench.commits(B, 300)
    assert bench.clusters["a"].open == 2
    bench.clusters["a"].answer()
    bench.commits(A, 300)
    bench.commits(A1, 300)


@pytest.mark.parametrize(("policy", "committed"), [("dead_letter", 3), ("skip", 3), ("hold", 1)])
def test_an_undecodable_record_is_treated_as_configured(
    bench_of: Callable[..., Bench], caplog: pytest.LogCaptureFixture, policy: str, committed: int
) -> None:
    """POI-1: it becomes a dead letter, is skipped with a trace, or holds the commit; what follows is delivered."""
    bench = bench_of(dead_letter={"undecodable": policy})
    bench.produce(A, 1)
    bench.kafka.produce(*A, b"\xff\xff\xff")
    expected = bench.produce(A, 1)
    bench.own(A)
    eventually(lambda: expected[0] in bench.clusters["a"].accepted)
    bench.commits(A, committed)
    written = [(topic, partition, offset, sent) for topic, partition, offset, sent, _ in bench.dead_letters.written]
    assert written == ([(*A, 1, b"\xff\xff\xff")] if policy == "dead_letter" else [])
    (traced,) = [record.__dict__["fields"] for record in caplog.records if record.message == "undeliverable"]
    assert (traced["topic"], traced["partition"], traced["offset"], traced["policy"]) == (*A, 1, policy)


def test_a_dead_letter_is_confirmed_before_the_commit(bench_of: Callable[..., Bench]) -> None:
    """DEL-4, POI-3: while dead letters cannot be written their partition's commit waits, and no other's does."""
    bench = bench_of()
    bench.dead_letters.available = False

    def refuse_one(documents: Sequence[Document]) -> Reply:
        condemned = [document.id.endswith(":1:0") for document in documents]
        return reply(*[Outcome.CONDEMNED if bad else Outcome.ACCEPTED for bad in condemned])

    bench.clusters["a"].answer(refuse_one)
    bench.produce(A, 5)
    bench.own(A, B)
    eventually(lambda: bench.dead_letters.tried > 1)
    bench.produce(B, 5)
    bench.commits(B, 5)
    assert bench.kafka.committed[A] == 1
    bench.dead_letters.available = True
    bench.commits(A, 5)
    ((topic, partition, offset, _, reason),) = bench.dead_letters.written
    assert (topic, partition, offset, reason) == (*A, 1, "as scripted")
