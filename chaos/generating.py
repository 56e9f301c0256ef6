"""Timelines drawn at random: a state machine of what may happen now, walked by Hypothesis.

Hypothesis generates only. Its model knows what is wrong at a time, so that faults end before their like begins, and
records are sent while Kafka takes them. What is drawn is a timeline like one that is written by hand: it is printed,
kept and run again without Hypothesis.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar

from hypothesis import HealthCheck, Phase, seed, settings
from hypothesis import strategies as st
from hypothesis.internal.conjecture.providers import AVAILABLE_PROVIDERS, HypothesisProvider
from hypothesis.stateful import RuleBasedStateMachine, precondition, rule, run_state_machine_as_test

from isolane.chaos.happenings import (
    KAFKA,
    Abort,
    Anything,
    Bandwidth,
    BlackHole,
    BrokerKill,
    Burst,
    Freeze,
    Kill,
    Latency,
    Limit,
    NewTopic,
    NodeFreeze,
    NodeKill,
    Partitions,
    Refuse,
    Rejections,
    Reset,
    Rolling,
    Scale,
    Slicer,
    Stop,
    Swallow,
    WriteBlock,
)
from isolane.chaos.timeline import Tenant, Timeline

TENANTS = (
    Tenant(name="a", partitions=4),
    Tenant(name="b", partitions=2),
    Tenant(name="busy", partitions=4, node={"node.processors": "1", "thread_pool.write.queue_size": "1"}),
    Tenant(name="late", late=True),
)
"""The tenants of every timeline that is drawn: enough for each kind of what happens."""

JUDGES = ("TEN-2", "DEL-1", "OFF-1", "OFF-2")
MEMBERS = 2
MOST_MEMBERS = 4
STEPS = 30
"""Rules that a walk goes through at most."""

STEP = 1.0
"""Seconds from one thing to the next, at least."""

RECOVERY = 2.0
"""Seconds after something was wrong until it may be wrong again."""

WALKS = 20
"""Walks that are drawn for a timeline, of which the most various is taken: Hypothesis leaves rules out at times."""

_PLACES = st.sampled_from([tenant.name for tenant in TENANTS if not tenant.late])
_PAUSES = st.sampled_from([0.5, 1.0, 2.0, 3.0])
_SECONDS = st.sampled_from([1.0, 2.0, 4.0, 8.0])
_ON_THE_WIRE: tuple[type[Latency | Bandwidth | Slicer | Reset | Limit | BlackHole | Refuse], ...] = (
    Latency,
    Bandwidth,
    Slicer,
    Reset,
    Limit,
    BlackHole,
    Refuse,
)


class _OnlyTheSeed(HypothesisProvider):
    """Draws as Hypothesis does, but for the constants of modules that happen to be loaded, which it likes to try.

    With these a seed draws one timeline in one process and another one in the next.
    """

    def _maybe_draw_constant(self, *_choice: object, **_likelihood: object) -> None:
        return None


AVAILABLE_PROVIDERS[_OnlyTheSeed.__name__] = _OnlyTheSeed


@dataclass
class Plan:
    """What was drawn so far, and when what is wrong ends, by what it is wrong with."""

    now: float = 1.0
    faults: list[Anything] = field(default_factory=list)
    wrong: dict[str, float] = field(default_factory=dict)
    members: int = MEMBERS
    partitions: dict[str, int] = field(default_factory=lambda: {each.name: each.partitions for each in TENANTS})
    has_late: bool = False

    def is_well(self, what: str) -> bool:
        """Whether nothing is wrong with something now."""
        return self.wrong.get(what, 0.0) <= self.now

    @property
    def is_serving(self) -> bool:
        """Whether members certainly read from Kafka now, so that what is wrong elsewhere meets their requests."""
        sure = self.members > 1 or self.is_well("members")
        return self.members > 0 and sure and self.is_well(KAFKA)

    def add(self, fault: Anything, *, wrong: str | None = None, seconds: float = 0.0) -> None:
        """Let something happen now, with which something is wrong for so long, and time go by."""
        self.faults.append(fault)
        if wrong is not None:
            self.wrong[wrong] = self.now + seconds + RECOVERY
        self.now += STEP

    @property
    def variety(self) -> tuple[int, int]:
        """How many kinds of things happen, and how many things."""
        return len({type(fault) for fault in self.faults}), len(self.faults)


class Walk(RuleBasedStateMachine):
    """A walk through what may happen: each rule lets one thing happen, or time go by."""

    drawn: ClassVar[list[Plan]] = []

    def __init__(self) -> None:
        """Begin with everything well."""
        super().__init__()
        self.plan = Plan()

    @rule(pause=_PAUSES)
    def wait(self, pause: float) -> None:
        """Let time go by."""
        self.plan.now += pause

    @precondition(lambda self: self.plan.is_serving)
    @rule(place=_PLACES, seconds=_SECONDS, kind=st.sampled_from(_ON_THE_WIRE))
    def spoil_the_way(self, place: str, seconds: float, kind: type[Any]) -> None:
        """Slow down, cut or silence the way to a cluster."""
        if self.plan.is_well(place):
            fault = kind(at=self.plan.now, seconds=seconds, target=place)
            self.plan.add(fault, wrong=place, seconds=seconds)

    @precondition(lambda self: self.plan.is_serving)
    @rule(place=_PLACES)
    def swallow(self, place: str) -> None:
        """Lose a reply."""
        if self.plan.is_well(place):
            self.plan.add(Swallow(at=self.plan.now, seconds=5, target=place), wrong=place, seconds=5)

    @precondition(lambda self: self.plan.is_serving)
    @rule(place=_PLACES, seconds=_SECONDS, kind=st.sampled_from([NodeKill, NodeFreeze, WriteBlock]))
    def spoil_a_node(self, place: str, seconds: float, kind: type[Any]) -> None:
        """Kill, freeze or block a node."""
        if self.plan.is_well(place):
            fault = kind(at=self.plan.now, seconds=seconds, tenant=place)
            self.plan.add(fault, wrong=place, seconds=seconds + 3)

    @precondition(lambda self: self.plan.is_serving)
    @rule(seconds=_SECONDS, kind=st.sampled_from([Latency, Bandwidth, BlackHole, Refuse]))
    def spoil_the_way_to_kafka(self, seconds: float, kind: type[Any]) -> None:
        """Slow down, cut or silence the way to Kafka."""
        fault = kind(at=self.plan.now, seconds=seconds, target=KAFKA)
        self.plan.add(fault, wrong=KAFKA, seconds=seconds)

    @precondition(lambda self: self.plan.is_well(KAFKA))
    @rule(seconds=_SECONDS)
    def kill_a_broker(self, seconds: float) -> None:
        """Kill the broker."""
        self.plan.add(BrokerKill(at=self.plan.now, seconds=seconds), wrong=KAFKA, seconds=seconds + 3)

    @precondition(lambda self: self.plan.is_well(KAFKA))
    @rule(place=_PLACES, kind=st.sampled_from([Burst, Abort]))
    def send(self, place: str, kind: type[Any]) -> None:
        """Send many records at once, or abort a transaction."""
        self.plan.add(kind(at=self.plan.now, tenant=place, records=100))

    @precondition(lambda self: self.plan.is_serving and self.plan.is_well("busy"))
    @rule()
    def push_back(self) -> None:
        """Fill a write queue."""
        self.plan.add(Rejections(at=self.plan.now, tenant="busy", records=3000), wrong="busy", seconds=5)

    @precondition(lambda self: self.plan.is_well(KAFKA) and not self.plan.has_late)
    @rule()
    def make_a_topic(self) -> None:
        """Make the topic of the tenant that is late."""
        self.plan.has_late = True
        self.plan.add(NewTopic(at=self.plan.now, tenant="late"))

    @precondition(lambda self: self.plan.is_well(KAFKA))
    @rule(place=_PLACES, more=st.integers(1, 3))
    def add_partitions(self, place: str, more: int) -> None:
        """Give a topic more partitions."""
        self.plan.partitions[place] += more
        self.plan.add(Partitions(at=self.plan.now, tenant=place, partitions=self.plan.partitions[place]))

    @precondition(lambda self: self.plan.is_well("members") and self.plan.members > 0)
    @rule(seconds=_SECONDS, number=st.integers(0, MOST_MEMBERS - 1), kind=st.sampled_from([Kill, Stop, Freeze]))
    def spoil_a_member(self, seconds: float, number: int, kind: type[Any]) -> None:
        """Kill, stop or freeze a member."""
        fault = kind(at=self.plan.now, seconds=seconds, member=number % self.plan.members)
        self.plan.add(fault, wrong="members", seconds=seconds)

    @precondition(lambda self: self.plan.is_well("members"))
    @rule(members=st.integers(0, MOST_MEMBERS))
    def scale(self, members: int) -> None:
        """Let members come or go."""
        if members != self.plan.members:
            self.plan.members = members
            self.plan.add(Scale(at=self.plan.now, members=members), wrong="members", seconds=2)

    @precondition(lambda self: self.plan.is_well("members") and self.plan.members > 0)
    @rule()
    def roll(self) -> None:
        """Restart all members."""
        self.plan.add(Rolling(at=self.plan.now), wrong="members", seconds=10)

    def teardown(self) -> None:
        """Keep what was drawn."""
        self.drawn.append(self.plan)


def drawn(number: int) -> Timeline:
    """The timeline of a seed; the same for ever with the same version of Hypothesis."""

    class Own(Walk):
        drawn: ClassVar[list[Plan]] = []

    run_state_machine_as_test(
        seed(number)(Own),
        settings=settings(
            max_examples=WALKS,
            stateful_step_count=STEPS,
            phases=[Phase.generate],
            backend=_OnlyTheSeed.__name__,
            database=None,
            deadline=None,
            suppress_health_check=list(HealthCheck),
        ),
    )
    richest = max(Own.drawn, key=lambda plan: plan.variety)
    return Timeline(
        name=f"drawn-{number}",
        title=f"drawn from seed {number}",
        judges=JUDGES,
        members=MEMBERS,
        timing={"request_timeout": 5.0},
        tenants=TENANTS,
        faults=tuple(richest.faults),
    )
