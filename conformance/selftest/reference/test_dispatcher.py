"""All grants: who is sent for, when, and what is learnt from it."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise
from typing import TYPE_CHECKING

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from isolane.conformance.selftest.reference.fakes import FakeLane, answer, ids, pieces, reply
from isolane.reference.backoff import Backoff
from isolane.reference.config import Limiter, Retry
from isolane.reference.limiter import Dispatcher
from isolane.reference.outcome import Outcome

if TYPE_CHECKING:
    from isolane.reference.limiter import Grant

ACCEPTED, RETRYABLE, TOO_LARGE = Outcome.ACCEPTED, Outcome.RETRYABLE, Outcome.TOO_LARGE
RETRY = Retry.model_validate({"initial_interval": "200ms", "max_interval": "30s", "jitter": 0.0})
LIMITER = Limiter.model_validate({"floor": 1, "ceiling": 4, "slow_after": "2s", "probation_slots": 3})
WORKERS, FLUSH_BYTES, TIMEOUT = 8, 100, 30.0


def dispatcher(limiter: Limiter = LIMITER, workers: int = WORKERS) -> Dispatcher:
    """Return a dispatcher without jitter."""
    backoff = Backoff(RETRY, lambda: 0.0)
    return Dispatcher(limiter, backoff, workers=workers, flush_bytes=FLUSH_BYTES, timeout=TIMEOUT)


class Bench:
    """A dispatcher with a clock, and whoever does what it decides."""

    def __init__(self, limiter: Limiter = LIMITER, workers: int = WORKERS) -> None:
        """Begin at second 100."""
        self.dispatcher = dispatcher(limiter, workers)
        self.now = 100.0
        self.open: list[Grant] = []
        self.lanes: dict[str, FakeLane] = {}

    def lane(self, tenant: str) -> FakeLane:
        """Return the one lane of a tenant."""
        return self.lanes.setdefault(tenant, FakeLane(tenant))

    def submit(self, tenant: str, records: int = 1) -> list[str]:
        """Submit records of one document each, each as large as a flush may be; return their ids."""
        own = pieces(records, size=FLUSH_BYTES)
        self.dispatcher.submit(self.lane(tenant), own, self.now)
        return ids(own)

    def decide(self) -> list[Grant]:
        """Decide, and begin what was granted."""
        grants, _ = self.dispatcher.decide(self.now)
        self.open += grants
        return grants

    def come(self) -> list[Grant]:
        """Let the times come that decisions name, until something is granted; begin it."""
        while not (grants := self.decide()):
            _, again = self.dispatcher.decide(self.now)
            assert again is not None, "nothing would ever be granted"
            self.now = again
        return grants

    def settle(self, grant: Grant, outcome: Outcome, after: float = 0.01, retry_after: float | None = None) -> None:
        """End an attempt with the same outcome for all that was sent, so many seconds from now."""
        self.now += after
        self.dispatcher.settle(grant, answer(outcome, grant.flush, retry_after), self.now)
        self.open.remove(grant)

    def prove(self, *tenants: str, cap: int = 1) -> None:
        """Let tenants succeed until they have that cap; nothing of theirs waits or is open afterwards."""
        for tenant in tenants:
            while not self.open and (self.dispatcher.at_risk(tenant) or self.dispatcher.cap(tenant) < cap):
                self.submit(tenant, self.dispatcher.cap(tenant))
                for grant in self.decide():
                    self.settle(grant, ACCEPTED)

    def tenants(self, grants: list[Grant]) -> list[str]:
        """Return for whom grants are."""
        return [grant.flush.lane.tenant for grant in grants]


class Traffic(RuleBasedStateMachine):
    """Work of three tenants, all kinds of replies, lost lanes and time, in any sequence."""

    TENANTS = "abc"

    def __init__(self) -> None:
        """Begin with nothing."""
        super().__init__()
        self.dispatcher = dispatcher()
        self.now = 0.0
        self.lanes = {tenant: FakeLane(tenant) for tenant in self.TENANTS}
        self.open: list[Grant] = []
        self.waiting: set[str] = set()
        self.again: float | None = None

    def decide(self) -> None:
        """Decide, as the caller does after every change, and judge each grant."""
        grants, self.again = self.dispatcher.decide(self.now)
        for grant in grants:
            tenant = grant.flush.lane.tenant
            own = set(ids(grant.flush))
            assert own <= self.waiting, "what is sent was waiting, and nothing is sent twice at once"
            self.waiting -= own
            self.open.append(grant)
            assert sum(piece.size for piece in grant.flush.pieces) <= FLUSH_BYTES or len(grant.flush.pieces) == 1
            assert 0 < grant.timeout <= TIMEOUT
            assert self.dispatcher.slots(tenant) <= self.dispatcher.cap(tenant), "LIM-3, LIM-8"
            assert grant.probe == self.dispatcher.at_risk(tenant)
            assert sum(each.probe for each in self.open) <= LIMITER.probation_slots, "ISO-5"
        assert self.again is None or self.again > self.now

    @rule(tenant=st.sampled_from(TENANTS), records=st.integers(1, 4), size=st.sampled_from([10, 60, 150]))
    def submit(self, tenant: str, records: int, size: int) -> None:
        """Records come."""
        own = pieces(records, documents=2, size=size)
        self.waiting.update(ids(own))
        self.dispatcher.submit(self.lanes[tenant], own, self.now)
        self.decide()

    @precondition(lambda self: self.open)
    @rule(data=st.data(), elapsed=st.sampled_from([0.01, 0.5, 3.0]), retry_after=st.sampled_from([None, 5.0]))
    def settle(self, data: st.DataObject, elapsed: float, retry_after: float | None) -> None:
        """An attempt ends, with an outcome for the whole or for each document."""
        self.now += elapsed
        grant = self.open.pop(data.draw(st.integers(0, len(self.open) - 1)))
        own = ids(grant.flush)
        whole = data.draw(st.sampled_from([None, *Outcome]))
        if whole:
            said = answer(whole, grant.flush, retry_after)
        else:
            items = st.lists(st.sampled_from(list(Outcome)), min_size=len(own), max_size=len(own))
            said = reply(*data.draw(items), retry_after=retry_after)
        division, abandoned = self.dispatcher.settle(grant, said, self.now)
        assert sorted(ids(division.accepted) + ids([part for part, _ in division.condemned]) + ids(division.left)) == (
            sorted(own)
        )
        if grant.flush.lane.closed:
            assert ids(abandoned) == ids(division.left)
        else:
            assert not abandoned
            self.waiting.update(ids(division.left))
        self.decide()

    @precondition(lambda self: self.open)
    @rule(data=st.data())
    def cancel(self, data: st.DataObject) -> None:
        """A worker finds the lane of its grant closed, and does not begin."""
        grant = self.open.pop(data.draw(st.integers(0, len(self.open) - 1)))
        self.dispatcher.cancel(grant)
        self.decide()

    @rule(tenant=st.sampled_from(TENANTS))
    def lose(self, tenant: str) -> None:
        """A partition is lost, and assigned again."""
        lane = self.lanes[tenant]
        lane.closed = True
        dropped = ids(self.dispatcher.drop(lane))
        assert set(dropped) <= self.waiting
        self.waiting.difference_update(dropped)
        self.lanes[tenant] = FakeLane(tenant)
        self.decide()

    @precondition(lambda self: self.again is not None)
    @rule()
    def come_again(self) -> None:
        """The time comes that the last decision named."""
        assert self.again is not None
        self.now = self.again
        self.decide()

    @invariant()
    def is_bounded(self) -> None:
        """No more attempts are open than there are workers, and each tenant's are counted."""
        assert len(self.open) <= WORKERS
        for tenant in self.TENANTS:
            assert self.dispatcher.slots(tenant) == sum(grant.flush.lane.tenant == tenant for grant in self.open)
            assert LIMITER.floor <= self.dispatcher.cap(tenant) <= LIMITER.ceiling

    @invariant()
    def is_never_stuck(self) -> None:
        """While something waits, an attempt is open or there is a time to ask again: nothing waits for ever."""
        assert not self.waiting or self.open or self.again is not None

    def teardown(self) -> None:
        """With all clusters well, everything that waits is delivered, and no slot is left held."""
        for _ in range(10_000):
            if self.open:
                grant = self.open.pop()
                self.now += 0.01
                self.dispatcher.settle(grant, answer(ACCEPTED, grant.flush), self.now)
            elif self.again is not None:
                self.now = self.again
            else:
                break
            self.decide()
        assert not self.waiting
        assert not self.open


