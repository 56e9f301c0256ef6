"""One sick: a tenant of another width falls sick in another way each time, or is loud; then everybody at once.

Field bugs FB-17, FB-18, FB-19, FB-21, FB-22 and FB-23: what one tenant fills, holds or retries that others need, too.
One control serves every fault, since the load is the same throughout.
"""

from __future__ import annotations

import time
from collections.abc import Collection, Iterator
from functools import partial

from isolane.conformance.checkers.comparison import WINDOW
from isolane.conformance.checkers.recovery import UNDISTURBED
from isolane.conformance.depth import Depth
from isolane.conformance.load import PADDING, Draft
from isolane.conformance.scenarios.isolation import BURST, PUSH_BACK, SETTLE, SHARE_OF_CAPACITY, SLOW
from isolane.conformance.scenarios.model import Scenario
from isolane.conformance.shape import Shape, TenantShape
from isolane.conformance.world import World
from isolane.fixtures import payloads
from isolane.fixtures.cluster import ItemRule, Script, Trickle
from isolane.fixtures.implementations.descriptor import Descriptor

NARROW, WIDE, WIDEST = "narrow", "wide", "widest"
"""The tenants that fall sick: with one partition, with as many as there are sending workers, and with twice as many."""

SEVERAL = "several"
"""The tenant with several topics."""

HEALTHY = ("b", "c", "d")

SICK_RATE, HEALTHY_RATE = 60.0, 20.0
"""Records a second of each tenant."""

DEADLINE = 8.0
"""Seconds that an attempt may take here: what a black hole has swallowed must not outlast it for long."""

SLOWLY = Script(latency=SLOW)

KINDS = {
    "slow": SLOWLY,
    "trickle": Script(trickle=Trickle(size=8, interval=0.5)),
    "refuse": Script(refuse=True),
    "blackhole": Script(black_hole=True),
    "reset": Script(reset_after=20),
    **PUSH_BACK,
}
"""ISO-1, ISO-2 and ISO-3: slow in two ways, gone in three, and pushing back in three."""

FEW = (
    (NARROW, "slow"),
    (WIDE, "trickle"),
    (NARROW, "reset"),
    (WIDE, "refuse"),
    (WIDEST, "blackhole"),
    (NARROW, "pushback-429"),
    (WIDE, "pushback-items"),
    (WIDEST, "pushback-503"),
)
"""What is tried where there is no time for all: each requirement with each width, and each kind once."""

LARGE = 4
"""How many times larger than others the records of a flood are."""

FLOODS = {"smoke": (100,), "standard": (100,), "soak": (2, 4, 8, 100)}
"""How many times the volume of another tenant a flood has, by depth: several give a curve (ISO-4)."""

BLOCKED = Script(item_rules=(ItemRule(status=403, pattern="isotok[0-9a-f]{4}0000"),))
"""ISO-6: the items of the first topic are refused, as with an index that is blocked for writing."""

STALLED = Script(item_rules=(ItemRule(status=503, pattern="isotok[0-9a-f]{8}0000"),))
"""ISO-9: the items of a tenant's first partition are refused."""


def shape(descriptor: Descriptor) -> Shape:
    """Three tenants to fall sick, three healthy ones, and one with several topics where there can be any."""
    workers, signals = descriptor.limits.workers, len(descriptor.input.signals)
    several = [TenantShape(SEVERAL, "sick", partitions=2, rate=HEALTHY_RATE * signals, signals="all")]
    return Shape(
        (
            *(several if signals > 1 else []),
            TenantShape(NARROW, "sick", partitions=1, rate=SICK_RATE),
            TenantShape(WIDE, "sick", partitions=workers, rate=SICK_RATE),
            TenantShape(WIDEST, "sick", partitions=2 * workers, rate=SICK_RATE),
            *(TenantShape(name, "healthy", partitions=2, rate=HEALTHY_RATE) for name in HEALTHY),
        )
    )


