"""Many sick: more tenants than there are sending workers fall sick at the same moment, slowly failing.

Field bug FB-22: one request each is enough to hold every worker, whatever a cap allows one tenant; and what waits for
them all is enough to fill a budget of the process.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial

from isolane.conformance.depth import Depth
from isolane.conformance.load import Draft
from isolane.conformance.scenarios.isolation import BURST, SETTLE, SHARE_OF_CAPACITY
from isolane.conformance.scenarios.model import Scenario
from isolane.conformance.shape import Shape, TenantShape
from isolane.conformance.world import World
from isolane.fixtures import payloads
from isolane.fixtures.cluster import Script
from isolane.fixtures.implementations.descriptor import Descriptor

MAJORITY = 2.5
"""How many times as many tenants as sending workers fall sick: forty for sixteen."""

SICK_RATE, HEALTHY_RATE = 3.0, 20.0
"""Records a second of each tenant."""

FAILING_SLOWLY = Script(latency=10, status=503)
"""ISO-5: ten seconds, then 503."""

AT_LEAST = 22.0
"""Seconds that the fault lasts at least: two such requests one after the other."""

WARM_UP = 3.0
"""Seconds of load before the control: with so many tenants it takes a while until each has its connection."""

BUDGET = 8 * 1024**2
"""Bytes that the process may hold, if it promised a bound: the sick come to more than that together."""

LARGE = 100 * 1024
"""Bytes of the records that are to fill it."""


def _sick(descriptor: Descriptor) -> list[str]:
    return [f"s{number}" for number in range(math.ceil(MAJORITY * descriptor.limits.workers))]


def shape(descriptor: Descriptor) -> Shape:
    """Many tenants of one partition, and four healthy ones."""
    sick = (TenantShape(name, "sick", partitions=1, rate=SICK_RATE) for name in _sick(descriptor))
    healthy = (TenantShape(name, "healthy", partitions=2, rate=HEALTHY_RATE) for name in ("w", "x", "y", "z"))
    return Shape((*sick, *healthy))


def story(world: World, depth: Depth) -> None:
    """Measure capacity, live without a fault; let the many be sick for long enough to see it; heal and drain."""
    sick = _sick(world.descriptor)
    world.members.start()
    world.await_ready(timeout=world.patience)
    world.load_within(SHARE_OF_CAPACITY * world.measure_capacity(BURST))
    world.phase("warm-up")
    world.run_for(WARM_UP)
    world.phase("control")
    world.run_for(depth.control)
    world.phase("settle")
    world.run_for(SETTLE)
    world.phase("fault:many")
    for tenant in sick:
        world.inject(tenant, "many", FAILING_SLOWLY)
    _fill(world, sick, max(AT_LEAST, depth.brief))
    for tenant in sick:
        world.heal(tenant, "many")
    world.phase("heal:many")
    for tenant in sick:
        world.await_backlog_of(tenant, timeout=world.patience)
    world.drain(timeout=world.patience)


def _fill(world: World, sick: Sequence[str], seconds: float) -> None:
    """Let so many seconds pass; one after the other the sick get what comes to more than the budget together."""
    large = Draft(value=partial(payloads.value, padding=LARGE // world.descriptor.output.items_per_record))
    for tenant in sick:
        world.send(tenant, large, count=math.ceil(1.25 * BUDGET / LARGE / len(sick)))
        world.run_for(seconds / len(sick))


def adapt(descriptor: Descriptor) -> Descriptor:
    """The implementation with a budget that the sick can fill, where it promised one."""
    limits, promised = descriptor.limits, descriptor.limits.process_bytes
    tight = None if promised is None else min(promised, BUDGET)
    return descriptor.model_copy(update={"limits": limits.model_copy(update={"process_bytes": tight})})


SCENARIO = Scenario(
    name="many_sick",
    title="more tenants fall sick at once than there are sending workers",
    judges=("ISO-5", "DEL-1", "OFF-1", "OFF-2", "OFF-4", "TEN-2"),
    shape=shape,
    story=story,
    depths=("standard", "soak"),
    adapt=adapt,
)