TestTraffic = Traffic.TestCase
TestTraffic.settings = settings(max_examples=60, stateful_step_count=30, deadline=None)


class Fair:
    """Max-min fairness among tenants who are all well, one record a flush."""

    def __init__(self, tenants: str) -> None:
        """Begin with caps at the floor, and turns in this order."""
        self.waiting, self.slots = dict.fromkeys(tenants, 0), dict.fromkeys(tenants, 0)
        self.cap, self.turns = dict.fromkeys(tenants, LIMITER.floor), list(tenants)

    def grants(self) -> list[str]:
        """Whom the free workers go to: who holds least, and among equals whose turn is longest ago."""
        granted: list[str] = []
        while sum(self.slots.values()) < WORKERS:
            able = [name for name in self.turns if self.waiting[name] and self.slots[name] < self.cap[name]]
            if not able:
                break
            name = min(able, key=lambda name: self.slots[name])
            self.waiting[name] -= 1
            self.slots[name] += 1
            self.turns.append(self.turns.pop(self.turns.index(name)))
            granted.append(name)
        return granted

    def accepted(self, name: str) -> None:
        """A success at saturation raises the cap."""
        self.cap[name] = min(LIMITER.ceiling, self.cap[name] + (self.slots[name] >= self.cap[name]))
        self.slots[name] -= 1


