"""Stalled: every cluster fails in a way of its own, longer than the poll interval; members come, die and are stopped.

Field bugs FB-25 (nobody pauses what is inherited), FB-31 (no poll while everything waits), FB-35 (a revoke that waits
for what cannot happen) and FB-07 (a stop that commits what was only read).
"""

from __future__ import annotations

from collections.abc import Collection

from isolane.conformance.depth import Depth
from isolane.conformance.scenarios.model import Scenario
from isolane.conformance.scenarios.one_sick import KINDS
from isolane.conformance.shape import Shape, TenantShape
from isolane.conformance.world import ACKNOWLEDGED_WITHIN, World
from isolane.fixtures.implementations.descriptor import Descriptor

MIB = 1024**2

PARTITIONS, RECORD, BACKLOG = 3, 12 * 1024, 60 * MIB
"""Of each tenant; bytes of a record, and of all backlogs together before anybody dies: whoever inherits, it is deep."""

IN_FLIGHT, BUDGET = MIB // 4, 8 * MIB
"""The bytes of a partition and of the process that an implementation is configured with, if it promised more."""

POLL_INTERVAL = 10.0
"""Seconds after which a member that does not poll is expelled: no more, so that an outage can be longer."""

OUTAGE = 1.3
"""How many poll intervals the outage lasts before anybody comes or goes."""

RATE = 5.0
"""Records a second of each tenant."""

TOGETHER, SETTLED, RESTARTED = 3.0, 6.0, 1.0
"""Seconds that two members share everything, that one gets to come to rest with all of it, and of a start-up."""


TENANTS = {name.replace("-", ""): name for name in KINDS}
"""A tenant for each way to fail."""


def shape(descriptor: Descriptor) -> Shape:
    """A tenant for each way to fail, each with a deep backlog."""
    padding = RECORD // descriptor.output.items_per_record
    return Shape(tuple(TenantShape(tenant, "sick", PARTITIONS, RATE, padding=padding) for tenant in TENANTS))


def adapt(descriptor: Descriptor) -> Descriptor:
    """The implementation with small allowances, where it promises any, and a short poll interval."""
    lowered = {
        name: min(promised, small)
        for name, small in (("in_flight_bytes", IN_FLIGHT), ("process_bytes", BUDGET))
        if (promised := getattr(descriptor.limits, name)) is not None
    }
    timing = descriptor.timing
    interval = min(timing.max_poll_interval, max(POLL_INTERVAL, timing.session_timeout))
    return descriptor.model_copy(
        update={
            "limits": descriptor.limits.model_copy(update=lowered),
            "timing": timing.model_copy(update={"max_poll_interval": interval}),
        }
    )


def story(world: World, depth: Depth) -> None:
    """Stall everything; wait; let a member come, and die; stop members in the outage; heal and drain."""
    world.members.start(0)
    world.await_ready(timeout=world.patience)
    world.load_within(float("inf"))
    world.phase("well")
    world.run_for(depth.control / 5)
    world.phase("stalled")
    for tenant, name in TENANTS.items():
        world.inject(tenant, name, KINDS[name])
        world.send(tenant, count=BACKLOG // RECORD // len(TENANTS))
    world.load.flush(ACKNOWLEDGED_WITHIN)
    world.run_for(OUTAGE * world.descriptor.timing.max_poll_interval)
    several = world.descriptor.group.max_members > 1
    if several:
        _inherit(world)
    _stop(world, several=several)
    for tenant, name in TENANTS.items():
        world.heal(tenant, name)
    world.drain(timeout=2 * world.patience)


def _inherit(world: World) -> None:
    """Let another member come, take its part, and die."""
    world.phase("joined")
    world.members.start(1)
    world.await_members(2, timeout=world.patience)
    world.run_for(TOGETHER)
    world.phase("inherited")
    world.members.kill(1)
    world.await_members(1, timeout=world.patience)
    world.run_for(SETTLED)


def _stop(world: World, *, several: bool) -> None:
    """Stop the member that is saturated; another one as it starts; and one as a third one joins it."""
    world.phase("stopped")
    world.members.stop(0)
    world.members.start(0)
    world.run_for(RESTARTED)
    world.members.stop(0)
    world.members.start(0)
    if several:
        world.await_members(1, timeout=world.patience)
        world.members.start(1)
        world.await_unrest(timeout=world.patience)
        world.members.stop(0)


def untried(descriptor: Descriptor) -> Collection[str]:
    """What takes a second member."""
    return () if descriptor.group.max_members > 1 else ("REB-1", "REB-5", "REB-6")


SCENARIO = Scenario(
    name="stalled",
    title="every cluster fails for longer than the poll interval; members come, die, and are stopped",
    judges=("REB-1", "REB-5", "REB-6", "LIF-1", "LIF-2", "DEL-1", "DEL-8", "OFF-1", "OFF-2", "TEN-2"),
    shape=shape,
    story=story,
    depths=("standard", "soak"),
    adapt=adapt,
    untried=untried,
)
