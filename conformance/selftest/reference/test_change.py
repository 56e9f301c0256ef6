"""Live change of tenants: added, removed, sent to another cluster, while the others go on."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import pytest

from isolane.conformance.selftest.reference.fakes import FakeCluster, config, eventually
from isolane.conformance.selftest.reference.program_bench import A, B
from isolane.reference.config import Config, ConfigError
from isolane.reference.config_rules import check_change
from isolane.reference.consumer import TopicPartition
from isolane.reference.outcome import Outcome, Reply

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from isolane.conformance.selftest.reference.program_bench import Bench
    from isolane.reference.otlp import Document
    from isolane.reference.sending import Cluster

C = TopicPartition("managed_otlp.logs.c", 0)


def refused(documents: Sequence[Document]) -> Reply:
    """Let nobody in."""
    return Reply.whole(Outcome.ENVIRONMENT, len(documents), "status 401")


def test_a_tenant_that_is_added_gets_its_first_record(bench: Bench) -> None:
    """OPS-4, TEN-4: what waited because nobody owned it is delivered from its first record on; others go on."""
    bench.produce(A, 20)
    waiting = bench.produce(C, 120)
    bench.own(A, C)
    assert bench.consumer is not None
    consumer = bench.consumer
    eventually(lambda: C in consumer.paused)
    bench.commits(A, 20)
    served = bench.program._receiver._partitions[A]
    bench.change("abc")
    bench.commits(C, 120)
    assert sorted(bench.clusters["c"].accepted) == sorted(waiting)
    bench.produce(A, 5)
    bench.commits(A, 25)
    assert bench.program._receiver._partitions[A] is served
    assert len(bench.clusters["a"].accepted) == 25


def test_a_tenant_that_is_removed_is_sent_nothing_more(bench: Bench) -> None:
    """OPS-4: its records wait, uncommitted, like those of a topic that nobody owns; when it is back none is missing."""
    bench.produce(A, 30)
    bench.own(A, B)
    bench.commits(A, 30)
    bench.clusters["a"].answer(None)
    waiting = bench.produce(A, 300)
    eventually(lambda: bench.clusters["a"].open)
    bench.change("b")
    eventually(lambda: bench.program.state().receiver.unowned == {A.topic: 1})
    eventually(lambda: not bench.clusters["a"].open)
    bench.clusters["a"].answer()
    bench.produce(B, 50)
    bench.commits(B, 50)
    assert len(bench.clusters["a"].accepted) == 30
    assert bench.kafka.committed[A] == 30
    bench.change("ab")
    bench.commits(A, 330)
    assert sorted(bench.clusters["a"].accepted[30:]) == sorted(waiting)


@pytest.mark.parametrize("how", ["by and by", "as it is revoked", "as the process stops", "though it came back"])
def test_what_was_finished_of_a_tenant_that_is_removed_is_committed(bench_of: Callable[..., Bench], how: str) -> None:
    """OPS-4, DEL-8: whoever owns the partition next begins behind it, and with what was not finished."""
    bench = bench_of(kafka={"autocommit": {"interval": "60s"}})
    receiver = bench.program._receiver
    bench.own(A, B)
    bench.produce(A, 10)
    eventually(lambda: A in receiver._partitions and receiver._partitions[A].committable(None) == 10)
    bench.clusters["a"].answer(None)
    bench.produce(A, 10)
    eventually(lambda: bench.clusters["a"].open)
    assert A not in bench.kafka.committed
    bench.change("b")
    eventually(lambda: A not in receiver._partitions)
    if how == "though it came back":
        bench.change("ab")
        eventually(lambda: A in receiver._partitions)
        bench.change("b")
        eventually(lambda: A not in receiver._partitions)
    if how == "as it is revoked":
        bench.own(B)
    elif how == "as the process stops":
        bench.stop()
    else:
        receiver._commit_at = 0.0
    bench.commits(A, 10)


def test_what_was_finished_and_is_lost_is_not_committed(bench_of: Callable[..., Bench]) -> None:
    """REB-3: nor is it later, when the partition is owned again and begins elsewhere."""
    bench = bench_of(kafka={"autocommit": {"interval": "60s"}})
    receiver = bench.program._receiver
    bench.own(A, B)
    bench.produce(A, 10)
    eventually(lambda: A in receiver._partitions and receiver._partitions[A].committable(None) == 10)
    bench.change("b")
    eventually(lambda: A not in receiver._partitions)
    bench.own(B, lost=True)
    eventually(lambda: A not in receiver._unowned)
    bench.produce(B, 5)
    eventually(lambda: receiver._partitions[B].committable(None) == 5)
    receiver._commit_at = 0.0
    bench.commits(B, 5)
    assert A not in bench.kafka.committed


def test_a_tenant_is_sent_to_another_cluster(bench_of: Callable[..., Bench]) -> None:
    """OPS-4: what waits for a cluster that is gone goes to the new one at once, however long it had failed before."""
    bench = bench_of(retry={"initial_interval": "10ms", "max_interval": "60s"})
    former = bench.clusters["a"]
    former.answer(refused)
    sent = bench.produce(A, 40)
    bench.own(A, B)
    eventually(lambda: len(former.attempts) > 9, timeout=60)
    bench.change("ab", renewed="a")
    bench.commits(A, 40)
    assert sorted(bench.clusters["a"].accepted) == sorted(sent)
    assert not former.accepted
    bench.produce(B, 5)
    bench.commits(B, 5)


def hold_up(bench: Bench) -> None:
    """Let a rebalance begin in which the poll loop waits for b's cluster, until that answers."""
    bench.clusters["b"].answer(None)
    bench.produce(B, 1)
    eventually(lambda: bench.clusters["b"].open)
    bench.own(A)
    eventually(lambda: bench.program._receiver._partitions[B].closed)


