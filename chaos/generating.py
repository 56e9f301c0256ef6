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
    BrokerFreeze,
    BrokerKill,
    Burst,
    Conflict,
    CrashLoop,
    Freeze,
    Inflate,
    Kill,
    Latency,
    Limit,
    NewTopic,
    NodeFreeze,
    NodeKill,
    NoNewIndices,
    Oversized,
    Partitions,
    Refuse,
    Rejections,
    Reset,
    ResetOffsets,
    Rolling,
    Scale,
    Slicer,
    SlowClose,
    Stop,
    Swallow,
    WriteBlock,
)
from isolane.chaos.timeline import Tenant, Timeline

TENANTS = (
    Tenant(name="a", partitions=4),
    Tenant(name="b", partitions=2, codecs=("zstd",)),
    Tenant(name="busy", partitions=4, node={"node.processors": "1", "thread_pool.write.queue_size": "1"}),
    Tenant(name="late", late=True, node={"http.max_content_length": "100kb"}),
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

SEEN = 8.0
"""Seconds in which members that are well, and left in peace, meet what a cluster refuses."""

AGAIN = 8.0
"""Seconds until members that were all started at once, or one that was killed again and again, work again."""

WALKS = 20
"""Walks that are drawn for a timeline, of which the most various is taken: Hypothesis leaves rules out at times."""

GROUP = "group"
"""What is wrong when no member at all works; `members` is when some may not."""

_PLACES = st.sampled_from([tenant.name for tenant in TENANTS if not tenant.late])
_PAUSES = st.sampled_from([0.5, 1.0, 2.0, 3.0])
_SECONDS = st.sampled_from([1.0, 2.0, 4.0, 8.0])
_ON_THE_WIRE: tuple[type[Latency | Bandwidth | Slicer | SlowClose | Reset | Limit | BlackHole | Refuse], ...] = (
    Latency,
    Bandwidth,
    Slicer,
    SlowClose,
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
        return self.members > 0 and sure and self.is_well(GROUP) and self.is_well(KAFKA)

    @property
    def is_at_rest(self) -> bool:
        """Whether there are members, and nothing is wrong with any of them or with Kafka now."""
        return self.members > 0 and all(map(self.is_well, ("members", GROUP, KAFKA)))

    def add(self, fault: Anything, *wrong: str, seconds: float = 0.0) -> None:
        """Let something happen now, with which something is wrong for so long, and time go by."""
        self.faults.append(fault)
        self.wrong.update(dict.fromkeys(wrong, self.now + seconds + RECOVERY))
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
            self.plan.add(fault, place, seconds=seconds)

    @precondition(lambda self: self.plan.is_serving)
    @rule(place=_PLACES)
    def swallow(self, place: str) -> None:
        """Lose a reply."""
        if self.plan.is_well(place):
            self.plan.add(Swallow(at=self.plan.now, seconds=5, target=place), place, seconds=5)

    @precondition(lambda self: self.plan.is_serving)
    @rule(place=_PLACES, seconds=_SECONDS, kind=st.sampled_from([NodeKill, NodeFreeze, WriteBlock]))
    def spoil_a_node(self, place: str, seconds: float, kind: type[Any]) -> None:
        """Kill, freeze or block a node."""
        if self.plan.is_well(place):
            fault = kind(at=self.plan.now, seconds=seconds, tenant=place)
            self.plan.add(fault, place, seconds=seconds + 3)

    @precondition(lambda self: self.plan.is_serving)
    @rule(seconds=_SECONDS, kind=st.sampled_from([Latency, Bandwidth, BlackHole, Refuse]))
    def spoil_the_way_to_kafka(self, seconds: float, kind: type[Any]) -> None:
        """Slow down, cut or silence the way to Kafka."""
        fault = kind(at=self.plan.now, seconds=seconds, target=KAFKA)
        self.plan.add(fault, KAFKA, seconds=seconds)

    @precondition(lambda self: self.plan.is_well(KAFKA))
    @rule(seconds=_SECONDS, kind=st.sampled_from([BrokerKill, BrokerFreeze]))
    def spoil_a_broker(self, seconds: float, kind: type[Any]) -> None:
        """Kill or freeze the broker."""
        self.plan.add(kind(at=self.plan.now, seconds=seconds), KAFKA, seconds=seconds + 3)

    @precondition(lambda self: self.plan.is_well(KAFKA))
    @rule(place=_PLACES, kind=st.sampled_from([Burst, Abort]))
    def send(self, place: str, kind: type[Any]) -> None:
        """Send many records at once, or abort a transaction."""
        self.plan.add(kind(at=self.plan.now, tenant=place, records=100))

    @precondition(lambda self: self.plan.is_well(KAFKA))
    @rule()
    def inflate(self) -> None:
        """Send records that inflate."""
        self.plan.add(Inflate(at=self.plan.now, tenant="b"))

    @precondition(lambda self: self.plan.is_well(KAFKA) and self.plan.has_late)
    @rule()
    def send_too_much(self) -> None:
        """Send records that are too large together."""
        self.plan.add(Oversized(at=self.plan.now, tenant="late"))

    @precondition(lambda self: self.plan.is_at_rest)
    @rule(place=_PLACES)
    def send_what_is_never_accepted(self, place: str) -> None:
        """Send records that conflict with a mapping, and leave all in peace until their dead letters are seen."""
        if self.plan.is_well(place):
            self.plan.add(Conflict(at=self.plan.now, tenant=place))
            self.plan.now += SEEN

    @precondition(lambda self: self.plan.is_serving and self.plan.is_well("busy"))
    @rule()
    def push_back(self) -> None:
        """Fill a write queue."""
        self.plan.add(Rejections(at=self.plan.now, tenant="busy", records=3000), "busy", seconds=5)

    @precondition(lambda self: self.plan.is_well(KAFKA) and not self.plan.has_late)
    @rule()
    def make_a_topic(self) -> None:
        """Make the topic of the tenant that is late."""
        self.plan.has_late = True
        self.plan.add(NewTopic(at=self.plan.now, tenant="late"))

    @precondition(lambda self: self.plan.is_at_rest and not self.plan.has_late)
    @rule()
    def make_a_topic_without_an_index(self) -> None:
        """Make it while its cluster makes no index, and leave all in peace until that was met."""
        self.plan.has_late = True
        self.plan.add(NoNewIndices(at=self.plan.now, seconds=2 * STEP + SEEN, tenant="late"))
        self.plan.add(NewTopic(at=self.plan.now, tenant="late"))
        self.plan.now += SEEN

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
        self.plan.add(fault, "members", seconds=seconds)

    @precondition(lambda self: self.plan.is_well("members"))
    @rule(members=st.integers(0, MOST_MEMBERS))
    def scale(self, members: int) -> None:
        """Let members come or go."""
        if members != self.plan.members:
            self.plan.members = members
            self.plan.add(Scale(at=self.plan.now, members=members), "members", seconds=2)

    @precondition(lambda self: self.plan.is_well("members") and self.plan.members > 0)
    @rule()
    def roll(self) -> None:
        """Restart all members."""
        self.plan.add(Rolling(at=self.plan.now), "members", seconds=10)

    @precondition(lambda self: self.plan.is_well("members") and self.plan.members > 0)
    @rule(number=st.integers(0, MOST_MEMBERS - 1))
    def crash(self, number: int) -> None:
        """Kill a member again and again."""
        fault = CrashLoop(at=self.plan.now, member=number % self.plan.members)
        self.plan.add(fault, "members", seconds=AGAIN)

    @precondition(lambda self: self.plan.is_at_rest)
    @rule(place=_PLACES)
    def set_offsets_back(self, place: str) -> None:
        """Stop all members, set a tenant's offsets back, and start them."""
        self.plan.add(ResetOffsets(at=self.plan.now, tenant=place), "members", GROUP, seconds=AGAIN)

    def teardown(self) -> None:
        """Keep what was drawn, but for what is sent at the very end and could not be seen any more."""
        while self.plan.faults and isinstance(self.plan.faults[-1], Conflict):
            self.plan.faults.pop()
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
