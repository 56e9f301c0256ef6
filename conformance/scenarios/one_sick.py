"""One sick: a tenant of another width falls sick in another way each time, while the next one still recovers.

Field bugs FB-17, FB-18, FB-19, FB-21, FB-22 and FB-23: what one tenant fills, holds or retries that others need, too.
One control serves every fault, since the load is the same throughout.
"""

from __future__ import annotations

from collections.abc import Iterator

from isolane.conformance.depth import Depth
from isolane.conformance.scenarios.isolation import BURST, PUSH_BACK, SETTLE, SHARE_OF_CAPACITY, SLOW
from isolane.conformance.scenarios.model import Scenario
from isolane.conformance.shape import Shape, TenantShape
from isolane.conformance.world import World
from isolane.fixtures.cluster import Script, Trickle
from isolane.fixtures.implementations.descriptor import Descriptor

NARROW, WIDE, WIDEST = "narrow", "wide", "widest"
"""The tenants that fall sick: with one partition, with as many as there are sending workers, and with twice as many."""

HEALTHY = ("b", "c", "d")

SICK_RATE, HEALTHY_RATE = 60.0, 20.0
"""Records a second of each tenant."""

DEADLINE = 8.0
"""Seconds that an attempt may take: what a black hole has swallowed must not outlast it for long."""

IN_FLIGHT = 32
"""Records of a partition that may be in flight: few, so that back-pressure sets in while a fault lasts."""

KINDS = {
    "slow": Script(latency=SLOW),
    "trickle": Script(trickle=Trickle(size=8, interval=0.5)),
    "refuse": Script(refuse=True),
    "blackhole": Script(black_hole=True),
    "reset": Script(reset_after=20),
    **PUSH_BACK,
}
"""ISO-1, ISO-2 and ISO-3: slow in two ways, gone in three, and pushing back in three."""

HOLDING = frozenset({"slow", "trickle", "blackhole"})
"""The kinds whose requests are open for a while after the heal: until then the tenant is sick, and no other may be."""

FEW = (
    (NARROW, "slow"),
    (WIDE, "trickle"),
    (WIDEST, "blackhole"),
    (NARROW, "reset"),
    (WIDE, "refuse"),
    (NARROW, "pushback-429"),
    (WIDE, "pushback-items"),
    (WIDEST, "pushback-503"),
)
"""What is tried where there is no time for all: each requirement with each width, and each kind.

That the widest is slow is left to `long_sick`.
"""


def shape(descriptor: Descriptor) -> Shape:
    """Three tenants to fall sick, and three healthy ones."""
    widths = {NARROW: 1, WIDE: descriptor.limits.workers, WIDEST: 2 * descriptor.limits.workers}
    sick = (TenantShape(name, "sick", partitions, SICK_RATE) for name, partitions in widths.items())
    return Shape((*sick, *(TenantShape(name, "healthy", partitions=2, rate=HEALTHY_RATE) for name in HEALTHY)))


def story(world: World, depth: Depth) -> None:
    """Measure capacity, live without a fault, then with one after the other; heal and drain."""
    world.members.start()
    world.await_ready(timeout=world.patience)
    world.load_within(SHARE_OF_CAPACITY * world.measure_capacity(BURST))
    world.phase("control")
    world.run_for(depth.control)
    world.phase("settle")
    world.run_for(SETTLE)
    gone: set[str] = set()  # who did not come back from one fault has nothing to show in another
    for tenant, kind in _cases(depth):
        if tenant in gone or not _comes_back(world, tenant, gone):
            continue
        name = f"{kind}-{tenant}"
        with world.fault(tenant, name, KINDS[kind]):
            world.run_for(depth.brief)
        world.phase(f"heal:{name}")
        if kind in HOLDING:
            _comes_back(world, tenant, gone)
    world.drain(timeout=world.patience)


def _comes_back(world: World, tenant: str, gone: set[str]) -> bool:
    """Wait until nothing is left behind of a tenant; whether that came true. If not it is gone."""
    if world.await_backlog_of(tenant, timeout=world.patience):
        return True
    gone.add(tenant)
    return False


def adapt(descriptor: Descriptor) -> Descriptor:
    """The implementation, with attempts and an allowance that are no larger than the faults are long."""
    limits, timing = descriptor.limits, descriptor.timing
    few = None if limits.in_flight_records is None else min(limits.in_flight_records, IN_FLIGHT)
    return descriptor.model_copy(
        update={
            "timing": timing.model_copy(update={"request_timeout": min(timing.request_timeout, DEADLINE)}),
            "limits": limits.model_copy(update={"in_flight_records": few}),
        }
    )


def _cases(depth: Depth) -> Iterator[tuple[str, str]]:
    if depth.name != "soak":
        yield from FEW
        return
    for kind in KINDS:
        yield from ((tenant, kind) for tenant in (NARROW, WIDE, WIDEST))


SCENARIO = Scenario(
    name="one_sick",
    title="tenants of every width fall sick in every way, one after the other",
    judges=("ISO-1", "ISO-2", "ISO-3", "ISO-7", "DEL-1", "OFF-1", "OFF-2", "OFF-4", "TEN-2"),
    shape=shape,
    story=story,
    depths=("standard", "soak"),
    adapt=adapt,
)
