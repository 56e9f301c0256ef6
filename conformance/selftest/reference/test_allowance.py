"""How much may be in flight: in a partition, and in the process."""

from __future__ import annotations

from collections import defaultdict

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


class Process(RuleBasedStateMachine):
    """Admissions, completions and changes of health of five tenants, in any sequence."""

    LIMIT = 40
    TENANTS = "abcde"

    def __init__(self) -> None:
        """Begin with everybody at risk, as the dispatcher does."""
        super().__init__()
        self.at_risk = set(self.TENANTS)
        self.budget = Budget(self.LIMIT, lambda tenant: tenant in self.at_risk)
        self.in_flight: dict[str, list[int]] = defaultdict(list)

    @rule(tenant=st.sampled_from(TENANTS), sizes=st.lists(st.integers(1, 30), min_size=1, max_size=4))
    def admit(self, tenant: str, sizes: list[int]) -> None:
        """A tenant asks for some records."""
        had_nothing = not self.in_flight[tenant]
        risky = sum(sum(self.in_flight[name]) for name in self.at_risk)
        total = sum(map(sum, self.in_flight.values()))
        count = self.budget.room(tenant, sizes)
        assert count >= had_nothing, "nobody with nothing in flight is starved"
        admitted = sizes[:count]
        self.budget.admit(tenant, sum(admitted))
        self.in_flight[tenant] += admitted
        beyond_first = sum(admitted[had_nothing:])
        if beyond_first:
            assert total + sum(admitted) <= self.LIMIT
            if tenant in self.at_risk:
                assert risky + sum(admitted) <= self.LIMIT // 2
        if count < len(sizes):
            short = total + sum(sizes[: count + 1]) > self.LIMIT
            short |= tenant in self.at_risk and risky + sum(sizes[: count + 1]) > self.LIMIT // 2
            assert short, "nothing is refused while there is room"

    @precondition(lambda self: any(self.in_flight.values()))
    @rule(data=st.data())
    def release(self, data: st.DataObject) -> None:
        """A record in flight is done."""
        tenant = data.draw(st.sampled_from(sorted(name for name, sizes in self.in_flight.items() if sizes)))
        self.budget.release(tenant, self.in_flight[tenant].pop())

    @rule(tenant=st.sampled_from(TENANTS))
    def change_health(self, tenant: str) -> None:
        """A tenant falls ill, or recovers."""
        self.at_risk ^= {tenant}

    @invariant()
    def counts_what_is_in_flight(self) -> None:
        """The budget knows the sum."""
        assert self.budget.bytes == sum(map(sum, self.in_flight.values()))


TestProcess = Process.TestCase
TestProcess.settings = settings(max_examples=50, stateful_step_count=25, deadline=None)


def test_sick_tenants_leave_half_of_the_budget_to_the_healthy() -> None:
    """MEM-6: whatever the tenants at risk hold together, a healthy one finds half of the budget."""
    sick = {"s1", "s2"}
    budget = Budget(100, lambda tenant: tenant in sick)
    for _ in range(10):
        for tenant in sorted(sick):
            budget.admit(tenant, 10 * budget.room(tenant, [10]))
    assert budget.bytes == 50
    assert budget.room("healthy", [10] * 9) == 5