class Fairness(RuleBasedStateMachine):
    """Records of four tenants whose clusters accept everything at once, held against the model."""

    TENANTS = "abcd"

    def __init__(self) -> None:
        """Begin when each has had a success, so that nobody is at risk."""
        super().__init__()
        self.bench, self.fair = Bench(), Fair(self.TENANTS)
        for tenant in self.TENANTS:
            self.submit(tenant, 1, 0.0)
            self.accept(0, 0.0)

    @rule(tenant=st.sampled_from(TENANTS), records=st.integers(1, 6), elapsed=st.sampled_from([0.0, 0.01]))
    def submit(self, tenant: str, records: int, elapsed: float) -> None:
        """Records come; for a tenant that had none its turn begins now, even if others' began in the same instant."""
        self.bench.now += elapsed
        self.bench.submit(tenant, records)
        if not self.fair.waiting[tenant]:
            self.fair.turns.append(self.fair.turns.pop(self.fair.turns.index(tenant)))
        self.fair.waiting[tenant] += records
        self.decide()

    @precondition(lambda self: self.bench.open)
    @rule(which=st.integers(0, WORKERS - 1), elapsed=st.sampled_from([0.0, 0.01]))
    def accept(self, which: int, elapsed: float) -> None:
        """An attempt is accepted."""
        grant = self.bench.open[which % len(self.bench.open)]
        self.bench.settle(grant, ACCEPTED, after=elapsed)
        self.fair.accepted(grant.flush.lane.tenant)
        self.decide()

    def decide(self) -> None:
        """Decide, in reality and in the model."""
        assert self.bench.tenants(self.bench.decide()) == self.fair.grants()

    @invariant()
    def agrees(self) -> None:
        """LIM-2, LIM-8: caps and slots are the model's."""
        for tenant in self.TENANTS:
            assert self.bench.dispatcher.cap(tenant) == self.fair.cap[tenant]
            assert self.bench.dispatcher.slots(tenant) == self.fair.slots[tenant]


TestFairness = Fairness.TestCase
TestFairness.settings = settings(max_examples=60, stateful_step_count=30, deadline=None)


def test_begins_at_once_with_the_floor() -> None:
    """LIM-1: the first concurrency at a tenant's cluster is the floor, and work that comes is sent at once."""
    bench = Bench()
    sent = bench.submit("a", 3)
    (grant,) = bench.decide()
    assert ids(grant.flush) == sent[:1]