def test_a_tenant_is_sent_to_another_cluster_in_a_rebalance(bench_of: Callable[..., Bench]) -> None:
    """OPS-4: what it owns before and after waits for no poll loop."""
    bench = bench_of(grace=20.0, limiter={"ceiling": 2, "slow_after": "20s", "probation_slots": 2})
    bench.clusters["a"].answer(refused)
    sent = bench.produce(A, 20)
    bench.own(A, B)
    eventually(lambda: bench.program.state().line.tenants["a"].waiting == 20)
    hold_up(bench)
    bench.change("ab", renewed="a")
    eventually(lambda: sorted(bench.clusters["a"].accepted) == sorted(sent))
    bench.clusters["b"].answer()


def moved(bench: Bench) -> Config:
    """Return a configuration in which a has another cluster and another topic, and its own one is c's, as it is."""
    document = bench.config.model_dump(mode="json", exclude={"telemetry"})
    document["tenants"] = {
        tenant: {"topics": [place.topic], "elasticsearch": {"endpoints": [f"http://{cluster}.test:9200"]}}
        for tenant, place, cluster in (("a", C, "new"), ("b", B, "b"), ("c", A, "a"))
    }
    return Config.parse(document)


def test_a_topic_that_is_handed_on_never_meets_its_former_tenants_new_cluster(bench_of: Callable[..., Bench]) -> None:
    """TEN-2, DEL-1: though the poll loop is held up, and takes it over for the new tenant only later."""
    bench = bench_of(grace=20.0, limiter={"ceiling": 2, "slow_after": "20s", "probation_slots": 2})
    own, new = bench.clusters["a"], FakeCluster()
    own.answer(refused)
    sent = bench.produce(A, 40)
    bench.own(A, B)
    eventually(lambda: len(own.attempts) > 2)
    hold_up(bench)
    bench.program.change(moved(bench), {"a": new, "c": own})
    own.answer()
    bench.clusters["b"].answer()
    bench.commits(A, 40)
    assert new.attempts == []
    assert sorted(own.accepted) == sorted(sent)


def test_a_topic_that_is_taken_over_never_meets_its_new_tenants_former_cluster(bench_of: Callable[..., Bench]) -> None:
    """TEN-2: it is taken over when the new cluster is connected, however long that takes."""
    bench = bench_of()
    former, new = bench.clusters["a"], FakeCluster()
    sent = bench.produce(C, 10)
    bench.own(A, C)
    eventually(lambda: bench.program.state().receiver.unowned)
    connect = bench.program._line.connect

    def slowly(tenant: str, cluster: Cluster) -> None:
        time.sleep(0.1)
        connect(tenant, cluster)

    bench.program._line.connect = slowly  # type: ignore[method-assign]
    bench.program.change(moved(bench), {"a": new, "c": former})
    bench.commits(C, 10)
    assert former.attempts == []
    assert sorted(new.accepted) == sorted(sent)


def test_a_topic_that_comes_back_before_the_poll_loop_looks_goes_on(bench_of: Callable[..., Bench]) -> None:
    """OPS-4, DEL-1: two changes that come to nothing lose nothing."""
    bench = bench_of(grace=20.0, limiter={"ceiling": 2, "slow_after": "20s", "probation_slots": 2})
    own = bench.clusters["a"]
    own.answer(refused)
    sent = bench.produce(A, 40)
    bench.own(A, B)
    eventually(lambda: own.attempts)
    hold_up(bench)
    bench.program.change(moved(bench), {"a": FakeCluster(), "c": own})
    bench.program.change(bench.config, {"a": own})
    own.answer()
    bench.clusters["b"].answer()
    bench.commits(A, 40)
    assert sorted(own.accepted) == sorted(sent)


def test_an_index_that_changes_holds_for_what_is_not_accepted_yet(bench_of: Callable[..., Bench]) -> None:
    """OPS-4: documents that wait are written to the new index."""
    bench = bench_of()
    bench.clusters["a"].answer(None)
    bench.produce(A, 5)
    bench.own(A)
    eventually(lambda: bench.clusters["a"].open)
    served = bench.program._receiver._partitions[A]
    indices: list[str] = []

    def note(documents: Sequence[Document]) -> Reply:
        indices.extend(document.index for document in documents)
        return Reply(None, [Outcome.ACCEPTED] * len(documents))

    former = bench.config.tenants["a"]
    renamed = former.model_copy(update={"elasticsearch": former.elasticsearch.model_copy(update={"index": "other"})})
    bench.program.change(bench.config.model_copy(update={"tenants": {**bench.config.tenants, "a": renamed}}), {})
    eventually(lambda: bench.program._receiver._partitions[A] is not served)
    bench.clusters["a"].answer(note)
    bench.commits(A, 5)
    assert indices.count("other") >= 5  # beside what the cluster had of the attempt that was cut


def test_what_cannot_change_is_named() -> None:
    """OPS-4: a file that differs in more than its tenants is refused, with each field that does."""
    former = config("ab")
    later = config("bc", kafka={"group_id": "other"}, retry={"jitter": 0.5}, telemetry={"port": 0})
    with pytest.raises(ConfigError) as refused:
        check_change(former, later)
    assert str(refused.value).splitlines() == [
        "kafka.group_id: cannot change while the process runs; restart it",
        "retry.initial_interval: cannot change while the process runs; restart it",
        "retry.max_interval: cannot change while the process runs; restart it",
        "retry.jitter: cannot change while the process runs; restart it",
        "telemetry: cannot change while the process runs; restart it",
    ]
    check_change(former, config("bc"))
