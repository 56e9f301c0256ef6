"""Operation: wrong configurations, no broker at first, metrics, refused credentials, changing tenants, a clean restart.

What an operator does to a process that runs, and what its surroundings do, one after the other, under light load.
"""

from __future__ import annotations

from collections.abc import Collection

from isolane.conformance.checkers.clean_stops import RESTARTED
from isolane.conformance.checkers.metrics import PHASE as METRICS
from isolane.conformance.checkers.services_away import AWAY
from isolane.conformance.checkers.tenant_changes import EFFECT
from isolane.conformance.depth import Depth
from isolane.conformance.scenarios import cycles, telling_slots
from isolane.conformance.scenarios.model import Scenario
from isolane.conformance.shape import Shape, TenantShape
from isolane.conformance.world import World
from isolane.fixtures.cluster import Script
from isolane.fixtures.implementations.descriptor import Descriptor
from isolane.fixtures.processes import LOOPBACK, free_ports

HEALTHY = ("b", "c")
COLD, LOCKED, SLUGGISH, MOVER, LEAVER = "cold", "locked", "sluggish", "mover", "leaver"
"""Who has no cluster at first, whose credentials are refused, whose cluster is slow, who moves, and who goes."""

RATE = 10.0
"""Records a second of each tenant."""

REFUSED_WITHIN = 60.0
"""Seconds that wrong configurations may take to be refused: as many processes start at once, of whatever language."""

NO_BROKER = 5.0
"""Seconds from the start of members to when one of them is told to stop: they have begun to look for a broker."""

SLOW, BACKLOG, IN_FLIGHT = 1.0, 1500, 8
"""Seconds that the sluggish cluster takes for a request; records that wait for it, and a partition's in flight."""

MEASURED, UNAUTHORIZED, LATER = 6.0, 3.0, 3.0
"""Seconds in which metrics are compared, that credentials are refused, and that broker and cluster are away again."""


def shape(descriptor: Descriptor) -> Shape:
    """Two healthy tenants, and one for each thing that happens to a tenant."""
    sick = (TenantShape(name, "sick", partitions=2, rate=RATE) for name in (COLD, LOCKED, MOVER, LEAVER))
    healthy = (TenantShape(name, "healthy", partitions=2, rate=RATE) for name in HEALTHY)
    sluggish = TenantShape(SLUGGISH, "sick", partitions=cycles.more_than_slots(descriptor), rate=RATE)
    return Shape((*healthy, *sick, sluggish), counted=True, scraped=True)


def adapt(descriptor: Descriptor) -> Descriptor:
    """The implementation with few records in flight, where it promises to bound those, so that some always wait."""
    if descriptor.limits.in_flight_records is None:
        return descriptor
    few = min(IN_FLIGHT, descriptor.limits.in_flight_records)
    return descriptor.model_copy(update={"limits": descriptor.limits.model_copy(update={"in_flight_records": few})})


def untried(descriptor: Descriptor) -> Collection[str]:
    """What a descriptor says nothing of."""
    config = descriptor.config
    tried = {
        "OPS-1": descriptor.features.get("metrics", False),
        "OPS-2": bool(config.wrong),
        "OPS-3": bool(config.credentials),
        "OPS-4": config.tenant_change != "none",
    }
    return [*telling_slots.untold(descriptor), *(requirement for requirement, given in tried.items() if not given)]


def story(world: World, _depth: Depth) -> None:
    """Be configured wrongly; start without services; be changed, measured, refused; lose services; restart; drain."""
    changes = world.descriptor.config.tenant_change != "none"
    nowhere = f"http://{LOOPBACK}:{free_ports(1)[0]}"
    world.phase("wrong")
    if changes:
        world.reconfigure(elsewhere={MOVER: nowhere})
    world.try_wrong(timeout=REFUSED_WITHIN)
    _start(world, later=(COLD, MOVER) if changes else (COLD,))
    world.load_within(float("inf"))
    if changes:
        _change(world)
    _measure(world)
    world.phase("refused")
    world.inject(LOCKED, "unknown", Script(status=401))
    world.run_for(UNAUTHORIZED)
    world.heal(LOCKED, "unknown")
    world.await_backlog_of(LOCKED, timeout=world.patience)
    _lose(world)
    world.phase(RESTARTED)
    world.members.stop(0)
    world.members.start(0)
    world.await_backlog_of(*HEALTHY, timeout=world.patience)
    world.drain(timeout=world.patience)
    telling_slots.rest(world)


def _start(world: World, later: tuple[str, ...]) -> None:
    """Start two members with no broker, and with one cluster away; stop one of them; then let both be there."""
    world.phase("nothing there")
    world.inject(COLD, AWAY, Script(refuse=True))
    if world.can_cut_off:
        world.cut_off()
    world.load.canaries()
    world.members.start(0)
    several = world.descriptor.group.max_members > 1
    if several:
        world.members.start(1)
    world.run_for(NO_BROKER)
    if several:
        world.members.stop(1)
    if world.can_cut_off:
        world.reconnect()
    if 0 not in world.members.pids:  # it gave up; all else can be tried nevertheless
        world.members.ended()
        world.members.start(0)
    world.await_ready(timeout=world.patience, without=later)
    world.heal(COLD, AWAY)
    world.await_backlog_of(COLD, timeout=world.patience)


def _measure(world: World) -> None:
    """Let more wait for a slow cluster than may be in flight."""
    world.inject(SLUGGISH, "sluggish", Script(latency=SLOW))
    world.send(SLUGGISH, count=BACKLOG)
    world.phase(METRICS)
    world.run_for(MEASURED)
    world.heal(SLUGGISH, "sluggish")
    world.phase("measured")
    world.await_backlog_of(SLUGGISH, timeout=world.patience)


def _change(world: World) -> None:
    """Give one tenant the endpoint that is right, take another one away, and bring it back."""
    world.phase("change:moved")
    world.reconfigure()
    world.await_backlog_of(MOVER, timeout=world.patience)
    world.phase("change:removed")
    world.reconfigure(without=(LEAVER,))
    world.run_for(2 * EFFECT)
    world.phase("change:added")
    world.reconfigure()
    world.await_backlog_of(LEAVER, timeout=world.patience)


def _lose(world: World) -> None:
    """Let the broker, and a cluster, be away for a while."""
    world.phase("away")
    world.inject(COLD, AWAY, Script(refuse=True))
    if world.can_cut_off:
        world.cut_off()
    world.run_for(LATER)
    if world.can_cut_off:
        world.reconnect()
    world.heal(COLD, AWAY)
    world.await_backlog_of(COLD, *HEALTHY, timeout=world.patience)


SCENARIO = Scenario(
    name="operation",
    title="wrong configurations, services that are away, metrics, credentials, tenants that change, a clean restart",
    judges=("LIM-8", "LIF-2", "LIF-3", "LIF-4", "OPS-1", "OPS-2", "OPS-3", "OPS-4", "DEL-1", "OFF-1", "OFF-2", "TEN-2"),
    shape=shape,
    story=story,
    depths=("standard", "soak"),
    adapt=adapt,
    untried=untried,
)