def test_forms_a_flush_at_the_grant() -> None:
    """What waited while the tenant held its cap goes together: large flushes under back-pressure."""
    bench = Bench()
    bench.submit("a")
    (first,) = bench.decide()
    small = pieces(12, size=10)
    bench.dispatcher.submit(bench.lane("a"), small, bench.now)
    assert not bench.decide()
    bench.settle(first, ACCEPTED)
    second, third = bench.decide()
    assert ids(second.flush) == ids(small[:10])
    assert ids(third.flush) == ids(small[10:])


def test_rises_to_the_ceiling_under_load() -> None:
    """LIM-2: a tenant whose cluster keeps up is granted more and more, up to the ceiling."""
    bench = Bench()
    bench.submit("a", 30)
    seen = set()
    while bench.decide() or bench.open:
        seen.add(bench.dispatcher.slots("a"))
        bench.settle(bench.open[0], ACCEPTED)
    assert max(seen) == LIMITER.ceiling


def test_a_slow_attempt_counts_while_it_is_open() -> None:
    """LIM-3: the cap is halved when an attempt is older than `slow_after`, not only when it ends; and once."""
    bench = Bench()
    bench.prove("a", cap=4)
    bench.submit("a", 5)
    assert len(bench.decide()) == 4
    bench.settle(bench.open[0], ACCEPTED, after=1.0)
    bench.now += 1.5
    assert not bench.decide()
    assert bench.dispatcher.cap("a") == 2
    assert bench.dispatcher.at_risk("a")
    for grant in list(bench.open):
        bench.settle(grant, ACCEPTED)
    assert bench.dispatcher.cap("a") == 2


def test_free_workers_go_to_who_holds_least() -> None:
    """Max-min fairness: with few workers free, a tenant with none under way comes before one with many."""
    bench = Bench(LIMITER, workers=4)
    bench.prove("greedy", "modest", cap=3)
    bench.submit("greedy", 10)
    assert len(bench.decide()) == 3
    bench.submit("greedy", 1)
    bench.submit("modest", 5)
    assert bench.tenants(bench.decide()) == ["modest"]
    bench.settle(bench.open[0], ACCEPTED)
    assert bench.tenants(bench.decide()) == ["modest"]


def test_equals_take_turns() -> None:
    """Among tenants that hold as many slots, the one is next whose turn is longest ago."""
    bench = Bench(LIMITER.model_copy(update={"ceiling": 1}), workers=2)
    bench.prove("a", "b", "c", "d")
    for tenant in "abcd":
        bench.submit(tenant, 3)
        bench.now += 0.1
    order = bench.tenants(bench.decide())
    while bench.open:
        bench.settle(bench.open[0], ACCEPTED)
        order += bench.tenants(bench.decide())
    assert order == list("abcd" * 3)


def test_equals_take_turns_within_one_instant() -> None:
    """Turns that began at the same time are told apart by who was granted, or had work, first; nobody comes later."""
    bench = Bench()
    tenants = [f"t{number}" for number in range(10)]
    bench.prove(*tenants, cap=2)
    for tenant in tenants:
        bench.submit(tenant, 50)
    granted = Counter(bench.tenants(bench.decide()))
    for _ in range(20):
        for grant in list(bench.open):
            bench.settle(grant, ACCEPTED, after=0.0)
        granted.update(bench.tenants(bench.decide()))
        assert max(granted.values()) - min(granted[tenant] for tenant in tenants) <= 1


def test_equals_take_turns_with_retries_that_become_due() -> None:
    """A refused flush has its turn from when it is due, not from when it was refused: others came before it."""
    bench = Bench(workers=1)
    bench.prove("a", "b", "c")
    bench.submit("a")
    bench.settle(bench.decide()[0], RETRYABLE)
    bench.now += 0.1
    bench.submit("c")
    (busy,) = bench.decide()
    bench.submit("b")
    bench.now += 0.2
    assert not bench.decide()
    bench.settle(busy, ACCEPTED)
    assert bench.tenants(bench.decide()) == ["b"]


