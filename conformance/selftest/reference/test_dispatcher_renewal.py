"""A dispatcher that is told that a tenant's cluster is another one from now on (OPS-4)."""

from __future__ import annotations

import pytest

from isolane.conformance.selftest.reference.fakes import ids, pieces, reply
from isolane.conformance.selftest.reference.test_dispatcher import ACCEPTED, LIMITER, RETRYABLE, Bench
from isolane.reference.limiter import TenantState
from isolane.reference.outcome import Outcome


def test_what_was_learnt_of_the_former_cluster_is_forgotten() -> None:
    """The cap begins at the floor again; work and slots stay what they are."""
    bench = Bench()
    bench.prove("a", cap=4)
    bench.submit("a", 6)
    for grant in bench.decide()[:2]:
        bench.settle(grant, ACCEPTED)
    bench.dispatcher.renew("a", bench.now)
    assert bench.dispatcher.state("a") == TenantState(LIMITER.floor, slots=2, waiting=2, at_risk=True)


def test_what_waits_for_the_former_cluster_is_sent_to_the_new_one_at_once() -> None:
    """However long it had been left alone for."""
    bench = Bench()
    sent = bench.submit("a", 3)
    for _ in range(5):
        bench.settle(bench.come()[0], Outcome.ENVIRONMENT)
    assert not bench.decide()
    bench.dispatcher.renew("a", bench.now)
    (grant,) = bench.decide()
    assert ids(grant.flush) == sent[:1]


def test_what_the_former_cluster_asked_to_come_later_with_is_sent_to_the_new_one_at_once() -> None:
    """DEL-7: its `Retry-After`, a day at most, is honoured by nobody else."""
    bench = Bench()
    sent = bench.submit("a")
    bench.settle(bench.decide()[0], RETRYABLE, retry_after=3600.0)
    assert not bench.decide()
    bench.dispatcher.renew("a", bench.now)
    (grant,) = bench.decide()
    assert ids(grant.flush) == sent


def test_items_that_the_former_cluster_refused_are_sent_to_the_new_one_at_once() -> None:
    """However often it had refused them beside others that it accepted."""
    bench = Bench()
    own = pieces(2, size=1)
    bench.dispatcher.submit(bench.lane("a"), own, bench.now)
    (grant,) = bench.decide()
    bench.dispatcher.settle(grant, reply(ACCEPTED, Outcome.ENVIRONMENT), bench.now)
    assert not bench.decide()
    bench.dispatcher.renew("a", bench.now)
    (grant,) = bench.decide()
    assert ids(grant.flush) == ids(own[1:])


@pytest.mark.parametrize(("outcome", "retry_after"), [(ACCEPTED, None), (RETRYABLE, None), (RETRYABLE, 3600.0)])
def test_what_the_former_cluster_says_is_no_news_of_the_new_one(outcome: Outcome, retry_after: float | None) -> None:
    """The new one is still to be tried, and what the former one refuses does not wait for it."""
    bench = Bench()
    sent = bench.submit("a", 2)
    (grant,) = bench.decide()
    bench.now += 1
    bench.dispatcher.renew("a", bench.now)
    bench.settle(grant, outcome, retry_after=retry_after)
    assert bench.dispatcher.at_risk("a")
    (grant,) = bench.decide()
    assert ids(grant.flush) == [sent[outcome is ACCEPTED]]


def test_what_the_new_cluster_refused_waits_whatever_the_former_one_says() -> None:
    """DEL-7: its backoff is its own."""
    bench = Bench(LIMITER.model_copy(update={"floor": 2}))
    sent = bench.submit("a", 2)
    one, other = bench.decide()
    bench.now += 1
    bench.dispatcher.renew("a", bench.now)
    bench.settle(one, RETRYABLE)
    bench.settle(bench.decide()[0], RETRYABLE)
    bench.settle(other, RETRYABLE)
    (grant,) = bench.decide()
    assert ids(grant.flush) == sent[1:]


def test_an_attempt_begun_when_the_cluster_is_renewed_goes_to_the_new_one() -> None:
    """It is learnt from, and backs off when it is refused, though the clock shows the same time."""
    bench = Bench()
    bench.submit("a")
    bench.dispatcher.renew("a", bench.now)
    bench.settle(bench.decide()[0], RETRYABLE)
    assert not bench.decide()
    bench.dispatcher.renew("a", bench.now)
    bench.settle(bench.decide()[0], ACCEPTED)
    assert not bench.dispatcher.at_risk("a")


def test_a_tenant_that_had_no_work_yet_is_renewed() -> None:
    """Nothing is known of it, before and after."""
    bench = Bench()
    bench.dispatcher.renew("a", bench.now)
    sent = bench.submit("a")
    (grant,) = bench.decide()
    assert ids(grant.flush) == sent
