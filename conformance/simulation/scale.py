"""Many tenants and partitions: whether grants stay fair, and what one costs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from cProfile import Profile
from functools import wraps
from typing import NamedTuple

from isolane.conformance.simulation.choice import Replayed
from isolane.conformance.simulation.schedule import prepared
from isolane.conformance.simulation.settings import Settings
from isolane.conformance.simulation.world import World
from isolane.reference.limiter import Dispatcher


class Scale(NamedTuple):
    """What was seen of one size.

    Attributes:
        tenants: How many there are.
        partitions: How many there are of all of them.
        busy: How many tenants have records.
        grants: How many slots were granted.
        fewest: Grants of one of the busy tenants, of whom something was accepted before, while all of them had work.
        most: The same of another one.
        fairness: Jain's index over the same: 1 is equal.
        calls: Calls of functions by the dispatcher, a grant.
    """

    tenants: int
    partitions: int
    busy: int
    grants: int
    fewest: int
    most: int
    fairness: float
    calls: float


def measure(tenants: int, partitions: int, busy: int, records: int) -> Scale:
    """Simulate one process with so many tenants, of which the first `busy` ones have records in every partition.

    Args:
        tenants: How many there are.
        partitions: Of each tenant's topic.
        busy: How many of them have records.
        records: How many are in each of their partitions.
    """
    with prepared(watch=False), _counted() as work:
        settings = Settings(
            tenants=tenants, partitions=partitions, workers=16, batch=10 * busy * partitions, roomy=True
        )
        world = World(settings, Replayed())
        try:
            # First each tenant has something accepted: until then it is at risk, and shares a part of the workers.
            for tenant in range(busy):
                world.produce(tenant * partitions, "one item", 1)
            while world.ledger.unfinished:
                world.go_on(0.1)
            work.begin()
            for place in range(busy * partitions):
                world.produce(place, "one item", records)
            world.finish()
        finally:
            world.close()
    had, grants = work.shares(), len(work.grants)
    fairness = sum(had) ** 2 / (len(had) * sum(number**2 for number in had))
    return Scale(tenants, tenants * partitions, busy, grants, min(had), max(had), fairness, work.calls() / grants)


class _Work:
    """What the dispatcher did."""

    def __init__(self) -> None:
        self.grants: list[str] = []
        self.profile = Profile()

    def begin(self) -> None:
        """Count from now on."""
        self.grants.clear()
        self.profile.clear()

    def shares(self) -> list[int]:
        """Return how many grants each tenant has had when the first one has had its last."""
        left = Counter(self.grants)
        had: Counter[str] = Counter(dict.fromkeys(left, 0))
        for tenant in self.grants:
            had[tenant] += 1
            left[tenant] -= 1
            if not left[tenant]:
                break
        return list(had.values())

    def calls(self) -> int:
        """Return how many calls of functions there were, built-in ones included."""
        return sum(entry.callcount for entry in self.profile.getstats())


@contextmanager
def _counted() -> Iterator[_Work]:
    """Count what the dispatcher does within the block; it never waits, so that no other task comes between."""
    work = _Work()
    originals = {name: getattr(Dispatcher, name) for name in ("submit", "decide", "settle")}
    for name, original in originals.items():
        setattr(Dispatcher, name, _counting(original, work))
    try:
        yield work
    finally:
        for name, original in originals.items():
            setattr(Dispatcher, name, original)


def _counting(original: Callable[..., object], work: _Work) -> Callable[..., object]:
    @wraps(original)
    def counting(*arguments: object) -> object:
        result = work.profile.runcall(original, *arguments)
        if original.__name__ == "decide":
            assert isinstance(result, tuple)
            work.grants += [grant.flush.lane.tenant for grant in result[0]]
        return result

    return counting