def test_tenants_at_risk_share_a_part_of_the_workers() -> None:
    """ISO-5: however many tenants do badly, together they hold a few workers, and the healthy find the others free."""
    bench = Bench()
    sick = [f"s{number}" for number in range(6)]
    bench.prove("h", *sick)
    for tenant in sick:
        bench.submit(tenant, 2)
    for grant in bench.decide():
        bench.settle(grant, RETRYABLE, after=0.0)
    bench.now += 60
    probes = bench.decide()
    assert len(probes) == LIMITER.probation_slots - 1
    bench.submit("h")
    assert bench.tenants(bench.decide()) == ["h"]


@pytest.mark.parametrize("slots", [1, 2])
def test_one_probe_is_left_for_those_at_risk_however_few_there_are(slots: int) -> None:
    """LIM-4: a tenant that was tried before is tried again, and not two at once where new ones may come."""
    bench = Bench(LIMITER.model_copy(update={"probation_slots": slots}))
    for tenant in ("s1", "s2"):
        bench.submit(tenant)
        bench.settle(bench.decide()[0], RETRYABLE)
    bench.now += 60
    assert len(bench.decide()) == 1


def test_probes_go_to_the_least_recently_probed() -> None:
    """LIM-4: among tenants at risk, none is forgotten: probes go round."""
    bench = Bench()
    sick = [f"s{number}" for number in range(5)]
    for tenant in sick:
        bench.submit(tenant, 1)
    probed = bench.tenants(bench.decide())
    while len(probed) < 30:
        if bench.open:
            bench.settle(bench.open[0], RETRYABLE, after=1.0)
        else:
            _, again = bench.dispatcher.decide(bench.now)
            assert again is not None
            bench.now = again
        probed += bench.tenants(bench.decide())
    assert {tenant: probed.count(tenant) for tenant in sick} == dict.fromkeys(sick, 6)


def test_a_new_tenant_does_not_wait_behind_black_holes() -> None:
    """ISO-5: a probe is kept for tenants never tried, while others hold all that is left for those at risk."""
    bench = Bench()
    for tenant in ("s1", "s2", "s3"):
        bench.submit(tenant)
    for grant in bench.decide():
        bench.settle(grant, RETRYABLE)
    bench.now += 60
    assert len(bench.decide()) == LIMITER.probation_slots - 1
    bench.submit("new")
    assert bench.tenants(bench.decide()) == ["new"]


def test_a_tenant_that_recovers_does_not_wait_for_one_that_has_just_fallen_sick() -> None:
    """ISO-7: what the one was granted before it fell silent takes none of the probes that the other needs."""
    bench = Bench()
    bench.prove("fallen", cap=4)
    bench.submit("fallen", 4)
    assert len(bench.decide()) == 4
    bench.submit("recovering")
    bench.settle(bench.decide()[0], RETRYABLE)
    bench.now += 3.0
    assert bench.tenants(bench.decide()) == ["recovering"]
    assert bench.dispatcher.at_risk("fallen")


def outnumbered(bench: Bench) -> list[Grant]:
    """Let as many tenants as there are workers fall silent at once, and one more have work; the silent attempts."""
    silent = [f"s{number}" for number in range(WORKERS)]
    bench.prove("h", *silent)
    for tenant in silent:
        bench.submit(tenant)
    attempts = bench.decide()
    assert len(attempts) == WORKERS
    bench.submit("h")
    assert not bench.decide()
    return attempts


def test_silent_attempts_make_room_when_they_hold_all_workers() -> None:
    """ISO-5: while another waits, only as many of them go on as those at risk may have: the oldest."""
    bench = Bench()
    attempts = outnumbered(bench)
    assert not bench.dispatcher.overstayed(bench.now)
    _, again = bench.dispatcher.decide(bench.now)
    assert again is not None
    assert again <= bench.now + 0.25
    bench.now = again
    found = bench.dispatcher.overstayed(bench.now)
    assert len(found) == WORKERS - LIMITER.probation_slots
    assert not set(found) & set(attempts[: LIMITER.probation_slots])
    assert not bench.dispatcher.overstayed(bench.now), "each is told once"
    for grant in found:
        bench.settle(grant, RETRYABLE, after=0.0)
    assert bench.tenants(bench.decide()) == ["h"]


