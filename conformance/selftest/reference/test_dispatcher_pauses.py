"""How long a dispatcher leaves a cluster alone that refuses, what that holds back, and when it ends."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from isolane.conformance.selftest.reference.fakes import ids, reply
from isolane.conformance.selftest.reference.test_dispatcher import ACCEPTED, RETRYABLE, Bench

if TYPE_CHECKING:
    from collections.abc import Callable


def proven(cap: int = 2) -> Bench:
    """A bench with a tenant whose cluster has accepted until it may have so many slots."""
    bench = Bench()
    bench.prove("a", cap=cap)
    return bench


@pytest.mark.parametrize("made", [Bench, proven])
def test_one_refusal_holds_nothing_else_back(made: Callable[[], Bench]) -> None:
    """DEL-7: only what was refused waits, until somebody knows more."""
    bench = made()
    bench.submit("a")
    bench.settle(bench.decide()[0], RETRYABLE)
    fresh = bench.submit("a")
    (grant,) = bench.decide()
    assert ids(grant.flush) == fresh


@pytest.mark.parametrize("made", [Bench, proven])
def test_a_second_refusal_in_a_row_holds_everything_back(made: Callable[[], Bench]) -> None:
    """ISO-10: also when its attempt began in the moment in which the first was told."""
    bench = made()
    for _ in range(2):
        bench.submit("a")
        bench.settle(bench.decide()[0], RETRYABLE)
    held_until = bench.now + 0.2
    bench.submit("a")
    assert not bench.decide()
    bench.come()
    assert bench.now == held_until


def test_all_items_refused_are_a_refusal() -> None:
    """ISO-3: a cluster that says 200, and pushes every item back, is left alone like one that says 429."""
    bench = proven()
    for _ in range(2):
        bench.submit("a")
        (grant,) = bench.decide()
        bench.dispatcher.settle(grant, reply(RETRYABLE), bench.now)
    bench.submit("a")
    assert not bench.decide()


def test_refusals_of_attempts_that_were_open_together_are_one() -> None:
    """Otherwise a single bad moment of a busy tenant would pass for an outage."""
    bench = proven(cap=4)
    bench.submit("a", 4)
    for grant in bench.decide():
        bench.settle(grant, RETRYABLE)
    bench.submit("a")
    assert len(bench.decide()) == 1


def test_one_refusal_is_nothing_to_recover_from() -> None:
    """DEL-7: what was refused waits for its delay, while others are accepted."""
    bench = proven()
    bench.submit("a", 2)
    first, second = bench.decide()
    bench.settle(first, RETRYABLE, after=0.0)
    due = bench.now + 0.2
    bench.settle(second, ACCEPTED)
    assert bench.dispatcher.decide(bench.now) == ([], due)


def test_what_waited_for_a_recovery_does_not_wait_for_its_delay() -> None:
    """ISO-7: as soon as anything is accepted, what was refused is sent again."""
    bench = Bench()
    refused = bench.submit("a")
    for _ in range(2):
        bench.settle(bench.come()[0], RETRYABLE)
    fresh = bench.submit("a")
    (probe,) = bench.come()
    assert ids(probe.flush) == fresh
    bench.settle(probe, ACCEPTED)
    (grant,) = bench.decide()
    assert ids(grant.flush) == refused


def test_a_recovery_does_not_hasten_what_was_to_come_at_a_time() -> None:
    """DEL-7: `Retry-After` is honoured, though another attempt is accepted meanwhile."""
    bench = proven(cap=4)
    sent = bench.submit("a", 2)
    first, last = bench.decide()
    bench.settle(first, RETRYABLE)
    bench.submit("a")
    (asked,) = bench.decide()
    bench.settle(asked, RETRYABLE, retry_after=7.0)
    due = bench.now + 7.0
    bench.settle(last, ACCEPTED)
    (grant,) = bench.decide()
    assert ids(grant.flush) == sent[:1]
    bench.settle(grant, ACCEPTED)
    assert bench.dispatcher.decide(bench.now) == ([], due)
