"""Records: everything that a topic can hold, at once, a tenant for each kind: nobody's trouble is anybody else's.

Records that cannot be decoded between sound ones, while that tenant's cluster is away (field bug FB-40); more than a
thousand with nothing to deliver (FB-43); transactions, some of them aborted, and a compacted topic: offsets with gaps;
every codec, with refusals that nothing may overtake where an order is promised; every signal; topics and partitions
that come while everything runs (FB-14); a topic that nobody owns.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from isolane.conformance.depth import Depth
from isolane.conformance.load import Draft
from isolane.conformance.producer import Codec
from isolane.conformance.scenarios.model import Scenario
from isolane.conformance.shape import Shape, TenantShape
from isolane.conformance.world import World
from isolane.fixtures import payloads
from isolane.fixtures.cluster import Script
from isolane.fixtures.implementations.descriptor import Descriptor

CONTROL = 2.0
"""Seconds before anything out of the ordinary."""

AWAY = 5.0
"""Seconds for which the cluster of the tenant with broken records is away."""

ROW = 1200
"""Records in a row with nothing to deliver."""

SHORT_ROW = 100
"""The same, of each other way of having nothing."""

COMPACTED_WITHIN = 20.0

_COMPACTED = {"cleanup.policy": "compact", "segment.ms": "100", "min.cleanable.dirty.ratio": "0.001"}
_EVERY_CODEC: tuple[Codec, ...] = ("none", "gzip", "snappy", "lz4", "zstd")
_MANY_HEADERS = tuple((f"h{number}", b"v") for number in range(10_000))


def shape(_descriptor: Descriptor) -> Shape:
    """A dozen tenants, each with topics of its own kind, and three of them with nothing but ordinary load."""
    return Shape(
        (
            TenantShape("steady", "healthy", partitions=2, rate=30),
            TenantShape("idle", "healthy", partitions=3, rate=0),
            TenantShape("signals", "healthy", partitions=2, rate=45, signals="all"),
            TenantShape("codecs", "sick", partitions=len(_EVERY_CODEC), rate=50, codecs=_EVERY_CODEC),
            TenantShape("broken", "sick", partitions=2, rate=10),
            TenantShape("nothing", "sick", partitions=1, rate=0),
            TenantShape("gaps", "sick", partitions=2, rate=0),
            TenantShape("compacted", "sick", partitions=1, rate=5, settings=_COMPACTED),
            TenantShape("late", "sick", partitions=2, rate=20, late=True),
            TenantShape("growing", "sick", partitions=1, rate=20),
            TenantShape("nobody", "nobody", partitions=1, rate=0),
        ),
        scraped=True,
    )


def story(world: World, _depth: Depth) -> None:
    """Bring each kind of record, one after the other, while the ordinary load goes on; then heal and drain."""
    world.compact("compacted", keys=20, rounds=10, timeout=COMPACTED_WITHIN)
    world.members.start()
    world.await_ready(timeout=world.patience)
    world.load_within(float("inf"))
    world.phase("control")
    world.run_for(CONTROL)
    world.phase("unowned")
    world.send("nobody", count=300)
    world.run_for(CONTROL)
    with world.fault("broken", "away", Script(status=503), phase="broken"):
        world.inject("codecs", "refusals", Script(items=(201, 429, 201)))
        _break(world)
        _say_nothing(world)
        _leave_gaps(world)
        world.run_for(AWAY)
        world.heal("codecs", "refusals")
    world.phase("healed")
    world.await_backlog_of("broken", "codecs", timeout=world.patience)
    world.phase("new")
    world.create("late")
    world.send("late", count=10)
    world.grow("growing", 3)
    world.send("growing", count=30)
    world.load_within(float("inf"))
    world.await_backlog_of("late", "growing", timeout=world.patience)
    world.drain(timeout=world.patience)


def _break(world: World) -> None:
    """Send every broken value between sound ones to the first partition, and what needs no cluster behind.

    The cluster takes nothing meanwhile, so not one of these may carry the commit past the sound ones before it (OFF-1).
    """
    sound = Draft(partition=0)
    for number in range(payloads.BROKEN):
        world.send("broken", sound)
        world.send("broken", Draft("poison", value=partial(_broken, number), partition=0))
        world.send("broken", Draft("tombstone", value=_none, key=b"gone", partition=0))
    world.send("broken", Draft(key=b"", partition=0))
    world.send("broken", Draft(headers=_MANY_HEADERS, partition=0))
    world.send("broken", sound)


def _say_nothing(world: World) -> None:
    world.send("nothing", Draft("tombstone", value=_none, key=b"gone"), count=ROW)
    world.send("nothing")
    for value in (_no_bytes, _empty):
        world.send("nothing", Draft("empty", value=value), count=SHORT_ROW)
        world.send("nothing")


def _leave_gaps(world: World) -> None:
    """Transactions of which every other one is aborted, the last one, too: behind it are markers and nothing else."""
    for _ in range(2):
        world.transaction("gaps", 20, commit=True)
        world.transaction("gaps", 20, commit=False)


def _broken(number: int, encoding: payloads.Encoding, signal: payloads.Signal, tokens: Sequence[str]) -> bytes:
    return list(payloads.undecodable(encoding, signal, tokens[0]).values())[number]


def _none(_encoding: payloads.Encoding, _signal: payloads.Signal, _tokens: Sequence[str]) -> None:
    return None


def _empty(encoding: payloads.Encoding, signal: payloads.Signal, _tokens: Sequence[str]) -> bytes:
    """Return an export request without items; an empty value where there is no such thing."""
    return payloads.empty(encoding, signal)[-1]


def _no_bytes(_encoding: payloads.Encoding, _signal: payloads.Signal, _tokens: Sequence[str]) -> bytes:
    return b""


SCENARIO = Scenario(
    name="records",
    title="every kind of record, topic and codec at once, a tenant for each",
    judges=(
        "TEN-1",
        "TEN-2",
        "TEN-3",
        "TEN-4",
        "DEL-1",
        "DEL-10",
        "OFF-1",
        "OFF-2",
        "OFF-3",
        "OFF-4",
        "POI-1",
        "POI-2",
    ),
    shape=shape,
    story=story,
    depths=("standard", "soak"),
)
