"""What is possible in a timeline: all names what is there at its time, and nothing falls where it cannot be done.

What is impossible would end the run with a failure of the harness, or not bite, after minutes.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from isolane.chaos.happenings import (
    KAFKA,
    Abort,
    Bandwidth,
    BrokerFreeze,
    BrokerKill,
    Burst,
    Conflict,
    CrashLoop,
    Freeze,
    Happening,
    Inflate,
    Kill,
    Lasting,
    Latency,
    Network,
    NewTopic,
    NodeFreeze,
    NodeKill,
    NoNewIndices,
    OfTenant,
    Oversized,
    Partitions,
    Refuse,
    Rejections,
    ResetOffsets,
    Scale,
    Slicer,
    SlowClose,
    Stop,
    Swallow,
    WriteBlock,
    ends,
)
from isolane.fixtures.toml_files import shown

if TYPE_CHECKING:
    from isolane.chaos.timeline import Tenant, Timeline

_OF_TOPICS = (Burst, Abort, Conflict, Rejections, Oversized, Inflate, Partitions, ResetOffsets)
_OF_KAFKA = (Abort, NewTopic, Partitions, ResetOffsets)
_ASKS_THE_NODE = (Network, WriteBlock, NoNewIndices, Conflict, Rejections)
_ASKS_THE_NODE_AT_BOTH_ENDS = (Latency, Bandwidth, Slicer, SlowClose, WriteBlock, NoNewIndices)


def mistakes(timeline: Timeline) -> Iterator[str]:
    """Yield what is impossible, in order of time: `field: value: allowed: what`."""
    then = _Then(timeline.tenants, timeline.members)
    dated = sorted(enumerate(timeline.faults), key=lambda each: (each[1].at, each[0]))
    for number, fault in dated:
        for name, value, allowed in (*_places(timeline, fault), *then.places(fault)):
            if value not in allowed:
                named = ", ".join(map(str, allowed)) or "none that there is at its time"
                yield f"fault.{number}.{name}: {shown(value)}: allowed: {named}"
        then.go_on(fault)
    lasting = [(number, fault) for number, fault in dated if isinstance(fault, Lasting)]
    for number, fault in dated:
        for other, before in lasting:
            for name, moment in _excluded(timeline, before, fault) if other != number else ():
                if (before.at, other) < (moment, number) < (ends(before), other):
                    value = getattr(fault, name)
                    while_it_lasts = f"fault.{other}, {before.name}, lasts from {before.at:g} to {ends(before):g}"
                    yield f"fault.{number}.{name}: {value:g}: {while_it_lasts}: allowed: not meanwhile"


@dataclass
class _Then:
    """What there is at a time."""

    tenants: Sequence[Tenant]
    members: int
    made: set[str] = field(default_factory=set)
    partitions: dict[str, int] = field(default_factory=dict)

    def places(self, fault: Happening) -> Iterator[tuple[str, Any, Sequence[Any]]]:
        """Yield the fields of a fault that name what comes and goes: field, value, and what there is then."""
        if isinstance(fault, NewTopic):
            yield (
                "tenant",
                fault.tenant,
                [each.name for each in self.tenants if each.late and each.name not in self.made],
            )
        elif isinstance(fault, _OF_TOPICS):
            there = [each.name for each in self.tenants if not each.late or each.name in self.made]
            yield "tenant", fault.tenant, there
        if isinstance(fault, Partitions) and fault.partitions <= (had := self._partitions_of(fault.tenant)):
            yield "partitions", fault.partitions, [f"more than {had}"]
        if isinstance(fault, Kill | Stop | Freeze | CrashLoop):
            yield "member", fault.member, range(self.members)

    def go_on(self, fault: Happening) -> None:
        """Let it happen."""
        if isinstance(fault, NewTopic):
            self.made.add(fault.tenant)
        elif isinstance(fault, Partitions):
            self.partitions[fault.tenant] = fault.partitions
        elif isinstance(fault, Scale):
            self.members = fault.members

    def _partitions_of(self, tenant: str) -> int:
        first = next((each.partitions for each in self.tenants if each.name == tenant), 0)
        return self.partitions.get(tenant, first)


def _places(timeline: Timeline, fault: Happening) -> Iterator[tuple[str, Any, Sequence[Any]]]:
    """Yield the fields of a fault that name something of the timeline: field, value, and what there is."""
    tenants = [tenant.name for tenant in timeline.tenants]
    brokers = list(range(1, timeline.brokers + 1))
    if isinstance(fault, Swallow):
        yield "target", fault.target, tenants
    elif isinstance(fault, Network):
        leader = ["leader"] if timeline.brokers > 1 else []  # one that does not lead the group
        places = [f"{KAFKA}:{place}" for place in (*brokers, *leader, "coordinator")]
        yield "target", fault.target, [*tenants, KAFKA, *places]
    if isinstance(fault, OfTenant):
        yield "tenant", fault.tenant, tenants
    if isinstance(fault, BrokerKill | BrokerFreeze):
        yield "broker", fault.broker, brokers


def _excluded(timeline: Timeline, before: Happening, fault: Happening) -> Iterator[tuple[str, float]]:
    """Yield when a fault may not begin or end while another lasts: the field that decides it, and the moment."""
    held = _held(timeline, fault)
    if held is not None and held == _held(timeline, before):
        yield "at", fault.at
    elif isinstance(before, NodeKill | NodeFreeze) and before.tenant == _cluster(fault):
        if isinstance(fault, _ASKS_THE_NODE):
            yield "at", fault.at
        if isinstance(fault, _ASKS_THE_NODE_AT_BOTH_ENDS):
            yield "seconds", ends(fault)
    elif isinstance(before, BrokerKill | BrokerFreeze) and timeline.brokers == 1:
        chosen = isinstance(fault, Network) and fault.target == f"{KAFKA}:coordinator"
        if chosen or isinstance(fault, _OF_KAFKA):
            yield "at", fault.at


def _held(timeline: Timeline, fault: Happening) -> tuple[object, ...] | None:
    """What a fault has to itself: no other of those that have the same can be at the same time."""
    match fault:
        case NodeKill() | NodeFreeze():
            return "node", fault.tenant
        case BrokerKill() | BrokerFreeze():
            return "broker", fault.broker
        case Kill() | Stop() | Freeze() | CrashLoop():
            return "member", fault.member
        case WriteBlock() | NoNewIndices():
            return fault.name, fault.tenant
        case Refuse():
            is_kafka = timeline.brokers == 1 and fault.target.partition(":")[0] == KAFKA
            return "way", KAFKA if is_kafka else fault.target
    return None


def _cluster(fault: Happening) -> str | None:
    """The tenant at whose cluster, or on the way to it, something happens."""
    return fault.target if isinstance(fault, Network) else fault.tenant if isinstance(fault, OfTenant) else None
