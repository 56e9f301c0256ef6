"""What can happen in a timeline, as values: each kind is a class, with what it takes and the time at which it begins.

Those that last have an end, at which all is well again. What is done for each is in `network`, `nodes`, `processes` and
`records`; what shows that it did anything, its bite, is counted there.
"""

from __future__ import annotations

from typing import Annotated, Literal, get_args

from pydantic import BaseModel, ConfigDict, Field

Seconds = Annotated[float, Field(ge=0, le=86_400)]
Count = Annotated[int, Field(ge=1, le=1_000_000)]
Member = Annotated[int, Field(ge=0, le=15)]

KAFKA = "kafka"
"""The target of what goes wrong between the members and Kafka: every broker, or as in `kafka:2` one of them.

`kafka:coordinator` is the one that leads the consumer group, `kafka:leader` one that leads partitions and no group.
"""


class Happening(BaseModel):
    """Something that happens at a time, in seconds from the moment at which the load is under way."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    at: Seconds

    @property
    def name(self) -> str:
        """Its kind, by the name that timelines use."""
        return str(type(self).model_fields["kind"].default)


class Lasting(Happening):
    """Something that goes on for so many seconds, and then ends."""

    seconds: Annotated[float, Field(gt=0, le=86_400)]


class Network(Lasting):
    """Something wrong on the wire between the members and `target`: a tenant's cluster by its name, or Kafka."""

    target: str


class Latency(Network):
    """Replies come late: by so many milliseconds, give or take the jitter."""

    kind: Literal["latency"] = "latency"
    milliseconds: Annotated[int, Field(ge=1, le=600_000)] = 500
    jitter: Annotated[int, Field(ge=0, le=600_000)] = 0


class Bandwidth(Network):
    """Requests go through at so many kilobytes a second."""

    kind: Literal["bandwidth"] = "bandwidth"
    rate: Annotated[int, Field(ge=1, le=1_000_000)] = 50


class Slicer(Network):
    """Replies come in pieces of so many bytes, with so many microseconds between."""

    kind: Literal["slicer"] = "slicer"
    size: Annotated[int, Field(ge=1, le=65_536)] = 64
    pause: Annotated[int, Field(ge=0, le=10_000_000)] = 20_000


class SlowClose(Network):
    """Connections are closed so many milliseconds late."""

    kind: Literal["slow_close"] = "slow_close"
    milliseconds: Annotated[int, Field(ge=1, le=600_000)] = 2000


class Reset(Network):
    """Connections are cut when a reply comes: with RST where they are new."""

    kind: Literal["reset"] = "reset"


class Limit(Network):
    """Every connection ends after so many bytes of replies, in the middle of one."""

    kind: Literal["limit"] = "limit"
    size: Annotated[int, Field(ge=1, le=1_000_000_000)] = 300


class BlackHole(Network):
    """Nothing gets through, and nobody is told; with `half_open` old connections stay dead when it ends."""

    kind: Literal["black_hole"] = "black_hole"
    half_open: bool = False


class Swallow(Network):
    """A cluster does what a request says, and the reply never comes, nor any under way then; connections stay open."""

    kind: Literal["swallow"] = "swallow"


class Refuse(Network):
    """Connections are closed, and new ones refused."""

    kind: Literal["refuse"] = "refuse"


class OfTenant(Happening):
    """Something about one tenant."""

    tenant: str


class NodeKill(Lasting, OfTenant):
    """The tenant's node is killed with SIGKILL, and started again at the end, on the same data."""

    kind: Literal["node_kill"] = "node_kill"


class NodeFreeze(Lasting, OfTenant):
    """The tenant's node is stopped with SIGSTOP: connections stay open, and nothing is answered."""

    kind: Literal["node_freeze"] = "node_freeze"


class WriteBlock(Lasting, OfTenant):
    """The tenant's indices refuse every document with 403, as after a flood of the disk."""

    kind: Literal["write_block"] = "write_block"


class NoNewIndices(Lasting, OfTenant):
    """The tenant's cluster makes no index by itself: a document for one that is missing gets a 404."""

    kind: Literal["no_new_indices"] = "no_new_indices"


class Conflict(OfTenant):
    """So many records come whose documents conflict with the tenant's mapping: a 400 for each, for ever."""

    kind: Literal["conflict"] = "conflict"
    records: Count = 10


