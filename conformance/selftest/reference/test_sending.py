"""The lines of work before the sending workers: isolated, and the shared baseline."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

import pytest

from isolane.conformance.selftest.reference.fakes import (
    FakeCluster,
    FakeLane,
    config,
    eventually,
    ids,
    piece,
    pieces,
    reply,
)
from isolane.reference.limiter import Dispatcher
from isolane.reference.outcome import Outcome, Reply
from isolane.reference.sending import Afterwards, IsolatedLine
from isolane.reference.shared import SharedLine

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from isolane.reference.flush import Lane, Piece
    from isolane.reference.otlp import Document
    from isolane.reference.runtime import Runtime
    from isolane.reference.sending import Line

TENANTS = "abcd"


class Bench:
    """A line, its workers, and a cluster for each tenant."""

    def __init__(self, runtime: Runtime, kind: type[IsolatedLine | SharedLine], **settings: object) -> None:
        """Start the workers."""
        self.clusters = {tenant: FakeCluster() for tenant in TENANTS}
        self.condemned: list[tuple[Lane, Piece, str]] = []
        afterwards = Afterwards(runtime, lambda *rejected: self.condemned.append(rejected))
        sending = {"num_consumers": 4, "queue_size": 2}
        limiter = {"ceiling": 2, "slow_after": "200ms", "probation_slots": 2}
        settings = {"sending_queue": sending, "limiter": limiter, **settings}
        self.line: Line = kind(config(TENANTS, **settings), runtime, self.clusters, afterwards)
        self.threads = [runtime.spawn(f"sender {number}", self.line.work) for number in range(self.line.threads)]

    def close(self) -> None:
        """End the workers."""
        for cluster in self.clusters.values():
            cluster.answer(lambda documents: Reply.whole(Outcome.RETRYABLE, len(documents), "over"))
        self.line.close()
        for thread in self.threads:
            thread.join(10)
            assert not thread.is_alive(), "a worker ends when its attempt has"


@pytest.fixture
def bench_of(runtime: Runtime) -> Iterator[Callable[..., Bench]]:
    """Makes benches, whose workers end with the test."""
    made: list[Bench] = []

    def make(kind: type[IsolatedLine | SharedLine], **settings: object) -> Bench:
        made.append(Bench(runtime, kind, **settings))
        return made[-1]

    yield make
    for bench in made:
        bench.close()


@pytest.fixture(params=[IsolatedLine, SharedLine])
def bench(bench_of: Callable[..., Bench], request: pytest.FixtureRequest) -> Bench:
    """A bench with either line."""
    return bench_of(request.param)


def refuse_first(outcome: Outcome) -> Callable[[Sequence[Document]], Reply]:
    """Return how to refuse the first attempt of each document, and accept the second."""
    seen: set[str] = set()

    def answer(documents: Sequence[Document]) -> Reply:
        items = [Outcome.ACCEPTED if document.id in seen else outcome for document in documents]
        seen.update(document.id for document in documents)
        return reply(*items)

    return answer


def submitting(line: Line, lane: FakeLane, own: Sequence[Piece]) -> threading.Thread:
    """Submit pieces one by one in a thread of its own, for it may block."""

    def submit() -> None:
        for each in own:
            line.submit(lane, [each])

    thread = threading.Thread(target=submit)
    thread.start()
    return thread


def test_work_reaches_its_own_tenants_cluster(bench: Bench) -> None:
    """TEN-2: each tenant's documents come to its own cluster, and their lanes learn of it."""
    lanes = {tenant: FakeLane(tenant) for tenant in TENANTS}
    own = {tenant: pieces(3, documents=2) for tenant in TENANTS}
    for tenant, lane in lanes.items():
        bench.line.submit(lane, own[tenant])
    for tenant, lane in lanes.items():
        lane.await_back(3)
        assert not lane.abandoned
        assert sorted(bench.clusters[tenant].accepted) == sorted(ids(own[tenant]))


class HandedOn(FakeLane):
    """A lane that is closed, and whose tenant then gets another cluster, just as a worker has found it open."""

    def __init__(self, change: Callable[[], None]) -> None:
        """Take how the tenant gets its other cluster."""
        self._change = change
        self._closed = False
        super().__init__("a")

    @property
    def closed(self) -> bool:
        """See `Lane`."""
        if not (found := self._closed) and threading.current_thread().name.startswith("sender"):
            self._closed = True
            self._change()
        return found

    @closed.setter
    def closed(self, closed: bool) -> None:
        self._closed = closed


def test_who_is_closed_as_an_attempt_begins_is_not_sent_to_a_cluster_that_came_then(bench: Bench) -> None:
    """TEN-2: that cluster may be no more its records' own; the one that it had was."""
    new, own = FakeCluster(), [piece()]
    lane = HandedOn(lambda: bench.line.connect("a", new))
    bench.line.submit(lane, own)
    lane.await_back(1)
    assert new.attempts == []
    assert bench.clusters["a"].accepted == ids(own)


