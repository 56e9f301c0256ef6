"""How much may be in flight in a partition, and be held by the process."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from isolane.reference.allowance import Allowance, Budget

SIZES = st.lists(st.integers(0, 12), min_size=1, max_size=6)


@settings(deadline=None)
@given(records=st.integers(1, 5), size=st.integers(1, 20), held=SIZES, wanted=SIZES)
def test_partition_holds_its_bounds(records: int, size: int, held: list[int], wanted: list[int]) -> None:
    """MEM-1, MEM-2: whatever is admitted, the bounds hold, or one larger record is in flight alone."""
    allowance = Allowance(records, size)
    for sizes in (held, wanted):
        allowance.admit(sizes[: allowance.room(sizes)])
    assert allowance.records <= records
    assert allowance.bytes <= size or allowance.records == 1


@settings(deadline=None)
@given(size=st.integers(1, 1000))
def test_partition_admits_a_record_of_any_size_alone(size: int) -> None:
    """MEM-3: a record larger than the allowance goes through, and what is behind it follows when it is done."""
    allowance = Allowance(8, 10)
    count = allowance.room([size, 10, 1])
    assert count >= 1
    allowance.admit([size, 10, 1][:count])
    if size + 10 > 10:
        assert count == 1
        assert allowance.room([10]) == 0
    allowance.release(1, size)
    assert allowance.room([10]) == 1


def test_partition_admits_exactly_its_bound() -> None:
    """The bound itself is allowed, one more is not."""
    allowance = Allowance(3, 100)
    assert allowance.room([1, 1, 1, 1]) == 3
    allowance.admit([1, 1, 1])
    assert allowance.room([1]) == 0
    bytes_only = Allowance(100, 3)
    assert bytes_only.room([1, 2, 1]) == 2


@pytest.mark.parametrize(("records", "size"), [(2, 5), (1, 6)], ids=["records", "bytes"])
def test_partition_does_not_release_more_than_it_admitted(records: int, size: int) -> None:
    """Somebody has counted wrongly: that is not hidden, not by one."""
    allowance = Allowance(8, 10)
    allowance.admit([5])
    with pytest.raises(AssertionError, match=r"more .* were released than admitted"):
        allowance.release(records, size)


def test_process_does_not_release_more_than_it_holds() -> None:
    """Nor a tenant's byte that another tenant holds."""
    budget = Budget(100, lambda _: False)
    budget.hold("a", 5)
    budget.hold("b", 5)
    with pytest.raises(AssertionError, match="more bytes were released than held"):
        budget.hold("a", -6)


class InFlight(RuleBasedStateMachine):
    """Records of a partition that are admitted in order and done in any order; the model is the list of their sizes."""

    RECORDS, BYTES = 4, 20

    def __init__(self) -> None:
        """Begin with nothing in flight."""
        super().__init__()
        self.allowance = Allowance(self.RECORDS, self.BYTES)
        self.sizes: list[int] = []

    def fits(self, size: int) -> bool:
        """Whether one more record may be in flight: within both bounds, or alone."""
        return not self.sizes or (len(self.sizes) < self.RECORDS and sum(self.sizes) + size <= self.BYTES)

    @rule(wanted=st.lists(st.integers(0, 30), min_size=1, max_size=6))
    def admit(self, wanted: list[int]) -> None:
        """The worker admits as many as it may."""
        count = self.allowance.room(wanted)
        self.allowance.admit(wanted[:count])
        for size in wanted[:count]:
            assert self.fits(size), "MEM-1, MEM-2: within the bounds, or one larger record alone"
            self.sizes.append(size)
        assert count == len(wanted) or not self.fits(wanted[count]), "MEM-3: nothing waits for room that there is"

    @precondition(lambda self: self.sizes)
    @rule(data=st.data())
    def finish(self, data: st.DataObject) -> None:
        """Some records are done."""
        done = data.draw(st.integers(1, len(self.sizes)))
        self.allowance.release(done, sum(self.sizes[:done]))
        del self.sizes[:done]

    @invariant()
    def counts_what_is_in_flight(self) -> None:
        """Until the final outcome, and no longer."""
        assert (self.allowance.records, self.allowance.bytes) == (len(self.sizes), sum(self.sizes))


TestInFlight = InFlight.TestCase
TestInFlight.settings = settings(max_examples=50, stateful_step_count=25, deadline=None)


class Process(RuleBasedStateMachine):
    """Fetches, completions and changes of health of five tenants, in any sequence.

    Fetches of tenants without room are what the receiver pauses, so they do not happen here.
    """

    LIMIT = 40
    LARGEST = 15
    TENANTS = "abcde"

    def __init__(self) -> None:
        """Begin with everybody at risk, as the dispatcher does."""
        super().__init__()
        self.at_risk = set(self.TENANTS)
        self.budget = Budget(self.LIMIT, lambda tenant: tenant in self.at_risk)
        self.held: dict[str, list[int]] = defaultdict(list)

    def total(self, tenants: Iterable[str]) -> int:
        """What is held of these tenants together."""
        return sum(sum(self.held[tenant]) for tenant in tenants)

    @rule(tenant=st.sampled_from(TENANTS), size=st.integers(1, LARGEST))
    def fetch(self, tenant: str, size: int) -> None:
        """Something is fetched of a tenant that has room; of one without room nothing would fit."""
        left = self.LIMIT - self.total(self.TENANTS)
        if tenant in self.at_risk:
            left = min(left, self.LIMIT // 2 - self.total(self.at_risk))
        had_nothing = not self.held[tenant]
        room = self.budget.rooms().get(tenant)
        assert room == (None if had_nothing else left), "who has nothing has room, and nobody else more than is left"
        if had_nothing or left > 0:
            self.budget.hold(tenant, size)
            self.held[tenant].append(size)

    @precondition(lambda self: any(self.held.values()))
    @rule(data=st.data(), after=st.integers(0, LARGEST))
    def change_size(self, data: st.DataObject, after: int) -> None:
        """Something held becomes larger or smaller, as documents are than the record they come from, or is done."""
        tenant = data.draw(st.sampled_from(sorted(name for name, sizes in self.held.items() if sizes)))
        before = self.held[tenant].pop()
        self.budget.hold(tenant, after - before)
        self.held[tenant] += [after] if after else []

    @rule(tenant=st.sampled_from(TENANTS))
    def change_health(self, tenant: str) -> None:
        """A tenant falls ill, or recovers."""
        self.at_risk ^= {tenant}

    @invariant()
    def counts_what_is_held(self) -> None:
        """The budget knows the sum, and who has anything."""
        assert self.budget.bytes == self.total(self.TENANTS)
        assert set(self.budget.rooms()) == {tenant for tenant, sizes in self.held.items() if sizes}


TestProcess = Process.TestCase
TestProcess.settings = settings(max_examples=50, stateful_step_count=25, deadline=None)


def test_sick_tenants_leave_half_of_the_budget_to_the_healthy() -> None:
    """MEM-6: while tenants at risk fetch as long as they have room, a healthy one has half of the budget left."""
    sick = {"s1", "s2"}
    budget = Budget(100, lambda tenant: tenant in sick)
    for _ in range(10):
        for tenant in sorted(sick):
            if budget.rooms().get(tenant, 1) > 0:
                budget.hold(tenant, 10)
    assert budget.bytes == 50
    budget.hold("healthy", 10)
    assert budget.rooms() == {"s1": 0, "s2": 0, "healthy": 40}
