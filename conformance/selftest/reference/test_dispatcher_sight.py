"""What a dispatcher says of attempts that are open, and where exactly slowness begins."""

from __future__ import annotations

import pytest

from isolane.conformance.selftest.reference.test_dispatcher import ACCEPTED, LIMITER, RETRYABLE, Bench

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
