"""What a dispatcher says of attempts that are open, and where exactly slowness begins."""

from __future__ import annotations

import pytest

from isolane.conformance.selftest.reference.fakes import answer, pieces, reply
from isolane.conformance.selftest.reference.test_dispatcher import (
    ACCEPTED,
    LIMITER,
    RETRYABLE,
    TIMEOUT,
    WORKERS,
    Bench,
    outnumbered,
)
from isolane.reference.outcome import Outcome

SLOW_AFTER = LIMITER.slow_after


def proven(*tenants: str) -> Bench:
    """A bench with tenants that have succeeded, at a second that floating point numbers hold exactly."""
    bench = Bench()
    bench.prove(*tenants, cap=2)
    bench.now = 256.0
    return bench


def test_attempts_under_way_are_those_of_the_lane() -> None:
    """And of no other's; none when they are settled."""
    bench = proven("a", "b")
    bench.submit("a")
    bench.submit("b")
    of = {grant.flush.lane.tenant: grant for grant in bench.decide()}
    assert bench.dispatcher.under_way(bench.lane("a")) == [of["a"]]
    assert bench.dispatcher.under_way(bench.lane("b")) == [of["b"]]
    bench.settle(of["a"], ACCEPTED)
    assert bench.dispatcher.under_way(bench.lane("a")) == []


def test_there_is_hope_while_a_cluster_that_is_well_has_something_open() -> None:
    """REB-7: with nothing open there is nothing to hope for."""
    bench = proven("a")
    assert not bench.dispatcher.hopeful(bench.lane("a"), bench.now)
    bench.submit("a")
    bench.decide()
    assert bench.dispatcher.hopeful(bench.lane("a"), bench.now)


def test_there_is_hope_of_a_cluster_that_is_new() -> None:
    """REB-7: nothing bad is known of it."""
    bench = Bench()
    bench.submit("a")
    bench.decide()
    assert bench.dispatcher.hopeful(bench.lane("a"), bench.now)


def test_there_is_no_hope_of_a_cluster_that_failed_last() -> None:
    """Whatever else it has open."""
    bench = proven("a")
    bench.submit("a", 2)
    first, _ = bench.decide()
    bench.settle(first, RETRYABLE)
    assert bench.dispatcher.under_way(bench.lane("a"))
    assert not bench.dispatcher.hopeful(bench.lane("a"), bench.now)


def test_slowness_begins_after_its_bound() -> None:
    """LIM-3: an attempt as old as that is no bad sign, open or answered; one that is older is."""
    for age, slow in ((SLOW_AFTER, False), (SLOW_AFTER + 0.25, True)):
        bench = proven("a")
        bench.submit("a", 2)
        first, _ = bench.decide()
        cap = bench.dispatcher.cap("a")
        assert bench.dispatcher.hopeful(bench.lane("a"), bench.now + age) is not slow
        bench.settle(first, ACCEPTED, after=age)
        assert (bench.dispatcher.cap("a") < cap) is slow


def test_one_slow_attempt_is_enough() -> None:
    """ISO-5, REB-7: while it is open its tenant is at risk, and there is nothing to hope for."""
    bench = proven("a")
    bench.submit("a")
    bench.decide()
    bench.now += SLOW_AFTER + 0.25
    assert not bench.dispatcher.hopeful(bench.lane("a"), bench.now)
    assert bench.dispatcher.at_risk("a")


def test_a_deadline_suffices_up_to_where_slowness_begins() -> None:
    """Probes keep to `slow_after` after an answer as late as that; a later one gives them twice what it took."""
    for took, deadline in ((SLOW_AFTER, SLOW_AFTER), (5.0, 10.0), (TIMEOUT, TIMEOUT)):
        bench = proven("a")
        for outcome, after in ((ACCEPTED, took), (RETRYABLE, 0.0)):
            bench.submit("a")
            bench.settle(bench.come()[0], outcome, after)
        assert bench.come()[0].timeout == deadline


def test_a_cluster_that_refuses_some_items_is_not_at_risk() -> None:
    """LIM-3: its cap takes them into account, and what it accepts is what counts for its health."""
    bench = proven("a")
    for said in (reply(RETRYABLE), reply(ACCEPTED, RETRYABLE)):
        bench.dispatcher.submit(bench.lane("a"), pieces(len(said.items)), bench.now)
        (grant,) = bench.decide()
        bench.dispatcher.settle(grant, said, bench.now)
    assert not bench.dispatcher.at_risk("a")


