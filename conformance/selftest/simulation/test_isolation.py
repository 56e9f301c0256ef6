"""Sick tenants in any order of threads: the healthy are granted slots within a bound."""

from __future__ import annotations

from random import Random

import pytest

from isolane.conformance.simulation.choice import Choice, Priorities, Walk
from isolane.conformance.simulation.schedule import prepared
from isolane.conformance.simulation.settings import Settings
from isolane.conformance.simulation.world import World

BOUND = 0.5
"""Seconds: an attempt to a sick cluster is suspect after 0.08 s, and ends after 0.4 s at the latest."""


def choices(seed: int) -> list[Choice]:
    """Orders of two kinds, in which time passes only when nobody is ready."""
    return [
        Walk(Random(seed), stickiness=0.0, haste=0.0),
        Priorities(Random(seed), changes=5, length=1200, slowness=0),
    ]


@pytest.mark.parametrize(
    "script",
    [
        "answers nothing",
        "is slower than the deadline",
        "has too many requests",
        "is unavailable",
        "refuses connections",
    ],
)
def test_the_healthy_are_served_within_a_bound(script: str) -> None:
    """ISO-5: two of three tenants are sick, and could hold all four workers; each record of the third is in time."""
    with prepared(watch=False):
        for seed in range(3):
            for choice in choices(seed):
                world = World(Settings(tenants=3, partitions=2), choice)
                world.go_on(0.1)
                for sick in (0, 1):
                    world.sicken(sick, script)
                for _ in range(4):
                    for place in range(6):
                        world.produce(place, "one item", 3)
                    world.go_on(0.15)
                world.go_on(BOUND)
                waited = [
                    (world.scheduler.now if entry.finished_at is None else entry.finished_at) - entry.produced_at
                    for entry in world.ledger
                    if entry.tenant == "t2"
                ]
                assert len(waited) == 24
                assert max(waited) < BOUND
                world.finish()
                world.close()
