"""Ownership: partitions change hands before the first commit, and while replies are slow, in a group at `latest`.

Field bugs FB-14 (what was written before the first commit, or before a partition was noticed, is jumped over), FB-08
and FB-09 (completions and positions of a former ownership), FB-10 (a batch that waits when its partition goes), and
FB-15 (a commit beyond the end of the log).
"""

from __future__ import annotations

from collections.abc import Sequence

from isolane.conformance.depth import Depth
from isolane.conformance.scenarios.model import Scenario
from isolane.conformance.shape import Shape, TenantShape
from isolane.conformance.world import World
from isolane.fixtures.cluster import Script, When
from isolane.fixtures.implementations.descriptor import Descriptor

SLOW = Script(latency=0.5, jitter=1.5)
"""As slow as a rebalance: replies come before it, during it and after it, and more waits all the while."""

OVERTAKING = (Script(latency=0.2), Script(latency=3.0, when=When(share=0.3)))
"""Mostly quick: a new owner has long gone on when a former one gets its last replies."""

CHURNED: dict[str, Sequence[Script]] = {"busy": (SLOW,), **dict.fromkeys(("quiet", "late", "growing"), OVERTAKING)}
"""What clusters do while members come and go, by tenant."""

WAITERS = ("first", "second", "third")
"""Tenants of one partition each, so that each one's arrival at its cluster shows that the group has begun there."""

WAITING = 2.0
"""Seconds for which records wait in partitions of which nothing is committed."""

TOGETHER = 2.0
"""Seconds that two members share the partitions."""

ALONE = 1.5
"""Seconds that one of them has all."""


def shape(_descriptor: Descriptor) -> Shape:
    """Three tenants whose clusters are away from the start, two with load, two whose topics are not all there yet."""
    return Shape(
        (
            *(TenantShape(name, "sick", partitions=1, rate=0) for name in WAITERS),
            TenantShape("busy", "sick", partitions=4, rate=60),
            TenantShape("quiet", "sick", partitions=4, rate=4),
            TenantShape("late", "sick", partitions=2, rate=10, late=True),
            TenantShape("growing", "sick", partitions=1, rate=10),
        ),
        initial_offset="latest",
        encoding="last",
    )


def story(world: World, depth: Depth) -> None:
    """Move what waits for its first commit; then discover what is new; then come and go while replies are slow."""
    several = world.descriptor.group.max_members > 1
    for tenant in WAITERS:
        world.inject(tenant, "away", Script(status=503))
    world.members.start(0)
    world.await_begun(timeout=world.patience)
    world.phase("uncommitted")
    for tenant in WAITERS:
        world.send(tenant, count=10)
    world.load_within(float("inf"))
    world.run_for(WAITING)
    if several:
        world.members.start(1)
        world.await_members(2, timeout=world.patience)
        world.run_for(ALONE)
        world.members.kill(0)
    else:
        world.members.kill(0)
        world.members.start(1)
    for tenant in WAITERS:
        world.heal(tenant, "away")
    world.await_backlog_of(*WAITERS, timeout=world.patience)
    world.phase("new")
    world.create("late")
    world.send("late", count=10)
    world.grow("growing", 3)
    world.send("growing", count=30)
    world.load_within(float("inf"))
    world.await_backlog_of("late", "growing", timeout=world.patience)
    _come_and_go(world, depth, several=several)
    world.drain(timeout=world.patience)


def _come_and_go(world: World, depth: Depth, *, several: bool) -> None:
    """Let members take each other's partitions while clusters are slow.

    In turn one comes and is stopped, so that the other gets back what it had before, and one comes and stays, while the
    other is killed.
    """
    world.phase("churn")
    for tenant, layers in CHURNED.items():
        world.inject(tenant, "slow", *layers)
    staying, other = 1, 0
    for turn in range(depth.moves):
        if several:
            world.members.start(other)
            world.await_members(2, timeout=world.patience)
            world.run_for(TOGETHER)
        if several and turn % 2 == 0:
            world.members.stop(other)
        else:
            world.members.kill(staying)
            staying, other = other, staying
        if not several:
            world.members.start(staying)
        world.run_for(ALONE)
    for tenant in CHURNED:
        world.heal(tenant, "slow")


SCENARIO = Scenario(
    name="ownership",
    title="partitions change hands before the first commit, and while replies are slow",
    judges=("TEN-1", "TEN-2", "DEL-1", "DEL-8", "OFF-1", "OFF-2", "OFF-4", "OFF-5", "OFF-6"),
    shape=shape,
    story=story,
    depths=("standard", "soak"),
)