@pytest.mark.parametrize("outcome", [Outcome.RETRYABLE, Outcome.ENVIRONMENT, Outcome.CONDEMNED])
def test_who_is_refused_everything_has_half_of_the_budget(bench_of: Callable[..., Bench], outcome: Outcome) -> None:
    """MEM-6: the part of the healthy is theirs, whatever a cluster's reason is to accept nothing any more."""
    bench = bench_of(IsolatedLine, memory={"budget": "8MiB"})
    lane, half = FakeLane("a"), 4 * 1024**2
    bench.line.hold("a", 1)
    bench.line.submit(lane, pieces(1))
    lane.await_back(1)
    assert bench.line.rooms() == {"a": 2 * half - 1}
    bench.clusters["a"].answer(lambda documents: Reply.whole(outcome, len(documents), "as scripted"))
    bench.line.submit(lane, pieces(1))
    eventually(lambda: bench.line.rooms() == {"a": half - 1})
    bench.clusters["a"].answer()
    lane.await_back(2)
    assert bench.line.rooms() == {"a": 2 * half - 1}


@pytest.mark.parametrize("outcome", [Outcome.RETRYABLE, Outcome.ENVIRONMENT, Outcome.CONDEMNED])
def test_what_is_refused_is_sent_again_until_it_is_accepted(bench: Bench, outcome: Outcome) -> None:
    """DEL-2, DEL-5: nothing is dropped for being refused, nor condemned while its cluster accepts nothing."""
    bench.clusters["a"].answer(refuse_first(outcome))
    lane, own = FakeLane("a"), pieces(3)
    bench.line.submit(lane, own)
    lane.await_back(3)
    assert not lane.abandoned
    assert sorted(bench.clusters["a"].accepted) == sorted(ids(own))
    assert not bench.condemned


def test_a_refused_request_is_split_until_the_culprit_stands_alone(bench: Bench) -> None:
    """DEL-4: of a request refused as a whole everything is delivered but the culprit, which is condemned."""
    own = pieces(8)
    culprit = ids(own)[5]

    def refuse(documents: Sequence[Document]) -> Reply:
        if culprit in [document.id for document in documents]:
            alone = Outcome.CONDEMNED if len(documents) == 1 else Outcome.TOO_LARGE
            return Reply.whole(alone, len(documents), "too large")
        return reply(*[Outcome.ACCEPTED] * len(documents))

    bench.clusters["a"].answer(refuse)
    lane = FakeLane("a")
    bench.line.submit(lane, own)
    eventually(lambda: len(lane.resolved) == 7 and bench.condemned)
    assert sorted(bench.clusters["a"].accepted) == sorted(set(ids(own)) - {culprit})
    assert [(ids([part]), reason) for _, part, reason in bench.condemned] == [([culprit], "too large")]


def test_a_closed_lane_gets_back_what_was_not_sent(bench: Bench) -> None:
    """REB-4: what waits for a lost partition is never sent, and all it held comes back once attempts have ended."""
    bench.clusters["a"].answer(None)
    lane = FakeLane("a")
    own = pieces(6, size=10)
    filler = submitting(bench.line, lane, own)
    eventually(lambda: bench.clusters["a"].open)
    lane.closed = True
    bench.line.drop(lane)
    filler.join(10)
    assert not filler.is_alive(), "whoever waited to submit goes on"
    bench.clusters["a"].answer()
    lane.await_back(6)
    assert sorted(bench.clusters["a"].accepted) == sorted(ids(lane.resolved))
    bench.line.submit(lane, late := pieces(1))
    assert lane.abandoned[-1] is late[0]


def test_an_isolated_tenant_waits_for_itself_only(bench_of: Callable[..., Bench]) -> None:
    """ISO-2: a black hole takes its own slots, and the others' work goes on at once."""
    bench = bench_of(IsolatedLine)
    bench.clusters["a"].answer(None)
    sick, well = FakeLane("a"), FakeLane("b")
    bench.line.submit(sick, pieces(50, size=4 * 1024**2))
    eventually(lambda: bench.clusters["a"].open)
    for round_ in range(1, 20):
        bench.line.submit(well, pieces(1))
        well.await_back(round_)
    assert not sick.resolved


def test_the_silent_give_way_when_they_outnumber_the_workers(bench_of: Callable[..., Bench]) -> None:
    """ISO-5: three tenants that were well take all workers at the moment they fall silent; the fourth goes on."""
    bench = bench_of(IsolatedLine)
    silent, well = {tenant: FakeLane(tenant) for tenant in "abc"}, FakeLane("d")
    for lane in (*silent.values(), well):
        for proofs in range(1, 10):
            bench.line.submit(lane, pieces(2, size=4 * 1024**2))
            lane.await_back(2 * proofs)
    for tenant, lane in silent.items():
        bench.clusters[tenant].answer(None)
        bench.line.submit(lane, pieces(2, size=4 * 1024**2))
    eventually(lambda: sum(bench.clusters[tenant].open for tenant in silent) == 4)
    bench.line.submit(well, pieces(1))
    well.await_back(19)
    assert sum(bench.clusters[tenant].open for tenant in silent) > 0