def story(world: World, depth: Depth) -> None:
    """Measure, live without a fault, then with one after the other, and with all at once; heal and drain."""
    world.members.start()
    world.await_ready(timeout=world.patience)
    capacity = world.measure_capacity(BURST)
    world.load_within(SHARE_OF_CAPACITY * capacity)
    world.phase(UNDISTURBED)
    world.send(WIDEST, count=round(SICK_RATE * world.scale * depth.slow))
    world.await_backlog_of(WIDEST, timeout=world.patience)
    world.phase("control")
    world.run_for(depth.control)
    world.phase("settle")
    world.run_for(SETTLE)
    _sick(world, WIDEST, "slow", depth.slow)
    _healed(world, WIDEST, at_least=WINDOW)
    for tenant, kind in _cases(depth):
        _sick(world, tenant, kind, depth.brief)
    _healed(world, NARROW, WIDE, WIDEST)
    for times in FLOODS[depth.name]:
        _flood(world, times, depth.brief)
    _parts(world, depth)
    _all(world, depth)
    world.drain(timeout=world.patience)


def adapt(descriptor: Descriptor) -> Descriptor:
    """The implementation, with a deadline for each attempt that is not longer than the faults."""
    timing = descriptor.timing.model_copy(update={"request_timeout": min(descriptor.timing.request_timeout, DEADLINE)})
    return descriptor.model_copy(update={"timing": timing})


def untried(descriptor: Descriptor) -> Collection[str]:
    """A tenant of one topic has no other one that could go on."""
    return () if len(descriptor.input.signals) > 1 else ("ISO-6",)


def _cases(depth: Depth) -> Iterator[tuple[str, str]]:
    if depth.name != "soak":
        yield from FEW
        return
    for kind in KINDS:
        yield from ((tenant, kind) for tenant in (NARROW, WIDE, WIDEST) if (tenant, kind) != (WIDEST, "slow"))


def _sick(world: World, tenant: str, kind: str, seconds: float) -> None:
    """Let a tenant's cluster be sick for a while, with nothing left behind by what it had before."""
    name = f"{kind}-{tenant}"
    world.await_backlog_of(tenant, timeout=world.patience)
    with world.fault(tenant, name, KINDS[kind]):
        world.run_for(seconds)
    world.phase(f"heal:{name}")


def _healed(world: World, *tenants: str, at_least: float = 0) -> None:
    """Wait until nothing is left behind of the tenants whose phase of healing has begun."""
    began = time.monotonic()
    for tenant in tenants:
        world.await_backlog_of(tenant, timeout=world.patience)
    world.run_for(max(0.0, began + at_least - time.monotonic()))


def _flood(world: World, times: int, seconds: float) -> None:
    """Let a tenant send so many times the volume of a healthy one, in runs of a second each (FB-19)."""
    name = f"flood-{times}"
    run = Draft(value=partial(payloads.value, padding=LARGE * PADDING))
    world.phase(f"fault:{name}")
    world.inject(WIDE, name)
    ended = time.monotonic() + seconds
    while (now := time.monotonic()) < ended:
        world.send(WIDE, run, count=round(times * HEALTHY_RATE * world.scale / LARGE))
        world.run_for(max(0.0, min(ended, now + 1) - time.monotonic()))
    world.heal(WIDE, name)
    world.phase(f"heal:{name}")
    _healed(world, WIDE)


def _parts(world: World, depth: Depth) -> None:
    """Stall a topic of one tenant, and a partition of another."""
    cases = [(WIDE, "stall", STALLED)]
    if len(world.descriptor.input.signals) > 1:
        cases.append((SEVERAL, "block", BLOCKED))
    for tenant, name, script in cases:
        with world.fault(tenant, name, script):
            world.run_for(depth.brief)
        world.phase(f"heal:{name}")
        _healed(world, tenant)


def _all(world: World, depth: Depth) -> None:
    """Let all clusters fail and heal at once."""
    tenants = [tenant.name for tenant in shape(world.descriptor).tenants]
    world.phase("fault:all")
    for tenant in tenants:
        world.inject(tenant, "all", Script(status=503))
    world.run_for(depth.brief)
    for tenant in tenants:
        world.heal(tenant, "all")
    world.phase("heal:all")
    _healed(world, *tenants)


SCENARIO = Scenario(
    name="one_sick",
    title="tenants of every width fall sick in every way, one at a time; then all at once",
    judges=(
        *("ISO-1", "ISO-2", "ISO-3", "ISO-4", "ISO-6", "ISO-7", "ISO-8", "ISO-9", "ISO-10"),
        *("DEL-1", "OFF-1", "TEN-2"),
    ),
    shape=shape,
    story=story,
    depths=("standard", "soak"),
    adapt=adapt,
    untried=untried,
)
