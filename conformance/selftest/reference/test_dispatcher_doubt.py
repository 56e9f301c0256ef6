"""After a cut it is in doubt who is well: nobody is left behind meanwhile, and every time at which it ends is named."""

from __future__ import annotations

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from isolane.conformance.selftest.reference.test_dispatcher import (
    ACCEPTED,
    LIMITER,
    RETRYABLE,
    WORKERS,
    Bench,
    after_the_cut,
    cut,
    outnumbered,
)
from isolane.reference.config import Limiter
from isolane.reference.outcome import Outcome


def hiccup(busy: int) -> Bench:
    """A bench where silent attempts are cut, and from then on all clusters are well; so many tenants have a backlog."""
    bench = Bench()
    tenants = [f"t{number}" for number in range(busy)]
    bench.prove(*tenants)
    outnumbered(bench)
    for tenant in tenants:
        bench.submit(tenant, 50)
    bench.submit("new", 50)
    cut(bench)
    return bench


@pytest.mark.parametrize("busy", [WORKERS // 2, 3 * WORKERS])
def test_nobody_is_left_behind_while_it_is_in_doubt_who_is_well(busy: int) -> None:
    """ISO-4, ISO-10: those that have answered since are busy, and yet all others have their turns, new tenants too."""
    bench = hiccup(busy)
    silent = list(bench.open)
    served: list[str] = []
    began = bench.now
    while len(served) < 3 * (busy + WORKERS):
        served += bench.tenants(bench.decide())
        bench.settle(next(grant for grant in bench.open if grant not in silent), ACCEPTED, after=0.002)
    assert bench.now < began + LIMITER.slow_after, "it is still in doubt"
    assert {f"t{number}" for number in range(busy)} | {"new"} <= set(served)


def test_the_time_is_named_at_which_it_is_no_longer_in_doubt() -> None:
    """ISO-5: a tenant for which nobody is cut has the worker then that was kept, though nothing else happens."""
    bench = after_the_cut()
    until = bench.now + LIMITER.slow_after
    for lane in bench.lanes.values():
        bench.dispatcher.drop(lane)
    bench.submit("new")
    assert len(bench.open) == WORKERS - 1
    assert bench.tenants(bench.come()) == ["new"]
    assert until - 0.1 < bench.now <= until


class Outages(RuleBasedStateMachine):
    """Many tenants fall silent together, again and again, whatever the number of workers and of those at risk."""

    @initialize(workers=st.sampled_from([1, 2, 3, 7, 8, 9, 17]), data=st.data())
    def begin(self, workers: int, data: st.DataObject) -> None:
        """Begin with more tenants than workers, each of which has had something accepted."""
        most = max(1, workers // 2)
        limiter = {"ceiling": data.draw(st.sampled_from([1, most])), "probation_slots": data.draw(st.integers(1, most))}
        self.bench = Bench(Limiter.model_validate(limiter), workers)
        self.tenants = [f"t{number}" for number in range(2 * workers + 2)]
        self.bench.prove(*self.tenants)
        self.waiting = 0
        self.decide()

    def decide(self) -> None:
        """Decide, as the caller does after every change, and cut what is to be cut."""
        bench = self.bench
        while True:
            grants, self.again = bench.dispatcher.decide(bench.now)
            bench.open += grants
            self.waiting -= len(grants)
            assert self.again is None or self.again > bench.now
            found = bench.dispatcher.overstayed(bench.now)
            if not found:
                return
            for grant in found:
                bench.settle(grant, RETRYABLE, after=0.0)
                self.waiting += 1

    @rule(first=st.integers(0, 40), number=st.integers(1, 40))
    def submit(self, first: int, number: int) -> None:
        """Records come, of one tenant or of many."""
        for tenant in (self.tenants + self.tenants)[first % len(self.tenants) :][:number]:
            self.bench.submit(tenant)
            self.waiting += 1
            self.decide()

    @precondition(lambda self: self.bench.open)
    @rule(data=st.data(), outcome=st.sampled_from([ACCEPTED, ACCEPTED, RETRYABLE]), after=st.sampled_from([0.01, 0.3]))
    def settle(self, data: st.DataObject, outcome: Outcome, after: float) -> None:
        """An attempt ends, before the time that the last decision named."""
        if self.again is None or self.bench.now + after < self.again:
            self.bench.settle(data.draw(st.sampled_from(self.bench.open)), outcome, after)
            self.waiting += outcome is RETRYABLE
            self.decide()

    @precondition(lambda self: self.bench.open)
    @rule(data=st.data())
    def cancel(self, data: st.DataObject) -> None:
        """A worker finds the lane of its grant closed, and does not begin."""
        grant = data.draw(st.sampled_from(self.bench.open))
        self.bench.open.remove(grant)
        self.bench.dispatcher.cancel(grant)
        self.decide()

    @rule(data=st.data())
    def renew(self, data: st.DataObject) -> None:
        """A tenant is told another cluster."""
        self.bench.dispatcher.renew(data.draw(st.sampled_from(self.tenants)), self.bench.now)
        self.decide()

    @rule(share=st.sampled_from([0.3, 0.9, 1.0]))
    def wait(self, share: float) -> None:
        """Time passes; before the time that was named nothing can be granted, and nobody is to be cut."""
        bench = self.bench
        if share == 1.0:
            if self.again is not None:
                bench.now = self.again
                self.decide()
            return
        bench.now += 10.0 if self.again is None else share * (self.again - bench.now)
        grants, again = bench.dispatcher.decide(bench.now)
        assert not grants
        assert again in {None, self.again}, "less may be waited for than was named before, and nothing else"
        assert not bench.dispatcher.overstayed(bench.now)

    @rule(times=st.integers(2, 6))
    def fall_silent(self, times: int) -> None:
        """All have work, and nothing is answered while the times come that decisions name."""
        self.submit(0, len(self.tenants))
        for _ in range(times):
            self.wait(1.0)

    @invariant()
    def is_never_stuck(self) -> None:
        """While something waits, an attempt is open or there is a time to ask again."""
        assert not self.waiting or self.bench.open or self.again is not None

    def teardown(self) -> None:
        """With all clusters well, everything that waits is delivered."""
        for _ in range(10_000):
            if self.bench.open:
                self.bench.settle(self.bench.open[0], ACCEPTED)
            elif self.again is not None:
                self.bench.now = self.again
            else:
                break
            self.decide()
        assert not self.waiting
        assert not self.bench.open


TestOutages = Outages.TestCase
TestOutages.settings = settings(max_examples=60, stateful_step_count=30, deadline=None)
