"""Idle tenants: five hundred are configured, a few of them are busy, and the others say something now and then."""

from __future__ import annotations

from isolane.conformance.depth import Depth
from isolane.conformance.scenarios.model import Scenario
from isolane.conformance.shape import Shape, TenantShape
from isolane.conformance.world import World
from isolane.fixtures.implementations.descriptor import Descriptor

TENANTS = 500
BUSY = 5

ARRIVAL = 120.0
"""Seconds that the first record of each tenant may take: so many connections are made at once."""


def shape(_descriptor: Descriptor) -> Shape:
    """A topic of one partition for each."""
    busy = (TenantShape(f"busy{number}", "healthy", partitions=1, rate=30) for number in range(BUSY))
    idle = (TenantShape(f"idle{number}", "healthy", partitions=1, rate=0.02) for number in range(TENANTS - BUSY))
    return Shape((*busy, *idle))


def story(world: World, depth: Depth) -> None:
    """Hear of every tenant once; then watch what it costs that they are there."""
    world.members.start()
    world.await_ready(timeout=world.patience + ARRIVAL)
    world.load_within(float("inf"))
    world.phase("idle")
    world.run_for(depth.control)
    world.drain(timeout=world.patience)


SCENARIO = Scenario(
    name="idle-tenants",
    title="five hundred tenants, most of them idle",
    judges=("TEN-2", "TEN-5", "DEL-1", "OFF-1", "OFF-2", "OFF-4"),
    shape=shape,
    story=story,
    depths=("soak",),
)
