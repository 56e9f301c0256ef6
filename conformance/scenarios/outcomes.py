"""Outcomes: a dozen tenants at once, each with a cluster that answers wrongly in a way of its own, and is mended.

Since one tenant is one cluster, all of it happens in one world: mixed and broken bulk replies (field bugs FB-03 and
FB-13), culprits in requests that are refused as a whole (FB-41, FB-42), errors of the environment (FB-02), an outage
without a pause (FB-05), replies that are lost after the body was applied (FB-44), silence and trickles (FB-04),
refusals that last (FB-21), and a dead-letter destination that is not there (FB-45).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from itertools import cycle

from isolane.conformance import bounds
from isolane.conformance.depth import Depth
from isolane.conformance.load import Draft
from isolane.conformance.scenarios.model import Scenario
from isolane.conformance.shape import Shape, TenantShape
from isolane.conformance.timeline import Step, live
from isolane.conformance.world import World
from isolane.fixtures import payloads
from isolane.fixtures.cluster import ItemRule, Script, Trickle, When
from isolane.fixtures.implementations.descriptor import Descriptor

RATE = 12.0
"""Records a second of each tenant: enough to be in every request, little enough that a dozen fit on a small machine."""

GATHER = Step(1.5, "gather", (Script(status=503),), bites=1)
"""What makes the requests that follow large: a backlog."""

BURST = 80
"""Records at once that make a request larger than the limit."""

AT_FIRST = Step(12.0)
"""What comes before silence: whoever waits for the silent may be slower with all the others."""

BEYOND = 4.0
"""Seconds that silence lasts longer than the deadline of an attempt."""

RETRY_AFTER = 3

EVEN = "isotok[0-9a-f]{19}[02468ace][0-9a-f]{4}"
"""Half of the records, by their sequence: what is refused among what is accepted."""

CULPRIT = "isotok[0-9a-f]{19}d0000"
"""The first item of each sixteenth record."""

CULPRIT_OF_ONE_PARTITION = "isotok[0-9a-f]{8}0000[0-9a-f]{7}80000"
"""The same, of the first partition only."""

Life = Callable[[World, Depth], Sequence[Step]]


def _items(world: World, _depth: Depth) -> Sequence[Step]:
    statuses = (201, 429, 201, 400, 503) if _puts_aside(world.descriptor) else (201, 429, 201, 503)
    return [Step(12, "items", (Script(items=statuses),), bites=10)]


def _replies(_world: World, _depth: Depth) -> Sequence[Step]:
    contradicting = Script(items=(201, 429, 201), contradict=True)
    return [
        GATHER,
        Step(5, "short", (Script(short_reply=3),), bites=3),
        Step(5, "contradict", (contradicting,), bites=3),
    ]


def _large(world: World, _depth: Depth) -> Sequence[Step]:
    """The limit is lowered, lifted, and lowered again; the first time there is a record that cannot pass at all."""
    limit = 8192 + 1024 * world.descriptor.output.items_per_record
    too_large = Draft(value=partial(payloads.value, padding=2 * limit))
    lowered = (Script(body_limit=limit),)
    burst = partial(world.send, "large", count=BURST)
    return [
        replace(GATHER, at_first=burst),
        replace(GATHER, seconds=1, at_first=partial(world.send, "large", too_large)),
        Step(4, "large", lowered, bites=2, settles=True),
        Step(1),
        Step(3, "large-again", lowered, bites=1, settles=True, at_first=burst),
    ]


def _marked(_world: World, _depth: Depth) -> Sequence[Step]:
    return [GATHER, Step(10, "marked", (Script(status=400, culprit=CULPRIT),), bites=3)]


def _proxy(_world: World, _depth: Depth) -> Sequence[Step]:
    return [Step(10, "proxy", (Script(status=400, not_json=True),), bites=3)]


def _denied(_world: World, _depth: Depth, *, status: int) -> Sequence[Step]:
    return [Step(10, f"denied-{status}", (Script(status=status),), bites=3)]


def _blocked(_world: World, _depth: Depth, *, name: str, status: int) -> Sequence[Step]:
    return [Step(10, name, (Script(item_rules=(ItemRule(status=status, pattern=EVEN),)),), bites=3)]


def _mixed(_world: World, depth: Depth) -> Sequence[Step]:
    """Every request fails for now, each in another way than the one before: a proxy's page, with a 200 or worse."""
    turns = [Script(status=status, when=When(after=turn, every=4)) for turn, status in enumerate((408, 425, 502))]
    return [Step(depth.outage, "mixed", (Script(not_json=True), *turns), bites=8)]


def _away(_world: World, depth: Depth) -> Sequence[Step]:
    """Refused, reset and unavailable in turn, without a moment in which anything is accepted."""
    kinds = cycle(
        [Step(4, "refuse", (Script(refuse=True),)), Step(4, "cut", (Script(status=503, reset_after=1),))],
    )
    return [next(kinds) for _ in range(round(depth.outage / 4))]


