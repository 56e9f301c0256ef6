"""Many sick: more tenants than there are sending workers fall sick at the same moment, slowly failing.

Field bug FB-22: one request each is enough to hold every worker, whatever a cap allows one tenant.
"""

from __future__ import annotations

import math

from isolane.conformance.depth import Depth
from isolane.conformance.scenarios.isolation import SETTLE
from isolane.conformance.scenarios.model import Scenario
from isolane.conformance.shape import Shape, TenantShape
from isolane.conformance.world import World
from isolane.fixtures.cluster import Script
from isolane.fixtures.implementations.descriptor import Descriptor

MAJORITY = 2.5
"""How many times as many tenants as sending workers fall sick: forty for sixteen."""

SICK_RATE, HEALTHY_RATE = 5.0, 20.0
"""Records a second of each tenant."""

FAILING_SLOWLY = Script(latency=10, status=503)
"""ISO-5: ten seconds, then 503."""

AT_LEAST = 22.0
"""Seconds that the fault lasts at least: two such requests one after the other."""


def _sick(descriptor: Descriptor) -> list[str]:
    return [f"s{number}" for number in range(math.ceil(MAJORITY * descriptor.limits.workers))]


def shape(descriptor: Descriptor) -> Shape:
    """Many tenants of one partition, and four healthy ones."""
    sick = (TenantShape(name, "sick", partitions=1, rate=SICK_RATE) for name in _sick(descriptor))
    healthy = (TenantShape(name, "healthy", partitions=2, rate=HEALTHY_RATE) for name in ("w", "x", "y", "z"))
    return Shape((*sick, *healthy))


def story(world: World, depth: Depth) -> None:
    """Live without a fault; then the many fall sick at once, for as long as it takes to see it; heal and drain."""
    sick = _sick(world.descriptor)
    world.members.start()
    world.await_ready(timeout=world.patience)
    world.load_within(float("inf"))
    world.phase("control")
    world.run_for(depth.control)
    world.phase("settle")
    world.run_for(SETTLE)
    world.phase("fault:many")
    for tenant in sick:
        world.inject(tenant, "many", FAILING_SLOWLY)
    world.run_for(max(AT_LEAST, depth.brief))
    for tenant in sick:
        world.heal(tenant, "many")
    world.phase("heal:many")
    for tenant in sick:
        world.await_backlog_of(tenant, timeout=world.patience)
    world.drain(timeout=world.patience)


SCENARIO = Scenario(
    name="many_sick",
    title="more tenants fall sick at once than there are sending workers",
    judges=("ISO-5", "DEL-1", "OFF-1", "OFF-2", "OFF-4", "TEN-2"),
    shape=shape,
    story=story,
    depths=("standard", "soak"),
)
