"""Isolation: one tenant's cluster is slow, then pushes back in three ways; the others must not notice.

Field bugs FB-17, FB-18, FB-19, FB-21: a shared allowance, poll, intake or retry pool that one sick tenant
fills. One control serves every fault, since the load is the same throughout. `one_sick` is the longer form of it.
"""

from __future__ import annotations

from isolane.conformance.depth import Depth
from isolane.conformance.scenarios.model import Scenario
from isolane.conformance.shape import Shape, TenantShape
from isolane.conformance.world import World
from isolane.fixtures.cluster import Script
from isolane.fixtures.implementations.descriptor import Descriptor

SLOW = 5.0
"""Seconds that a slow cluster takes for a request (ISO-1)."""

BURST = 3000
"""Records that measure capacity: all due at once."""

SETTLE = 1.0
"""Seconds between control and first fault, so that the control's last records do not wait behind the fault."""

SHARE_OF_CAPACITY = 0.3
"""The most that isolation may be judged at (ISO)."""

PUSH_BACK = {
    "pushback-429": Script(status=429),
    "pushback-items": Script(items=(429,)),
    "pushback-503": Script(status=503),
}
"""ISO-3: 429 for the request, 429 for each item of a 200, 503."""


def shape(descriptor: Descriptor) -> Shape:
    """One tenant to fall sick, with as many partitions as there are sending workers, and three healthy ones."""
    healthy = (TenantShape(name, "healthy", partitions=2, rate=60) for name in ("b", "c", "d"))
    return Shape((TenantShape("a", "sick", partitions=descriptor.limits.workers, rate=100), *healthy))


def story(world: World, depth: Depth) -> None:
    """Measure capacity, live without a fault, then with each, heal and drain."""
    world.members.start()
    world.await_ready(timeout=world.patience)
    capacity = world.measure_capacity(BURST)
    world.load_within(SHARE_OF_CAPACITY * capacity)
    world.phase("control")
    world.run_for(depth.control)
    world.phase("settle")
    world.run_for(SETTLE)
    with world.fault("a", "slow", Script(latency=SLOW)):
        world.run_for(depth.slow)
    world.phase("heal:slow")
    world.await_backlog_of("a", timeout=world.patience)
    for name, script in PUSH_BACK.items():
        with world.fault("a", name, script):
            world.run_for(depth.brief)
        world.phase(f"heal:{name}")
        world.await_backlog_of("a", timeout=world.patience)
    world.drain(timeout=world.patience)


SCENARIO = Scenario(
    name="isolation",
    title="one tenant's cluster is slow, then pushes back",
    judges=("ISO-1", "ISO-3", "DEL-1", "OFF-1", "TEN-2"),
    shape=shape,
    story=story,
    depths=("smoke",),
)
