"""Nodes: real Elasticsearch, which no script excuses: a node is killed, another one refuses, and the member dies, too.

What only a real cluster shows: whether it takes the documents, of all signals, with its own mappings; whether what it
had acknowledged is there after SIGKILL (field bugs FB-04 and FB-44: what a queue held, and what a reply that never came
had confirmed); and whether its own refusals, of an index that is blocked, lose anything (FB-02, FB-23). The final truth
is read by searching.
"""

from __future__ import annotations

from isolane.conformance.depth import Depth
from isolane.conformance.outages import without_node, write_block
from isolane.conformance.scenarios.model import Scenario
from isolane.conformance.shape import Shape, TenantShape
from isolane.conformance.world import World
from isolane.fixtures.implementations.descriptor import Descriptor

LIFE = 2.0
"""Seconds that each life of the member lasts under load."""

AWAY = 3.0
"""Seconds that a node is not there, or refuses, before the member dies as well."""


def shape(_descriptor: Descriptor) -> Shape:
    """Three tenants, each with a node of its own."""
    return Shape(
        (
            TenantShape("killed", "sick", partitions=4, rate=25),
            TenantShape("blocked", "sick", partitions=2, rate=25),
            TenantShape("signals", "healthy", partitions=2, rate=30, signals="all"),
        )
    )


def story(world: World, depth: Depth) -> None:
    """Kill the member as often as the depth says; then once more while one node is gone and another refuses; drain.

    Each life lasts until the healthy tenant has everything that was sent before: so the member has met the others, too.
    """
    world.members.start()
    world.await_ready(timeout=world.patience)
    world.load_within(float("inf"))
    world.phase("crashes")
    for _ in range(depth.crashes):
        world.run_for(LIFE)
        world.members.kill()
        world.look()
        world.members.start()
        world.await_backlog_of("signals", timeout=world.patience)
    world.phase("away")
    with write_block(world, "blocked"), without_node(world, "killed"):
        world.run_for(AWAY)
        world.await_backlog_of("signals", timeout=world.patience)
        world.members.kill()
        world.members.start()
        world.await_backlog_of("signals", timeout=world.patience)
    world.phase("back")
    for tenant in ("killed", "blocked"):
        world.await_backlog_of(tenant, timeout=world.patience)
    world.drain(timeout=world.patience)


SCENARIO = Scenario(
    name="nodes",
    title="real nodes: one is killed, another one refuses, and the member is killed under load",
    judges=("TEN-2", "TEN-3", "DEL-1", "DEL-9", "OFF-1", "OFF-2"),
    shape=shape,
    story=story,
    clusters="native",
)
