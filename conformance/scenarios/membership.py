"""Membership: members join, are restarted one by one, frozen beyond their session and woken, and killed, under load.

Field bugs FB-08, FB-09, FB-15, FB-33 and FB-38: completions, positions and pending lists that outlive an ownership, or
do not survive somebody else's, and work that is thrown away although there was time for it.
"""

from __future__ import annotations

from collections.abc import Collection

from isolane.conformance import bounds
from isolane.conformance.depth import Depth
from isolane.conformance.scenarios.model import Scenario
from isolane.conformance.shape import Shape, TenantShape
from isolane.conformance.world import World
from isolane.fixtures.cluster import Script
from isolane.fixtures.implementations.descriptor import Descriptor

TENANTS = ("a", "b", "c")

PARTITIONS, RATE = 4, 40.0
"""Of each tenant, and its records a second."""

BUSY = 0.5
"""Seconds that clusters take for a request when nothing is special."""

SLOWLY = 0.75
"""The part of what the implementation takes for slow that a request takes while members come and go (REB-7)."""

TOGETHER, CALM = 1.0, 6.0
"""Seconds that members are together before the next one is restarted, and without a change."""

FIRST, SECOND = 0, 1
"""The members."""


JUDGES = ("REB-1", "REB-2", "REB-3", "REB-7", "DEL-1", "DEL-8", "OFF-1", "OFF-2", "OFF-5", "TEN-2")


def shape(_descriptor: Descriptor) -> Shape:
    """Three tenants alike."""
    return Shape(tuple(TenantShape(name, "healthy", PARTITIONS, RATE) for name in TENANTS))


def untried(descriptor: Descriptor) -> Collection[str]:
    """Who can only be alone need not live through this."""
    return () if descriptor.group.max_members > 1 else JUDGES


def story(world: World, _depth: Depth) -> None:
    """Let a member join; restart both; freeze one and wake it; kill one; heal and drain."""
    _behave(world, Script(latency=BUSY))
    world.members.start(FIRST)
    world.await_ready(timeout=world.patience)
    world.load_within(float("inf"))
    world.phase("joined")
    world.members.start(SECOND)
    world.await_shared(2, timeout=world.patience)
    world.run_for(CALM)
    slow = SLOWLY * bounds.effective(world.descriptor)["slow_after"]
    _behave(world, Script(latency=slow))
    world.phase("rolling")
    for member in (SECOND, FIRST):
        world.members.stop(member)
        world.members.start(member)
        world.await_shared(2, timeout=world.patience)
        world.run_for(TOGETHER + slow)
    world.phase("frozen")
    world.members.freeze(SECOND)
    world.await_members(1, timeout=2 * bounds.effective(world.descriptor)["session_timeout"])
    world.run_for(slow)
    world.members.thaw(SECOND)
    world.await_shared(2, timeout=world.patience)
    _behave(world, Script(latency=BUSY))
    world.run_for(CALM)
    world.phase("killed")
    world.members.kill(FIRST)
    world.await_members(1, timeout=world.patience)
    world.run_for(CALM)
    _behave(world)
    world.drain(timeout=2 * world.patience)


def _behave(world: World, *layers: Script) -> None:
    for tenant in TENANTS:
        world.behave(tenant, *layers)


SCENARIO = Scenario(
    name="membership",
    title="members join, are restarted one by one, frozen and woken, and killed",
    judges=JUDGES,
    shape=shape,
    story=story,
    depths=("standard", "soak"),
    untried=untried,
)
