"""Limiter: two saturated tenants, whose clusters push back, admit a few at once, are slow, and fail now and then.

Field bug FB-24 and its like: a limiter that lets go of what still goes on, that learns late or not at all, and one that
never finds back. The slots of a tenant are what its cluster has open.
"""

from __future__ import annotations

from collections.abc import Collection

from isolane.conformance import bounds
from isolane.conformance.checkers.concurrency import REQUESTS
from isolane.conformance.depth import Depth
from isolane.conformance.scenarios import telling_slots
from isolane.conformance.scenarios.model import Scenario
from isolane.conformance.shape import Shape, TenantShape
from isolane.conformance.world import World
from isolane.fixtures.cluster import Script, When
from isolane.fixtures.implementations.descriptor import Descriptor

STEPS, STEADY = "steps", "steady"
"""The tenants: one whose cluster refuses everything, and later admits a few at once; one that is slow in between."""

LATENCY = 0.2
"""Seconds that every request takes, so that concurrency is what makes the rate."""

CEILING = 8
"""Where no ceiling is promised."""

PARTITIONS, EACH = 6, 3
"""Partitions for each slot of the ceiling, and records that come for each request that it lets through.

A request may take all that waits of its partition. So many partitions have something again before their next turn,
and go on having it when the load comes half a second late.
"""

FAILING = Script(status=503, when=When(every=100))
"""LIM-7: one request in a hundred fails."""

SLOW_FACTOR = 1.75
"""What a slow request takes of the time after which it counts as slow."""

BUSY = Script(latency=LATENCY)

JUDGES = ("LIM-1", "LIM-2", "LIM-3", "LIM-4", "LIM-5", "LIM-6", "LIM-7", "LIM-8", "DEL-1", "OFF-1", "TEN-2")


def _ceiling(descriptor: Descriptor) -> int:
    return round(bounds.effective(descriptor).get("cap_ceiling", CEILING))


def shape(descriptor: Descriptor) -> Shape:
    """Two tenants with more partitions, and more load, than the ceiling needs."""
    ceiling = _ceiling(descriptor)
    rate = EACH * ceiling / LATENCY
    return Shape(
        tuple(TenantShape(name, "sick", partitions=PARTITIONS * ceiling, rate=rate) for name in (STEPS, STEADY)),
        scraped=True,
    )


def untried(descriptor: Descriptor) -> Collection[str]:
    """Who claims no adaptive limiter need not live through this."""
    return telling_slots.untold(descriptor) if descriptor.features.get("adaptive_limiter") else JUDGES


def story(world: World, depth: Depth) -> None:
    """Begin before busy clusters; saturate; refuse everything; admit a few; be slow; fail now and then; drain."""
    ceiling, slow_after = _ceiling(world.descriptor), bounds.effective(world.descriptor)["slow_after"]
    for tenant in (STEPS, STEADY):
        world.behave(tenant, BUSY)
    world.members.start()
    world.await_ready(timeout=world.patience)
    world.load_within(float("inf"))
    world.phase("control")
    world.run_for(depth.control)
    admitting = Script(latency=LATENCY, admit=max(2, ceiling // 2))
    _refused(world, STEPS, depth, Script(latency=LATENCY, status=429))
    _regrowing(world, STEPS, "limit-admit", admitting)
    world.phase("fault:limit-slow")
    world.inject(STEADY, "limit-slow", Script(latency=SLOW_FACTOR * slow_after))
    world.run_for(max(depth.brief, 3 * slow_after))
    world.heal(STEADY, "limit-slow", BUSY)
    world.phase("heal:limit-slow")
    world.await_backlog_of(STEADY, timeout=world.patience)
    _refused(world, STEADY, depth, Script(latency=LATENCY, items=(429,)))
    _regrowing(world, STEADY, "limit-failing", BUSY)
    for tenant in (STEPS, STEADY):
        world.behave(tenant)
    world.drain(timeout=world.patience)
    telling_slots.rest(world)


def _refused(world: World, tenant: str, depth: Depth, script: Script) -> None:
    """Refuse everything of a tenant for a while."""
    name = f"limit-refused-{tenant}"
    world.phase(f"fault:{name}")
    world.inject(tenant, name, script)
    world.run_for(depth.brief)
    world.heal(tenant, name)


def _regrowing(world: World, tenant: str, name: str, script: Script) -> None:
    """Let a tenant's cluster take requests again, but for one in a hundred, until a cap must have grown again."""
    world.phase(f"fault:{name}")
    begun = world.requests(tenant)
    world.inject(tenant, name, script, FAILING)
    world.await_requests(tenant, begun + REQUESTS * _ceiling(world.descriptor), timeout=2 * world.patience)
    world.heal(tenant, name, BUSY)


SCENARIO = Scenario(
    name="limiter",
    title="two saturated tenants, whose clusters push back, admit a few at once, and are slow",
    judges=JUDGES,
    shape=shape,
    story=story,
    depths=("standard", "soak"),
    untried=untried,
)