def cut(bench: Bench) -> None:
    """Wait until silent attempts are cut for the others, and let them end."""
    while not (found := bench.dispatcher.overstayed(bench.now)):
        _, again = bench.dispatcher.decide(bench.now)
        assert again is not None, "nobody would ever be cut"
        bench.now = again
    for grant in found:
        bench.settle(grant, RETRYABLE, after=0.0)


def after_the_cut() -> Bench:
    """A bench where so many fell silent at once that they are tried in waves, and one answers that is well."""
    bench = Bench()
    others = [f"t{number}" for number in range(2 * WORKERS)]
    bench.prove(*others)
    attempts = outnumbered(bench)
    bench.dispatcher.drop(bench.lane("h"))
    for tenant in (*others, "h"):
        bench.submit(tenant)
    cut(bench)
    _, well, *_ = wave = bench.decide()
    # Who answered last is most likely well, and every third grant goes to who waits for longest.
    assert bench.tenants(wave) == ["t0", "h", "t15", "t1"]
    assert bench.open == [*attempts[: LIMITER.probation_slots], *wave]
    bench.settle(well, ACCEPTED)
    assert bench.tenants(bench.decide()) == ["t14"]
    return bench


def test_when_many_fell_silent_a_worker_is_kept_for_who_answered_since() -> None:
    """ISO-5: the others are as likely silent, and are tried in waves; the healthy do not wait for each of those."""
    bench = after_the_cut()
    for _ in range(10):
        bench.submit("h")
        (grant,) = bench.decide()
        assert bench.tenants([grant]) == ["h"]
        bench.settle(grant, ACCEPTED)
        assert not bench.decide()


def test_waves_are_cut_while_the_healthy_are_sent_for() -> None:
    """ISO-5: whoever else is well waits a quarter of a second for each wave, however busy the kept worker is."""
    bench = after_the_cut()
    wave = bench.open[LIMITER.probation_slots :]
    bench.now += 0.2
    bench.submit("h")
    bench.decide()
    began = bench.now
    cut(bench)
    assert bench.now < began + 0.1
    assert not set(wave) & set(bench.open)
    assert bench.tenants(bench.decide()) == ["t2", "t13", "t12"]


def test_no_worker_is_kept_for_long() -> None:
    """Once those that are silent are known to be, all others share all workers again."""
    bench = after_the_cut()
    bench.now += LIMITER.slow_after
    assert bench.tenants(bench.decide()) == ["t2"], "the one that waits for longest"


def test_as_long_as_one_worker_is_held_by_anything_else_all_wait_for_that() -> None:
    """A burst that makes some attempts slow is no outage of many: whoever is busy cuts nobody."""
    bench = Bench()
    attempts = outnumbered(bench)
    bench.now += 0.2
    bench.settle(attempts[0], ACCEPTED, after=0.0)
    assert bench.tenants(bench.decide()) == ["h"]
    bench.submit("h")
    bench.now += 0.2
    assert not bench.dispatcher.overstayed(bench.now)


def test_nobody_is_cut_for_those_at_risk() -> None:
    """Whoever is not known to be well waits for its turn."""
    bench = Bench()
    outnumbered(bench)
    bench.dispatcher.drop(bench.lane("h"))
    bench.submit("new")
    bench.now += 1.0
    assert not bench.dispatcher.overstayed(bench.now)


def test_attempts_are_suspect_by_what_was_usual_lately() -> None:
    """Where bulks take a second, an attempt of a second is no silence, and holds its worker."""
    bench = Bench()
    for tenant in [*(f"s{number}" for number in range(WORKERS)), "h"] * 5:
        bench.submit(tenant)
        bench.settle(bench.decide()[0], ACCEPTED, after=1.0)
    outnumbered(bench)
    bench.now += 1.0
    assert not bench.dispatcher.overstayed(bench.now)
    bench.now += 1.0
    assert bench.dispatcher.overstayed(bench.now), "slow_after is the most"


def test_an_attempt_is_not_suspect_while_its_cluster_accepts_others() -> None:
    """A cluster that accepts is not silent, however long one of its bulks may take."""
    limiter = Limiter.model_validate({"floor": 2, "ceiling": 4, "slow_after": "2s", "probation_slots": 3})
    bench = Bench(limiter, workers=2)
    bench.prove("a", "h", cap=2)
    bench.submit("a", 3)
    bench.decide()
    bench.now += 0.5
    bench.settle(bench.open[0], ACCEPTED, after=0.0)
    bench.decide()
    bench.submit("h")
    assert bench.dispatcher.decide(bench.now) == ([], None), "there is no time at which it would be"
    assert not bench.dispatcher.overstayed(bench.now)


