"""Crash: the member is killed with -9 under load while one tenant's cluster pushes back, and started again.

Field bugs FB-04 and FB-07: an offset committed at hand-over, or for what a queue held, shows as a loss only
when the process dies.
"""

from __future__ import annotations

from isolane.conformance.depth import Depth
from isolane.conformance.scenarios.model import Scenario
from isolane.conformance.shape import Shape, TenantShape
from isolane.conformance.world import World
from isolane.fixtures.cluster import Script
from isolane.fixtures.implementations.descriptor import Descriptor

LIFE = 2.0
"""Seconds that each life of the member lasts under load."""


def shape(_descriptor: Descriptor) -> Shape:
    """Three tenants; the first one's cluster answers slowly and refuses one item in three."""
    healthy = (TenantShape(name, "healthy", partitions=2, rate=100) for name in ("b", "c"))
    return Shape((TenantShape("a", "sick", partitions=4, rate=100), *healthy))


def story(world: World, depth: Depth) -> None:
    """Kill the member in mid-load as often as the depth says; then heal and drain."""
    world.members.start()
    world.await_ready(timeout=world.patience)
    world.load_within(float("inf"))
    with world.fault("a", "mixed", Script(latency=0.3, items=(201, 429, 201))):
        for _ in range(depth.crashes):
            world.run_for(LIFE)
            world.members.kill()
            world.members.start()
        world.run_for(LIFE)
    world.drain(timeout=world.patience)


SCENARIO = Scenario(
    name="crash",
    title="kill -9 under load, with one tenant's cluster refusing items",
    judges=("DEL-1", "OFF-1", "TEN-2"),
    shape=shape,
    story=story,
    depths=("smoke",),
)