def _lost(_world: World, _depth: Depth) -> Sequence[Step]:
    return [Step(10, "lost", (Script(lose_reply=True, when=When(share=0.5)),), bites=5)]


def _trickle(world: World, _depth: Depth) -> Sequence[Step]:
    """A byte now and then: every read succeeds, and the reply is never whole before the deadline."""
    deadline = _deadline(world.descriptor)
    slow = Script(trickle=Trickle(interval=(deadline + 10) / 20))
    return [AT_FIRST, Step(deadline + BEYOND, "trickle", (slow,), bites=1)]


def _silence(world: World, _depth: Depth) -> Sequence[Step]:
    return [AT_FIRST, Step(_deadline(world.descriptor) + BEYOND, "silence", (Script(black_hole=True),), bites=1)]


def _backoff(_world: World, _depth: Depth, *, name: str, script: Script) -> Sequence[Step]:
    return [Step(AT_FIRST.seconds, name, (script,), bites=4)]


def _after(_world: World, _depth: Depth) -> Sequence[Step]:
    return [Step(3.5 * RETRY_AFTER, "after", (Script(status=429, retry_after=RETRY_AFTER),), bites=2)]


def _letters(_world: World, _depth: Depth) -> Sequence[Step]:
    rule = ItemRule(status=400, pattern=CULPRIT_OF_ONE_PARTITION)
    return [Step(12, "condemned", (Script(item_rules=(rule,)),), bites=1)]


_LIVES: dict[str, Life] = {
    "items": _items,
    "replies": _replies,
    "proxy": _proxy,
    "unknown": partial(_denied, status=401),
    "forbidden": partial(_denied, status=403),
    "blocked": partial(_blocked, name="blocked", status=403),
    "missing": partial(_blocked, name="missing", status=404),
    "mixed": _mixed,
    "away": _away,
    "lost": _lost,
    "trickle": _trickle,
    "silence": _silence,
    "requests": partial(_backoff, name="backoff-requests", script=Script(status=429)),
    "half": partial(_backoff, name="backoff-items", script=Script(item_rules=(ItemRule(status=429, pattern=EVEN),))),
    "after": _after,
}
_LIVES_WITH_LETTERS: dict[str, Life] = {"large": _large, "marked": _marked}
_LIFE_WITH_A_TOPIC = "letters"


def _puts_aside(descriptor: Descriptor) -> bool:
    """Whether what is refused for good can be seen where it was put: elsewhere than in the cluster that refuses it."""
    return descriptor.dead_letter.kind in {"kafka", "file"}


def _lives(descriptor: Descriptor) -> Iterator[tuple[str, Life]]:
    """What can be tried with an implementation: who puts nothing aside meets nothing that never succeeds."""
    yield from _LIVES.items()
    if _puts_aside(descriptor):
        yield from _LIVES_WITH_LETTERS.items()
    if descriptor.dead_letter.kind == "kafka":
        yield _LIFE_WITH_A_TOPIC, _letters


def _deadline(descriptor: Descriptor) -> float:
    return bounds.effective(descriptor)["request_timeout"]


def shape(descriptor: Descriptor) -> Shape:
    """A tenant for each life, and one that is healthy throughout."""
    names = [name for name, _ in _lives(descriptor)]
    sick = (TenantShape(name, "sick", partitions=2, rate=RATE) for name in names)
    return Shape((*sick, TenantShape("healthy", "healthy", partitions=2, rate=RATE)))


def untried(descriptor: Descriptor) -> tuple[str, ...]:
    """Dead letters that the clusters themselves keep, or that cannot be hindered."""
    return (
        *(() if _puts_aside(descriptor) else ("DEL-4",)),
        *(() if descriptor.dead_letter.kind == "kafka" else ("POI-3",)),
    )


def story(world: World, depth: Depth) -> None:
    """Let every tenant live its life; heal, drain, and count the documents."""
    lives = dict(_lives(world.descriptor))
    world.members.start()
    world.await_ready(timeout=world.patience)
    world.load_within(float("inf"))
    if _LIFE_WITH_A_TOPIC in lives:
        world.close_letters(_LIFE_WITH_A_TOPIC)
    world.phase("outcomes")
    live(world, {name: life(world, depth) for name, life in lives.items()})
    if _LIFE_WITH_A_TOPIC in lives:
        world.open_letters(_LIFE_WITH_A_TOPIC)
    world.drain(timeout=2 * world.patience, silence=world.patience)
    world.count_documents()


SCENARIO = Scenario(
    name="outcomes",
    title="each tenant's cluster answers wrongly in a way of its own, all at once",
    judges=(
        *("DEL-1", "DEL-2", "DEL-3", "DEL-4", "DEL-5", "DEL-6", "DEL-7", "DEL-9"),
        *("OFF-1", "OFF-2", "POI-3", "TEN-2"),
    ),
    shape=shape,
    story=story,
    depths=("standard", "soak"),
    untried=untried,
)