@pytest.mark.parametrize("outcome", [Outcome.ENVIRONMENT, Outcome.CONDEMNED])
@pytest.mark.parametrize("whole", [True, False])
def test_who_is_refused_everything_is_fruitless_and_keeps_its_cap(outcome: Outcome, *, whole: bool) -> None:
    """MEM-6, LIM-3: item by item or as a whole; it says nothing of the load, and ends with a success."""
    bench = proven("a")
    cap = bench.dispatcher.cap("a")
    assert not bench.dispatcher.fruitless("a")
    bench.submit("a")
    (grant,) = bench.decide()
    bench.now += 0.1
    bench.dispatcher.settle(grant, answer(outcome, grant.flush) if whole else reply(outcome), bench.now)
    assert bench.dispatcher.fruitless("a")
    assert not bench.dispatcher.at_risk("a")
    assert bench.dispatcher.cap("a") == cap
    bench.open.clear()
    bench.settle(bench.come()[0], ACCEPTED)
    assert not bench.dispatcher.fruitless("a")


def test_who_has_nothing_left_is_not_fruitless() -> None:
    """MEM-6: what is condemned while its cluster accepts others is done with."""
    bench = proven("a")
    bench.submit("a", 2)
    doomed, sound = bench.decide()
    bench.settle(sound, ACCEPTED)
    bench.settle(doomed, Outcome.CONDEMNED)
    assert not bench.dispatcher.fruitless("a")


def test_slowness_ends_with_the_slow_attempts() -> None:
    """ISO-7: a tenant whose next attempt is quick is at risk no longer, however often the slow ones were looked at."""
    bench = proven("a")
    bench.submit("a", 2)
    bench.decide()
    for _ in range(3):
        bench.now += SLOW_AFTER
        bench.decide()
    for grant in list(bench.open):
        bench.settle(grant, ACCEPTED)
    assert bench.dispatcher.at_risk("a")
    bench.submit("a")
    bench.settle(bench.decide()[0], ACCEPTED)
    assert not bench.dispatcher.at_risk("a")


def lived(*took: float) -> Bench:
    """A bench where each of many tenants had attempts that took so long, one after the other."""
    bench = Bench()
    for seconds in took:
        for tenant in ("h", *(f"s{number}" for number in range(WORKERS))):
            bench.submit(tenant)
            bench.settle(bench.decide()[0], ACCEPTED, seconds)
    return bench


@pytest.mark.parametrize(
    ("took", "suspect"),
    [([1.0], SLOW_AFTER), ([*[1.0] * 5, *[0.01] * 60], 0.25), ([*[1.0] * 5, *[0.1] * 60], 0.8)],
    ids=["slow", "quick lately", "neither"],
)
def test_attempts_are_suspect_by_what_was_usual_lately(took: list[float], suspect: float) -> None:
    """ISO-5: eight times what they took, but a quarter of a second at least, and `slow_after` at most."""
    bench = lived(*took)
    outnumbered(bench)
    bench.now += suspect - 0.05
    assert not bench.dispatcher.overstayed(bench.now)
    bench.now += 0.1
    assert bench.dispatcher.overstayed(bench.now)


def test_an_attempt_is_suspect_by_what_is_usual_for_its_cluster() -> None:
    """A cluster that takes its time is given it, though all others are quick."""
    bench = Bench()
    bench.submit("late")
    bench.settle(bench.decide()[0], ACCEPTED, after=1.0)
    for tenant in [*(f"s{number}" for number in range(WORKERS - 1)), "h"] * 10:
        bench.submit(tenant)
        bench.settle(bench.decide()[0], ACCEPTED)
    for tenant in ("late", *(f"s{number}" for number in range(WORKERS - 1)), "h"):
        bench.submit(tenant)
    assert len(bench.decide()) == WORKERS
    bench.now += 0.5
    assert not bench.dispatcher.overstayed(bench.now)
    bench.now += 0.5
    assert bench.dispatcher.overstayed(bench.now)


def test_one_late_answer_does_not_make_what_is_usual() -> None:
    """ISO-5: others wait little longer for silent attempts than before it."""
    bench = lived(*[0.01] * 20)
    bench.submit("h")
    bench.settle(bench.decide()[0], ACCEPTED, after=1.0)
    outnumbered(bench)
    bench.now += 1.0
    assert bench.dispatcher.overstayed(bench.now)


def test_an_overrun_counts_from_the_deadline() -> None:
    """Of the attempt that has outlasted its own for longest; there is none with nothing open."""
    bench = proven("a", "b")
    assert bench.dispatcher.overrun(bench.now) == 0
    bench.submit("a")
    (first,) = bench.decide()
    bench.now += 1
    bench.submit("b")
    bench.decide()
    assert bench.dispatcher.overrun(first.began + first.timeout + 3) == pytest.approx(3)
