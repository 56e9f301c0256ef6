"""Memory: clusters are dead while the backlog has no end, with few partitions, with many, again, and compressed.

Before that, records larger than every allowance; after it, a long tail behind a stuck head. Field bugs FB-24 (what
waits for its retry is not counted), FB-25 (nobody pauses) and FB-26 (bounds for each partition, or compressed bytes).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial

from isolane.conformance import bounds
from isolane.conformance.checkers import span
from isolane.conformance.depth import Depth
from isolane.conformance.load import Draft
from isolane.conformance.scenarios.model import Scenario
from isolane.conformance.shape import Shape, TenantShape
from isolane.conformance.world import ACKNOWLEDGED_WITHIN, World
from isolane.fixtures import payloads
from isolane.fixtures.cluster import ItemRule, Script, When
from isolane.fixtures.implementations.descriptor import Descriptor

MIB = 1024**2

FEW, MANY, PACKED, TAIL, LARGE, HEALTHY = "few", "many", "packed", "tail", "large", "healthy"
"""The tenants: of few partitions, of many, of many with compressed records, and three more with two partitions each."""

RECORD = 12 * 1024
"""Bytes of a record of the backlog: small enough to be in every flush, large enough to be cheap to make."""

FILL = 48 * MIB
"""Bytes that are there at once when clusters die: more than any budget below."""

AT_LEAST, LEAST_RATE = 60 * MIB, 1 * MIB
"""Bytes that come while they are dead, and a second: a backlog without end."""

IN_FLIGHT, BUDGET = 1 * MIB, 12 * MIB
"""The bytes of a partition and of the process that an implementation is configured with, if it promised more."""

OVERSIZED = 13 * MIB
"""Bytes of a record that is larger than every allowance, and as large as Kafka takes here."""

HEALTHY_RATE, HEALTHY_LATENCY = 40.0, 0.1
"""Records a second of the healthy tenant, and seconds that its cluster takes for a request."""

DEAD = (
    Script(status=429),
    Script(status=408, when=When(every=2)),
    Script(status=425, when=When(every=3)),
    Script(status=502, not_json=True, when=When(every=4)),
    Script(status=503, reset_after=1, when=When(every=5)),
)
"""A cluster that accepts nothing, in every way that a health check may not know (FB-24)."""

SLOWLY = Script(latency=HEALTHY_LATENCY)

MARK = "stuckhead"
STUCK = Script(item_rules=(ItemRule(status=429, pattern=MARK),))

BEHIND, BESIDE, BEYOND, MOST = 20, 100, 2_000, 20_000
"""Records behind a large one, and beside a stuck head; behind it, more than its span; and in one partition at most."""

STILL = 2.0
"""Seconds without progress after which a partition waits."""


def _padding(descriptor: Descriptor) -> int:
    return RECORD // descriptor.output.items_per_record


def shape(descriptor: Descriptor, *, partitions: int = 64) -> Shape:
    """Tenants with few and with many partitions, and whoever is needed beside them."""
    padding = _padding(descriptor)
    return Shape(
        (
            TenantShape(FEW, "sick", partitions=4, rate=0, padding=padding),
            TenantShape(MANY, "sick", partitions=partitions, rate=0, padding=padding),
            TenantShape(PACKED, "sick", partitions=partitions, rate=0, padding=padding, codecs=("zstd",)),
            TenantShape(TAIL, "sick", partitions=2, rate=0),
            TenantShape(LARGE, "sick", partitions=2, rate=0),
            TenantShape(HEALTHY, "healthy", partitions=2, rate=HEALTHY_RATE),
        ),
        counted=True,
    )


def adapt(descriptor: Descriptor) -> Descriptor:
    """The implementation with small allowances, where it promises any: they are what its template sets."""
    lowered = {
        name: min(promised, small)
        for name, small in (("in_flight_bytes", IN_FLIGHT), ("process_bytes", BUDGET))
        if (promised := getattr(descriptor.limits, name)) is not None
    }
    return descriptor.model_copy(update={"limits": descriptor.limits.model_copy(update=lowered)})


def story(world: World, depth: Depth) -> None:
    """Pass large records, warm up, live without a fault; be dead four times; let a head be stuck; drain."""
    world.members.start()
    world.await_ready(timeout=world.patience)
    world.behave(HEALTHY, SLOWLY)
    _pass_large(world)
    _warm_up(world)
    world.phase("control")
    world.rates({HEALTHY: HEALTHY_RATE})
    world.run_for(depth.control / 2)
    _dead(world, depth, "dead-few", FEW, {FEW: DEAD})
    everybody = dict.fromkeys((FEW, MANY, PACKED, TAIL, LARGE, HEALTHY), DEAD)
    _dead(world, depth, "dead-many", MANY, everybody)
    _dead(world, depth, "dead-again", MANY, everybody)
    _dead(world, depth, "dead-packed", PACKED, {PACKED: DEAD})
    _stuck(world)
    world.drain(timeout=2 * world.patience)


def _pass_large(world: World) -> None:
    """Send two records that are larger than every allowance at once, and some behind each."""
    world.phase("large")
    large = partial(payloads.value, padding=OVERSIZED // world.descriptor.output.items_per_record)
    for draft, count in ((Draft(value=large), 1), (Draft(), BEHIND)):
        for partition in (0, 1):
            world.send(LARGE, replace(draft, partition=partition), count)
    world.await_backlog_of(LARGE, timeout=world.patience)


def _warm_up(world: World) -> None:
    """Let the backlog of a fault be delivered without one, so that memory has been as high as that takes."""
    world.phase("warm")
    world.send(MANY, count=FILL // RECORD)
    world.await_backlog_of(MANY, timeout=2 * world.patience)


def _dead(world: World, depth: Depth, name: str, loaded: str, clusters: Mapping[str, Sequence[Script]]) -> None:
    """Let clusters be dead while one tenant's backlog grows; then heal them, and wait until it is gone."""
    world.phase(f"fill:{name}")
    for tenant, layers in clusters.items():
        world.inject(tenant, name, *layers)
    world.send(loaded, count=FILL // RECORD)
    if TAIL in clusters:
        world.send(TAIL, Draft(partition=0), _more_than_in_flight(world.descriptor))
    world.load.flush(ACKNOWLEDGED_WITHIN)
    world.rates({HEALTHY: HEALTHY_RATE, loaded: max(AT_LEAST / depth.dead, LEAST_RATE) / RECORD})
    world.phase(f"fault:{name}")
    world.run_for(depth.dead)
    world.rates({HEALTHY: HEALTHY_RATE})
    for tenant in clusters:
        world.heal(tenant, name, *((SLOWLY,) if tenant == HEALTHY else ()))
    world.phase(f"heal:{name}")
    for tenant in clusters:
        world.await_backlog_of(tenant, timeout=2 * world.patience)


def _more_than_in_flight(descriptor: Descriptor) -> int:
    """Records of one partition, half as many again as may be in flight (MEM-1)."""
    return min(MOST, round(1.5 * (descriptor.limits.in_flight_records or 0)))


def _stuck(world: World) -> None:
    """Let one record be refused, with a tail behind it that is longer than the span, and records beside it."""
    world.phase("fault:stuck")
    world.inject(TAIL, "stuck", STUCK)
    world.send(TAIL, Draft(value=_marked, partition=0))
    world.send(TAIL, Draft(partition=0), round(bounds.effective(world.descriptor).get("span", span.SPAN)) + BEYOND)
    world.load.flush(ACKNOWLEDGED_WITHIN)
    world.await_standstill(TAIL, STILL, timeout=2 * world.patience)
    world.send(TAIL, Draft(partition=1), BESIDE)
    world.load.flush(ACKNOWLEDGED_WITHIN)
    world.run_for(STILL)
    world.heal(TAIL, "stuck")
    world.phase("heal:stuck")
    world.await_backlog_of(TAIL, timeout=world.patience)


def _marked(encoding: payloads.Encoding, signal: payloads.Signal, tokens: Sequence[str]) -> bytes:
    return payloads.value(encoding, signal, [f"{token} {MARK}" for token in tokens])


SCENARIO = Scenario(
    name="memory",
    title="dead clusters and a backlog without end; large records; a stuck head",
    judges=("MEM-1", "MEM-2", "MEM-3", "MEM-4", "MEM-5", "MEM-6", "MEM-7", "MEM-8", "DEL-1", "OFF-1"),
    shape=shape,
    story=story,
    depths=("standard",),
    adapt=adapt,
)
WIDE = replace(SCENARIO, name="memory_wide", shape=partial(shape, partitions=512), depths=("soak",))
"""The same with 512 partitions where there is time for them."""
