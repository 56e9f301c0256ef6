"""Long sick: one is slow for long, then shut, and recovers; one is loud, parts of others are stuck; all fail at once.

Field bugs FB-17, FB-19 and FB-23: a shared allowance takes a while to fill, a loud tenant fills what is ordered by
arrival, and what is stuck for good must not be retried where others wait.
"""

from __future__ import annotations

import time
from collections.abc import Collection
from functools import partial

from isolane.conformance.checkers.comparison import WINDOW
from isolane.conformance.checkers.recovery import UNDISTURBED
from isolane.conformance.depth import Depth
from isolane.conformance.load import PADDING, Draft
from isolane.conformance.scenarios.isolation import BURST, SETTLE, SHARE_OF_CAPACITY
from isolane.conformance.scenarios.model import Scenario
from isolane.conformance.scenarios.one_sick import HEALTHY, HEALTHY_RATE, KINDS, SICK_RATE, adapt
from isolane.conformance.shape import Shape, TenantShape
from isolane.conformance.tokens import Token
from isolane.conformance.world import ACKNOWLEDGED_WITHIN, World
from isolane.fixtures import payloads
from isolane.fixtures.cluster import ItemRule, Script
from isolane.fixtures.implementations.descriptor import Descriptor

SLUGGISH, LOUD, SEVERAL = "sluggish", "loud", "several"
"""Who is slow for long, who is loud and has a partition that is stuck, and who has several topics."""

SHUT = 12.0
"""Seconds that the first pushes back after it was slow: back-offs grow long, and the backlog is worth timing."""

LONGEST = 60.0
"""Seconds of load that are in the undisturbed backlog: any other is held against as much of it as it has itself."""

OUTAGE = 5.0
"""Seconds that all clusters are away."""

LARGE = 8 * PADDING
"""Bytes by which the text of each item of a flood is lengthened: its volume is in larger records, and in more."""

FLOODS = (2, 4, 8, 100)
"""How many times the volume of another tenant a flood has (ISO-4): the first ones are only a few points of a curve."""

POINT = 3.0
"""Seconds of such a point."""

BLOCKED = Script(item_rules=(ItemRule(status=403, pattern="isotok[0-9a-f]{4}0000"),))
"""ISO-6: the items of the world's first topic are refused, as with an index that is blocked for writing."""

STALLED = Script(item_rules=(ItemRule(status=503, pattern="isotok[0-9a-f]{8}0000"),))
"""ISO-9: the items of a tenant's first partition are refused."""

RETURNING = Script(latency=0.1)
"""What each cluster does when all are back: requests that come together are seen to."""


def shape(descriptor: Descriptor) -> Shape:
    """A tenant for each kind of trouble, the one with several topics first where there can be any; three healthy."""
    workers, signals = descriptor.limits.workers, len(descriptor.input.signals)
    several = TenantShape(SEVERAL, "sick", partitions=2, rate=HEALTHY_RATE * signals, signals="all")
    return Shape(
        (
            *([several] if signals > 1 else []),
            TenantShape(SLUGGISH, "sick", partitions=2 * workers, rate=SICK_RATE),
            TenantShape(LOUD, "sick", partitions=workers, rate=2 * HEALTHY_RATE),
            *(TenantShape(name, "healthy", partitions=2, rate=HEALTHY_RATE) for name in HEALTHY),
        )
    )


def story(world: World, depth: Depth) -> None:
    """Measure capacity and a drain, live without a fault, then with one after the other; heal and drain."""
    world.members.start()
    world.await_ready(timeout=world.patience)
    world.load_within(SHARE_OF_CAPACITY * world.measure_capacity(BURST))
    _drain_undisturbed(world)
    world.phase("control")
    world.run_for(depth.control)
    world.phase("settle")
    world.run_for(SETTLE)
    _live_with(world, SLUGGISH, "slow", KINDS["slow"], depth.slow)
    _live_with(world, SLUGGISH, "pushback-503", KINDS["pushback-503"], SHUT)
    for times in FLOODS:
        _flood(world, times, depth.brief if times == max(FLOODS) else POINT)
    _stall_parts(world, depth.brief)
    _fail_all(world)
    world.drain(timeout=world.patience)