def test_deadlines_of_probes_double_and_learn() -> None:
    """Probes begin with a deadline of `slow_after`, double it each time it runs out, and keep one that sufficed."""
    bench = Bench()
    bench.submit("s")
    seen = []
    for _ in range(4):
        while not bench.decide():
            bench.now += 1.0
        (grant,) = bench.open
        seen.append(grant.timeout)
        bench.settle(grant, RETRYABLE, after=grant.timeout)
    assert seen == [2.0, 4.0, 8.0, 16.0]
    while not bench.decide():
        bench.now += 1.0
    bench.settle(bench.open[0], ACCEPTED, after=20.0)
    bench.submit("s")
    (grant,) = bench.decide()
    assert grant.timeout == TIMEOUT
    bench.settle(grant, ACCEPTED, after=0.1)
    assert not bench.dispatcher.at_risk("s")


def test_retries_wait_outside_the_workers_and_longer_each_time() -> None:
    """DEL-7: a refused flush holds no slot while it waits, and waits twice as long after each attempt."""
    bench = Bench()
    bench.prove("a")
    sent = bench.submit("a")
    (grant,) = bench.decide()
    gaps = []
    for _ in range(5):
        bench.settle(grant, RETRYABLE)
        assert bench.dispatcher.slots("a") == 0
        ended = bench.now
        assert not bench.decide()
        _, again = bench.dispatcher.decide(bench.now)
        assert again is not None
        bench.now = again
        (grant,) = bench.decide()
        assert ids(grant.flush) == sent
        gaps.append(round(bench.now - ended, 6))
    assert gaps == [0.2, 0.4, 0.8, 1.6, 3.2]


@pytest.mark.parametrize("outcome", [RETRYABLE, Outcome.ENVIRONMENT])
def test_retry_after_is_honoured(outcome: Outcome) -> None:
    """DEL-7: nothing is sent to a cluster before the time that it asked for, fresh work included."""
    bench = Bench()
    bench.prove("a")
    bench.submit("a")
    bench.settle(bench.decide()[0], outcome, retry_after=7.0)
    bench.submit("a")
    grants, again = bench.dispatcher.decide(bench.now)
    assert (grants, again) == ([], bench.now + 7.0)


def test_one_refused_flush_does_not_block_the_line() -> None:
    """Refused items stand aside until they are due; then they come first, for they are the oldest."""
    bench = Bench()
    bench.prove("a")
    own = pieces(2, size=10)
    bench.dispatcher.submit(bench.lane("a"), own, bench.now)
    (grant,) = bench.decide()
    bench.open.remove(grant)
    bench.dispatcher.settle(grant, reply(ACCEPTED, RETRYABLE), bench.now + 0.01)
    fresh = bench.submit("a", 4)
    first, second = bench.decide()
    assert ids(first.flush) + ids(second.flush) == fresh[:2]
    bench.settle(first, ACCEPTED, after=0.5)
    assert ids(bench.decide()[0].flush) == ids(own[1:])


def test_a_cluster_that_accepts_nothing_is_left_alone_for_longer_and_longer() -> None:
    """ISO-10: probes of one tenant back off, fresh work included, so that no cluster in trouble is met by a herd."""
    bench = Bench()
    bench.submit("s", 30)
    times = []
    while bench.now < 160:
        for grant in bench.decide():
            times.append(bench.now)
            bench.settle(grant, RETRYABLE)
        bench.now += 0.01
    gaps = [after - before for before, after in pairwise(times)]
    assert len(times) < 12
    assert gaps == sorted(gaps)


