"""Memory: clusters are dead while the backlog has no end, with few partitions, with many, again, and compressed.

Before that, records larger than every allowance; after it, records that are refused beside others that are accepted,
and a long tail behind a stuck head. Field bugs FB-24 (what waits for its retry is not counted), FB-25 (nobody pauses)
and FB-26 (bounds for each partition, or compressed bytes).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial

from isolane.conformance import bounds
from isolane.conformance.checkers import span
from isolane.conformance.depth import Depth
from isolane.conformance.depth import depth as depth_of
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

RECORD = 32 * 1024
"""Bytes of a record of the backlog: small enough to be in every flush, large enough to be cheap to make."""

FILL = 18 * MIB
"""Bytes that are there at once when clusters die: more than any budget below."""

AT_LEAST, LEAST_RATE = 36 * MIB, MIB // 4
"""Bytes that come while they are dead, and a second: a backlog without end."""

IN_FLIGHT, BUDGET, SPAN = 1 * MIB, 8 * MIB, 2_000
"""The bytes of a partition and of the process, and the span, that an implementation is configured with, if it promised
more."""

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

EVERYBODY = dict.fromkeys((FEW, MANY, PACKED, TAIL, LARGE, HEALTHY), DEAD)
"""Every cluster is dead."""

SLOWLY = Script(latency=HEALTHY_LATENCY)

MARK = "refuseme"
CHOOSY = Script(item_rules=(ItemRule(status=429, pattern=MARK),))
"""A cluster that takes all records but those that say so."""

BEHIND, BESIDE, BEYOND, MOST = 20, 100, 1_000, 20_000
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
    span = max(SPAN, descriptor.limits.in_flight_records or 0)
    lowered = {
        name: min(promised, small)
        for name, small in (("in_flight_bytes", IN_FLIGHT), ("process_bytes", BUDGET), ("span", span))
        if (promised := getattr(descriptor.limits, name)) is not None
    }
    return descriptor.model_copy(update={"limits": descriptor.limits.model_copy(update=lowered)})


def story(world: World, depth: Depth) -> None:
    """Pass large records, warm up, live without a fault; be dead four times; refuse some, and a head; drain."""
    world.members.start()
    world.await_ready(timeout=world.patience)
    world.behave(HEALTHY, SLOWLY)
    _pass_large(world)
    _warm_up(world)
    world.phase("control")
    world.rates({HEALTHY: HEALTHY_RATE})
    world.run_for(depth.control / 2)
    _dead(world, depth.dead, "dead-few", FEW, {FEW: DEAD})
    _dead(world, depth.dead, "dead-many", MANY, EVERYBODY)
    _dead(world, depth.dead, "dead-again", MANY, EVERYBODY)
    _dead(world, depth.dead, "dead-packed", PACKED, {PACKED: DEAD})
    _refused(world)
    _stuck(world)
    world.drain(timeout=2 * world.patience)


def wide_story(world: World, _depth: Depth) -> None:
    """Live through the story of standard depth: what is tried here is the number of partitions."""
    story(world, depth_of("standard"))


def long_story(world: World, depth: Depth) -> None:
    """Warm up; be dead for long, and once more for a tenth of that; drain."""
    world.members.start()
    world.await_ready(timeout=world.patience)
    world.behave(HEALTHY, SLOWLY)
    _warm_up(world)
    _dead(world, depth.dead, "dead-many", MANY, EVERYBODY)
    _dead(world, depth.dead / 10, "dead-again", MANY, EVERYBODY)
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


def _dead(world: World, seconds: float, name: str, loaded: str, clusters: Mapping[str, Sequence[Script]]) -> None:
    """Let clusters be dead for so long while one tenant's backlog grows; heal them, and wait until it is gone."""
    world.phase(f"fill:{name}")
    for tenant, layers in clusters.items():
        world.inject(tenant, name, *layers)
    world.send(loaded, count=FILL // RECORD)
    if TAIL in clusters:
        world.send(TAIL, Draft(partition=0), _more_than_in_flight(world.descriptor))
    world.load.flush(ACKNOWLEDGED_WITHIN)
    world.rates({HEALTHY: HEALTHY_RATE, loaded: max(AT_LEAST / seconds, LEAST_RATE) / RECORD})
    world.phase(f"fault:{name}")
    world.run_for(seconds)
    world.rates({HEALTHY: HEALTHY_RATE})
    world.phase(f"heal:{name}")
    for tenant in clusters:
        world.heal(tenant, name, *((SLOWLY,) if tenant == HEALTHY else ()))
    for tenant in clusters:
        world.await_backlog_of(tenant, timeout=2 * world.patience)


def _more_than_in_flight(descriptor: Descriptor) -> int:
    """Records of one partition, half as many again as may be in flight (MEM-1)."""
    return min(MOST, round(1.5 * (descriptor.limits.in_flight_records or 0)))


def _refused(world: World) -> None:
    """Refuse every other record of two partitions: of one small ones, of the other those of the backlog.

    What is refused waits for its retry while the cluster takes others, and counts as in flight all the same (FB-24).
    """
    world.phase("fault:refused")
    world.inject(LARGE, "refused", CHOOSY)
    for partition, padding, count in (
        (0, 0, _more_than_in_flight(world.descriptor)),
        (1, _padding(world.descriptor), round(1.5 * IN_FLIGHT / RECORD)),
    ):
        drafts = [Draft(value=partial(_marked, mark=mark, padding=padding), partition=partition) for mark in (MARK, "")]
        for _ in range(count):
            for draft in drafts:
                world.send(LARGE, draft)
    world.load.flush(ACKNOWLEDGED_WITHIN)
    world.await_standstill(LARGE, STILL, timeout=world.patience)
    world.heal(LARGE, "refused")


def _stuck(world: World) -> None:
    """Let one record be refused, with a tail behind it that is longer than the span, and records beside it."""
    world.phase("fault:stuck")
    world.inject(TAIL, "stuck", CHOOSY)
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


def _marked(
    encoding: payloads.Encoding, signal: payloads.Signal, tokens: Sequence[str], *, mark: str = MARK, padding: int = 0
) -> bytes:
    return payloads.value(encoding, signal, [f"{token} {mark}" for token in tokens], padding=padding)


SCENARIO = Scenario(
    name="memory",
    title="dead clusters and a backlog without end; large records; refused ones; a stuck head",
    judges=("MEM-1", "MEM-2", "MEM-3", "MEM-4", "MEM-5", "MEM-6", "MEM-7", "MEM-8", "DEL-1", "OFF-1", "TEN-2"),
    shape=shape,
    story=story,
    depths=("standard",),
    adapt=adapt,
)
WIDE = replace(
    SCENARIO,
    name="memory_wide",
    shape=partial(shape, partitions=512),
    story=wide_story,
    depths=("soak",),
)
"""The same with 512 partitions where there is time for them."""

LONG = replace(
    SCENARIO,
    name="memory_long",
    title="dead clusters and a backlog without end, for minutes, and again",
    judges=("MEM-4", "DEL-1", "OFF-1"),
    story=long_story,
    depths=("soak",),
)
"""Where memory comes to rest, and whether it stays there."""