class Burst(OfTenant):
    """So many records come at once to each of the tenant's topics."""

    kind: Literal["burst"] = "burst"
    records: Count = 1000


class Rejections(OfTenant):
    """A burst to a tenant whose node has a tiny write queue (`thread_pool.write.queue_size`): a 429 for some items."""

    kind: Literal["rejections"] = "rejections"
    records: Count = 1000


class Oversized(OfTenant):
    """So many records come that are too large together for the tenant's node (`http.max_content_length`): a 413."""

    kind: Literal["oversized"] = "oversized"
    records: Count = 40
    size: Annotated[int, Field(ge=1, le=8_000_000)] = 8_000


class Inflate(OfTenant):
    """So many records come that inflate: text of so many bytes, compressed to a fraction by the tenant's codec."""

    kind: Literal["inflate"] = "inflate"
    records: Count = 50
    size: Annotated[int, Field(ge=1, le=8_000_000)] = 100_000


class Abort(OfTenant):
    """So many records come in a transaction that is aborted, and as many in one that is committed."""

    kind: Literal["abort"] = "abort"
    records: Count = 20


class NewTopic(OfTenant):
    """The topics of a tenant that is late are made."""

    kind: Literal["new_topic"] = "new_topic"


class Partitions(OfTenant):
    """Each of the tenant's topics is given more partitions, so many in all."""

    kind: Literal["partitions"] = "partitions"
    partitions: Annotated[int, Field(ge=2, le=100)]


class ResetOffsets(OfTenant):
    """The members are stopped, an operator sets the tenant's offsets back to the beginning, and they are started."""

    kind: Literal["reset_offsets"] = "reset_offsets"


class Kill(Lasting):
    """A member is killed with SIGKILL, and started again at the end."""

    kind: Literal["kill"] = "kill"
    member: Member = 0


class Stop(Lasting):
    """A member is stopped with SIGTERM, and started again at the end."""

    kind: Literal["stop"] = "stop"
    member: Member = 0


class Freeze(Lasting):
    """A member is stopped with SIGSTOP, and wakes at the end: as one that has lost its partitions if that is long."""

    kind: Literal["freeze"] = "freeze"
    member: Member = 0


class CrashLoop(Happening):
    """A member is killed with SIGKILL and started again, so many times, after so many seconds of life each."""

    kind: Literal["crash_loop"] = "crash_loop"
    member: Member = 0
    times: Annotated[int, Field(ge=1, le=1000)] = 3
    life: Annotated[float, Field(ge=0, le=600)] = 1.0


class Scale(Happening):
    """From now on there are so many members; what is too many is stopped with SIGTERM."""

    kind: Literal["scale"] = "scale"
    members: Annotated[int, Field(ge=0, le=16)]


class Rolling(Happening):
    """Each member in turn is stopped with SIGTERM and started again, the next when the group is at rest."""

    kind: Literal["rolling"] = "rolling"


class BrokerKill(Lasting):
    """A broker is killed with SIGKILL, and started again at the end, on the same data."""

    kind: Literal["broker_kill"] = "broker_kill"
    broker: Annotated[int, Field(ge=1, le=3)] = 1


class BrokerFreeze(Lasting):
    """A broker is stopped with SIGSTOP: connections stay open, and nothing is answered."""

    kind: Literal["broker_freeze"] = "broker_freeze"
    broker: Annotated[int, Field(ge=1, le=3)] = 1


Anything = Annotated[
    Latency
    | Bandwidth
    | Slicer
    | SlowClose
    | Reset
    | Limit
    | BlackHole
    | Swallow
    | Refuse
    | NodeKill
    | NodeFreeze
    | WriteBlock
    | NoNewIndices
    | Conflict
    | Burst
    | Rejections
    | Oversized
    | Inflate
    | Abort
    | NewTopic
    | Partitions
    | ResetOffsets
    | Kill
    | Stop
    | Freeze
    | CrashLoop
    | Scale
    | Rolling
    | BrokerKill
    | BrokerFreeze,
    Field(discriminator="kind"),
]
"""Any of them, told apart by their `kind`."""

KINDS: tuple[type[Happening], ...] = get_args(get_args(Anything)[0])
"""Their classes."""


def ends(fault: Happening) -> float:
    """When it has ended, in seconds."""
    return fault.at + (fault.seconds if isinstance(fault, Lasting) else 0.0)
