"""Small worlds in every order that leaves the default one a bounded number of times."""

from __future__ import annotations

from typing import get_args

import pytest

from isolane.conformance.simulation.assignment import Protocol
from isolane.conformance.simulation.choice import Deviation
from isolane.conformance.simulation.enumeration import orders
from isolane.conformance.simulation.plan import Plan, Step
from isolane.conformance.simulation.schedule import prepared
from isolane.conformance.simulation.settings import Settings

CHANGES = {
    "crash": (2, (Step("crash", (0,)),)),
    "leave": (2, (Step("leave", (0,)),)),
    "join": (1, (Step("join"),)),
    "freeze": (2, (Step("freeze", (0,), 600), Step("thaw"))),
}
"""How many members there are at the begin, and what happens to them while the records are under way."""

WORLDS = {
    f"{protocol} {change}": Plan(
        Settings(tenants=2, partitions=1, members=members, protocol=protocol, workers=2),
        (
            Step("go_on", (), 200),
            Step("produce", (0, "one item", 2, 0)),
            Step("produce", (1, "one item", 1, 0), 2),
            *steps,
        ),
    )
    for protocol in get_args(Protocol)
    for change, (members, steps) in CHANGES.items()
}
"""Two tenants with a partition each, three records, and one rebalance or crash."""


def count(plan: Plan, bound: int) -> int:
    """Run all orders; none fails, and none is run twice."""
    digests = []
    with prepared(watch=False):
        for schedule, outcome in orders(plan, bound):
            assert outcome.failure is None, (schedule, outcome.failure)
            digests.append(outcome.digest)
    assert len(set(digests)) == len(digests)
    return len(digests)


@pytest.mark.parametrize("name", ["cooperative crash", "cooperative join", "eager leave"])
def test_no_order_with_one_deviation_fails(name: str) -> None:
    """Whichever ready task is preferred once, wherever: every rule holds."""
    assert count(WORLDS[name], 1) > 50


@pytest.mark.nightly
@pytest.mark.parametrize("name", WORLDS)
def test_no_order_with_two_deviations_fails(name: str) -> None:
    """The same for any two places."""
    assert count(WORLDS[name], 2) > 2000


def test_orders_are_those_of_the_choices() -> None:
    """The default one first, and then one for each other task that was ready at a choice, in their order."""
    with prepared(watch=False):
        schedules = [schedule for schedule, _ in orders(WORLDS["eager join"], 1)]
    assert schedules[0].deviations == ()
    deviations = [schedule.deviations or () for schedule in schedules[1:]]
    assert deviations == sorted(deviations)
    assert all(len(only) == 1 and only[0].place > 0 for only in deviations)
    points = [only.point for (only,) in deviations]
    for point in set(points):
        places = [only for (only,) in deviations if only.point == point]
        assert places == [Deviation(point, place) for place in range(1, len(places) + 1)]