def test_the_shared_queue_blocks_whoever_fills_it(bench_of: Callable[..., Bench]) -> None:
    """The baseline: when one tenant's black hole has all workers and the queue is full, the others' work waits."""
    bench = bench_of(SharedLine)
    bench.clusters["a"].answer(None)
    sick, well = FakeLane("a"), FakeLane("b")
    for _ in range(6):
        bench.line.submit(sick, pieces(1))
    eventually(lambda: bench.clusters["a"].open == 4)
    blocked = submitting(bench.line, well, pieces(1))
    blocked.join(0.2)
    assert blocked.is_alive()
    bench.clusters["a"].answer()
    well.await_back(1)
    blocked.join(10)
    assert not blocked.is_alive()


def test_the_budget_is_for_who_holds_and_who_is_proven(bench_of: Callable[..., Bench]) -> None:
    """MEM-6: a tenant that was never accepted from has half of the budget, and all of it once it was."""
    bench = bench_of(IsolatedLine, memory={"budget": "100B"}, flush={"max_bytes": "40B"})
    bench.line.hold("a", 30)
    assert bench.line.rooms() == {"a": 20}
    lane = FakeLane("a")
    bench.line.submit(lane, pieces(1))
    lane.await_back(1)
    assert bench.line.rooms() == {"a": 70}
    bench.line.hold("a", -30)
    assert bench.line.rooms() == {}


def test_whoever_fetches_waits_for_no_decision_to_count_what_it_brought(
    bench_of: Callable[..., Bench], monkeypatch: pytest.MonkeyPatch
) -> None:
    """ISO-7: in a drain decisions are made all the time; with one to wait for at each partition the others starve."""
    bench, decide = bench_of(IsolatedLine), Dispatcher.decide
    deciding, go_on = threading.Event(), threading.Event()

    def slowly(dispatcher: Dispatcher, now: float) -> object:
        deciding.set()
        assert go_on.wait(10), "the decision is let go on"
        return decide(dispatcher, now)

    monkeypatch.setattr(Dispatcher, "decide", slowly)
    submitting(bench.line, FakeLane("a"), pieces(1))
    assert deciding.wait(10), "a decision is being made"
    fetching = threading.Thread(target=bench.line.hold, args=("b", 30))
    fetching.start()
    fetching.join(2)
    waits = fetching.is_alive()
    go_on.set()
    assert not waits
    eventually(lambda: bench.line.rooms()["b"] > 0)


def test_a_first_attempt_is_worth_waiting_for(bench_of: Callable[..., Bench]) -> None:
    """REB-7: nothing bad is known of a cluster that has not answered yet; what is refused is waited for no more."""
    bench = bench_of(IsolatedLine, limiter={"ceiling": 2, "slow_after": "10s", "probation_slots": 2})
    lane, cluster = FakeLane("a"), bench.clusters["a"]
    cluster.answer(None)
    bench.line.submit(lane, [piece()])
    eventually(lambda: cluster.open)
    assert bench.line.under_way(lane)
    cluster.answer(lambda documents: Reply.whole(Outcome.RETRYABLE, len(documents), "busy"))
    eventually(lambda: len(cluster.attempts) > 1)
    cluster.answer(None)
    eventually(lambda: cluster.open)
    assert not bench.line.under_way(lane)


def test_an_attempt_that_is_slow_is_not_worth_waiting_for(bench_of: Callable[..., Bench]) -> None:
    """REB-5: it is, until it has taken what counts as slow; then nobody knows whether it ends."""
    bench = bench_of(IsolatedLine, limiter={"ceiling": 2, "slow_after": "500ms", "probation_slots": 2})
    lane, cluster = FakeLane("a"), bench.clusters["a"]
    bench.line.submit(lane, [piece()])
    lane.await_back(1)
    cluster.answer(None)
    bench.line.submit(lane, [piece()])
    eventually(lambda: cluster.open)
    assert bench.line.under_way(lane)
    eventually(lambda: not bench.line.under_way(lane))
    assert cluster.open


def test_a_slot_granted_to_a_lane_that_closes_is_given_back(bench_of: Callable[..., Bench]) -> None:
    """LIM-8: grants for lost partitions leak no slot: the tenant's next ownership finds them all."""
    bench = bench_of(IsolatedLine)
    for _ in range(30):
        lane = FakeLane("a")
        bench.line.submit(lane, pieces(4))
        lane.closed = True
        bench.line.drop(lane)
        lane.await_back(4)
    lane = FakeLane("a")
    bench.line.submit(lane, [piece()])
    lane.await_back(1)
    assert not bench.line.under_way(lane)
