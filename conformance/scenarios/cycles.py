"""Cycles: a second member comes and goes ten times, and fifty in soak, while one tenant is saturated throughout.

Field bugs FB-28 and FB-32: waiters, slots, allowances and pauses that outlive an ownership, a little with each cycle.
"""

from __future__ import annotations

from collections.abc import Collection

from isolane.conformance import bounds
from isolane.conformance.checkers.cycles import AFTER, BEFORE, CYCLES, FRESH
from isolane.conformance.depth import Depth
from isolane.conformance.scenarios import telling_slots
from isolane.conformance.scenarios.model import Scenario
from isolane.conformance.shape import Shape, TenantShape
from isolane.conformance.world import World
from isolane.fixtures.cluster import Script
from isolane.fixtures.implementations.descriptor import Descriptor

LOUD, STEADY = "loud", ("b", "c")
"""Who has always more waiting than is delivered, and who has not."""

STEADY_PARTITIONS, STEADY_RATE = 4, 20.0
"""Of each steady tenant, and its records a second."""

CEILING = 8
"""Slots of a tenant where no ceiling is promised; the loud one has half as many partitions more."""

LATENCY, IN_FLIGHT = 0.5, 8
"""Seconds that the loud tenant's cluster takes for a request, and the records of a partition that may be in flight.

So what is delivered of its partitions is bounded by what the implementation was told, not by the machine.
"""

PADDING, BUDGET = 3000, 8 * 1024**2
"""Bytes of an item, and of the process: what leaks with each cycle is missed before the last of them."""

BACKLOG = 100
"""Records that wait for each partition of the loud tenant from the start."""

MEASURED, TOGETHER = 6.0, 0.5
"""Seconds of a stretch in which throughput is measured, and that a member stays in the group once it is in."""

LIVES, VISITS = 0, 1
"""The members: the one that lives through the cycles, and the one that comes and goes."""


JUDGES = ("LIM-8", "REB-4", "REB-7", "REB-8", "DEL-1", "DEL-8", "OFF-1", "OFF-2", "OFF-5", "TEN-2")


def more_than_slots(descriptor: Descriptor) -> int:
    """How many partitions a tenant has of which some always wait for a slot, so that each slot counts."""
    return 3 * round(bounds.effective(descriptor).get("cap_ceiling", CEILING)) // 2


def shape(descriptor: Descriptor) -> Shape:
    """A tenant that is saturated, whoever serves it, and two that are not."""
    partitions = more_than_slots(descriptor)
    rate = 1.1 * partitions * IN_FLIGHT / LATENCY
    steady = (TenantShape(name, "healthy", STEADY_PARTITIONS, STEADY_RATE) for name in STEADY)
    return Shape((TenantShape(LOUD, "sick", partitions, rate, padding=PADDING), *steady), scraped=True)


def adapt(descriptor: Descriptor) -> Descriptor:
    """The implementation with little in flight, where it promises to bound that."""
    lowered = {
        name: min(promised, small)
        for name, small in (("in_flight_records", IN_FLIGHT), ("process_bytes", BUDGET))
        if (promised := getattr(descriptor.limits, name)) is not None
    }
    return descriptor.model_copy(update={"limits": descriptor.limits.model_copy(update=lowered)})


def untried(descriptor: Descriptor) -> Collection[str]:
    """Who can only be alone need not live through this."""
    return telling_slots.untold(descriptor) if descriptor.group.max_members > 1 else JUDGES


def story(world: World, depth: Depth) -> None:
    """Saturate; measure; come and go once, to have been through it; measure; come and go; measure again; drain."""
    world.behave(LOUD, Script(latency=LATENCY))
    world.members.start(LIVES)
    world.await_ready(timeout=world.patience)
    world.load_within(float("inf"))
    world.send(LOUD, count=BACKLOG * more_than_slots(world.descriptor))
    _measure(world, FRESH)
    _cycle(world, stays=True)
    _measure(world, BEFORE)
    world.phase(CYCLES)
    for number in range(depth.cycles):
        _cycle(world, stays=number % 2 == 0)
    _measure(world, AFTER)
    world.behave(LOUD)
    world.drain(timeout=2 * world.patience)
    telling_slots.rest(world)


def _cycle(world: World, *, stays: bool) -> None:
    """Let the other member come, and go: when it has its part, and is saturated too, or before, so that all is back.

    Where partitions move one by one, those that are to move have been given back by then, and are nobody's.
    """
    world.members.start(VISITS)
    if stays:
        world.await_shared(2, timeout=world.patience)
    else:
        world.await_members(2, timeout=world.patience)
    world.run_for(TOGETHER)
    world.members.stop(VISITS)


def _measure(world: World, name: str) -> None:
    world.phase(f"settle:{name}")
    world.await_members(1, timeout=world.patience)
    world.run_for(1.0)
    world.phase(name)
    world.run_for(MEASURED)


SCENARIO = Scenario(
    name="cycles",
    title="a second member comes and goes many times, at saturation",
    judges=JUDGES,
    shape=shape,
    story=story,
    depths=("standard", "soak"),
    adapt=adapt,
    untried=untried,
)