def test_items_refused_again_hold_nobody_back_and_are_not_hastened() -> None:
    """DEL-7, ISO-6: what a cluster refuses item by item backs off alone, while it accepts the tenant's other work."""
    bench = Bench()
    bench.prove("t", cap=3)
    bench.dispatcher.submit(bench.lane("t"), pieces(6, size=FLUSH_BYTES // 2), bench.now)
    for grant in bench.decide():
        bench.dispatcher.settle(grant, reply(ACCEPTED, RETRYABLE), bench.now)
    for wait in (0.2, 0.4, 0.8):
        assert bench.decide() == []
        bench.now += wait
        again = 0
        while grants := bench.decide():
            for grant in grants:
                bench.dispatcher.settle(grant, reply(RETRYABLE), bench.now)
                again += 1
        assert again == 3
        bench.submit("t")
        (other,) = bench.decide()
        bench.dispatcher.settle(other, reply(ACCEPTED), bench.now)


def test_items_of_a_blocked_index_hold_nobody_back() -> None:
    """ISO-6: however many new flushes for it are refused, the tenant's others are sent at once."""
    bench = Bench()
    bench.prove("t", cap=3)
    for _ in range(5):
        bench.submit("t")
        (grant,) = bench.decide()
        bench.dispatcher.settle(grant, reply(Outcome.ENVIRONMENT), bench.now)
        bench.open.remove(grant)
    bench.submit("t")
    assert len(bench.decide()) == 1


def test_recovery_makes_what_waited_due() -> None:
    """ISO-7: when a cluster that accepted nothing accepts again, nothing waits for the rest of its delay."""
    bench = Bench()
    bench.submit("s", 20)
    while bench.now < 160:
        for grant in bench.decide():
            bench.settle(grant, RETRYABLE)
        bench.now += 0.1
    while not bench.decide():
        bench.now += 0.1
    while bench.open:
        bench.settle(bench.open[0], ACCEPTED, after=0.05)
        bench.decide()
    healed = bench.dispatcher.decide(bench.now)
    assert healed == ([], None)


def test_halves_are_sent_at_once_and_keep_their_turn() -> None:
    """DEL-4: a flush refused as too large comes back in halves, before younger work, and without delay."""
    bench = Bench()
    bench.prove("a")
    own = pieces(4, size=25)
    bench.dispatcher.submit(bench.lane("a"), own, bench.now)
    (grant,) = bench.decide()
    bench.submit("a", 3)
    bench.decide()
    bench.settle(grant, TOO_LARGE)
    (first,) = bench.decide()
    assert ids(first.flush) == ids(own[:2])
    bench.settle(first, ACCEPTED)
    assert ids(bench.decide()[0].flush) == ids(own[2:])


def test_a_record_is_condemned_when_others_were_accepted_since_it_was_first_sent() -> None:
    """DEL-5: as long as its cluster accepts nothing else it may be the cluster that is at fault."""
    bench = Bench()
    bench.prove("a", cap=2)
    bench.now += 1
    bench.submit("a")
    condemned = []
    for _ in range(2):
        (grant,) = bench.come()
        division, _ = bench.dispatcher.settle(grant, reply(Outcome.CONDEMNED), bench.now)
        condemned.append(len(division.condemned))
        bench.open.remove(grant)
        bench.now += 0.01
        bench.submit("a")
        bench.settle(bench.decide()[0], ACCEPTED)
    assert condemned == [0, 1]


def test_environment_errors_say_nothing_of_the_load() -> None:
    """ISO-6: items refused by a blocked index leave the cap and the health of the tenant as they are."""
    bench = Bench()
    bench.prove("a", cap=4)
    own = pieces(4, size=25)
    bench.dispatcher.submit(bench.lane("a"), own, bench.now)
    (grant,) = bench.decide()
    bench.dispatcher.settle(grant, reply(*[Outcome.ENVIRONMENT] * 4), bench.now + 0.01)
    assert bench.dispatcher.cap("a") == 4
    assert not bench.dispatcher.at_risk("a")


def test_one_tenant_never_changes_the_cap_of_another() -> None:
    """LIM-6: whatever happens to one tenant, the caps of the others stay."""
    bench = Bench()
    bench.prove("a", "b", cap=4)
    bench.submit("a", 8)
    for grant in bench.decide():
        bench.settle(grant, RETRYABLE)
    assert bench.dispatcher.cap("a") < 4
    assert bench.dispatcher.cap("b") == 4