def _drain_undisturbed(world: World) -> None:
    """Let a backlog drain that is there as a whole before anybody drains it: its rate must not be that of our load."""
    world.phase(UNDISTURBED)
    world.members.freeze()
    world.send(SLUGGISH, count=round(SICK_RATE * world.scale * LONGEST))
    world.load.flush(ACKNOWLEDGED_WITHIN)
    world.members.thaw()
    world.await_backlog_of(SLUGGISH, *HEALTHY, timeout=world.patience)


def untried(descriptor: Descriptor) -> Collection[str]:
    """A tenant of one topic has no other one that could go on."""
    return () if len(descriptor.input.signals) > 1 else ("ISO-6",)


def _live_with(world: World, tenant: str, name: str, script: Script, seconds: float) -> None:
    with world.fault(tenant, name, script):
        world.run_for(seconds)
    _recover(world, name, tenant)


def _recover(world: World, name: str, *tenants: str) -> None:
    """Wait until nothing is left behind of what a fault held up, and long enough to see what others feel of that."""
    world.phase(f"heal:{name}")
    began = time.monotonic()
    for tenant in tenants:
        world.await_backlog_of(tenant, timeout=max(0.0, began + world.patience - time.monotonic()))
    world.run_for(max(0.0, began + WINDOW - time.monotonic()))


def _flood(world: World, times: int, seconds: float) -> None:
    """Let a tenant send so many times the volume of a healthy one, in runs of a second each (FB-19)."""
    name = f"flood-{times}"
    large = Draft(value=partial(payloads.value, padding=LARGE))
    count = round(
        times * HEALTHY_RATE * world.scale * _size(world.descriptor, PADDING) / _size(world.descriptor, LARGE)
    )
    world.phase(f"fault:{name}")
    world.tell("fault", name, tenant=world.name_of(LOUD), script={"times": times})
    ended = time.monotonic() + seconds
    while (now := time.monotonic()) < ended:
        world.send(LOUD, large, count)
        world.run_for(max(0.0, min(ended, now + 1) - time.monotonic()))
    world.tell("heal", name, tenant=world.name_of(LOUD))
    world.phase(f"heal:{name}")
    world.await_backlog_of(LOUD, timeout=world.patience)


def _size(descriptor: Descriptor, padding: int) -> int:
    tokens = [str(Token(0, 0, 0, 0))] * descriptor.output.items_per_record
    return len(payloads.value(descriptor.input.encodings[0], descriptor.input.signals[0], tokens, padding=padding))


def _stall_parts(world: World, seconds: float) -> None:
    """Let a partition of one tenant be stuck, and a topic of another where there can be several, at the same time."""
    stuck = {LOUD: ("stall", STALLED)}
    if "ISO-6" not in untried(world.descriptor):
        stuck[SEVERAL] = ("block", BLOCKED)
    world.phase("fault:parts")
    for tenant, (name, script) in stuck.items():
        world.inject(tenant, name, script)
    world.run_for(seconds)
    for tenant, (name, _) in stuck.items():
        world.heal(tenant, name)
    world.phase("heal:parts")
    for tenant in stuck:
        world.await_backlog_of(tenant, timeout=world.patience)


def _fail_all(world: World) -> None:
    """Let all clusters fail and heal at once."""
    tenants = [tenant.name for tenant in shape(world.descriptor).tenants]
    world.phase("fault:all")
    for tenant in tenants:
        world.inject(tenant, "all", Script(status=503))
    world.run_for(OUTAGE)
    for tenant in tenants:
        world.heal(tenant, "all", RETURNING)
    _recover(world, "all", *tenants)
    for tenant in tenants:
        world.behave(tenant)


SCENARIO = Scenario(
    name="long_sick",
    title="one tenant is slow for long, another loud, parts of others are stuck; then all fail at once",
    judges=(
        *("ISO-1", "ISO-3", "ISO-4", "ISO-6", "ISO-7", "ISO-8", "ISO-9", "ISO-10"),
        *("DEL-1", "OFF-1", "OFF-2", "OFF-4", "TEN-2"),
    ),
    shape=shape,
    story=story,
    depths=("standard", "soak"),
    adapt=adapt,
    untried=untried,
)
