"""The values of a history: one type for each kind of line, and ``meta.json``. All times are monotonic seconds."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Annotated, Any, Literal, Self, get_args

from pydantic import BaseModel, ConfigDict, Field, model_validator

from isolane.conformance.history_files import Line
from isolane.conformance.tokens import Token, number_of

Kind = Literal["data", "poison", "tombstone", "empty", "aborted", "superseded", "early"]
"""What a record is.

Something to deliver; something that cannot be decoded; nothing to deliver, because the value is null, or has no items;
part of a transaction that was aborted; in a compacted topic, with a later record of its key; written before the group
began, in a topic that it begins at the end of.
"""

Place = tuple[int, int, int]
"""Where a record lies in Kafka: topic number, partition and offset."""

NOTHING_TO_DELIVER: frozenset[Kind] = frozenset({"tombstone", "empty", "aborted", "superseded", "early"})
"""The kinds that nobody owes to a cluster; some of the last three may reach one all the same."""

AT_REST = "Stable"
"""The state of a group in which no rebalance is under way."""

COMMIT_OBSERVER, GROUP_OBSERVER, LETTER_OBSERVER = "commit-observer", "group-observer", "dead-letter-observer"
"""The observers that ask Kafka, as events call them."""

NEEDED: dict[tuple[str, str], tuple[str, ...]] = {
    ("fault", ""): ("tenant",),
    ("heal", ""): ("tenant",),
    ("process", ""): ("member",),
    ("harness", "load_lag"): ("seconds",),
    ("harness", "sampler_gap"): ("seconds",),
    ("harness", "unreadable"): ("seconds",),
    ("harness", "cluster_lag"): ("seconds",),
    ("harness", "clock_step"): ("seconds",),
    ("load", "offered"): ("phase", "tenant", "records"),
    ("documents", ""): ("documents",),
    ("chaos", ""): ("number", "part"),
    ("operator", ""): ("tenant",),
    ("tenants", ""): ("without", "elsewhere"),
    ("wrong", ""): ("field", "code", "seconds", "words"),
    ("topic", "created"): ("topic", "partitions"),
    ("topic", "partitions"): ("topic", "partitions"),
}
"""What an event must tell beside its time, by kind and name (empty: any name)."""


_NUMBERS = frozenset({"seconds", "records", "topic", "partitions", "number", "documents"})
"""What of that is a number."""


class _Frozen(BaseModel):
    model_config = ConfigDict(frozen=True, extra="ignore")


class TenantMeta(_Frozen):
    """A tenant of the scenario: its name, its part in it, and its topics' numbers."""

    name: str
    role: Literal["sick", "healthy"]
    topics: tuple[int, ...]


class TopicMeta(_Frozen):
    """A topic: its name, the tenant that owns it (None: nobody), and how many partitions it has at first.

    Events of the kind ``topic`` tell of topics that are created, or given partitions, while the scenario lives.
    """

    name: str
    tenant: str | None
    partitions: Annotated[int, Field(ge=1)]


class DeadLetterMeta(_Frozen):
    """Where dead letters go by the descriptor, and what becomes of records that cannot be decoded (None: not said)."""

    kind: Literal["none", "kafka", "index", "file"] = "none"
    undecodable: Literal["dead_letter", "skip", "hold"] | None = None


class MetricsMeta(_Frozen):
    """What samples of metrics are called, and their labels, by the suite's names for them."""

    map: Mapping[str, str] = {}
    labels: Mapping[str, str] = {}


class Meta(_Frozen):
    """What the scenario was: the content of ``meta.json``.

    `bounds` are the effective ones, after the suite's caps: seconds, bytes and counts by name. `judges` are the
    requirements that the scenario declares to judge; other checkers read its history all the same. `secrets` are the
    credentials that the implementation was given.
    """

    version: Annotated[Literal[1], Field(alias="schema")]
    scenario: str
    implementation: str
    depth: str
    seed: int
    run: Annotated[str, Field(pattern="^[0-9a-f]{4}$")]
    group: str
    tenants: tuple[TenantMeta, ...]
    topics: tuple[TopicMeta, ...]
    items_per_record: Annotated[int, Field(ge=1)]
    bounds: Mapping[str, float | int | str | bool | None] = {}
    features: Mapping[str, bool] = {}
    judges: tuple[str, ...] = ()
    dead_letter: DeadLetterMeta = DeadLetterMeta()
    metrics: MetricsMeta = MetricsMeta()
    secrets: tuple[str, ...] = ()

    @model_validator(mode="after")
    def _owners_exist(self) -> Self:
        names = {tenant.name for tenant in self.tenants}
        for topic in self.topics:
            if topic.tenant is not None and topic.tenant not in names:
                raise ValueError(f"topic {topic.name} belongs to {topic.tenant!r}; the tenants are {sorted(names)}")
        return self

    @cached_property
    def run_number(self) -> int:
        """The run's number as tokens carry it."""
        return int(self.run, 16)

    @cached_property
    def owners(self) -> dict[int, str]:
        """The tenant of each owned topic, by the topic's number."""
        return {number: topic.tenant for number, topic in enumerate(self.topics) if topic.tenant is not None}


@dataclass(frozen=True, slots=True)
class Produced:
    """A record that Kafka acknowledged: `size` is its value in bytes, `scheduled` when the open loop wanted it sent.

    Its token names it, also where its value holds none.
    """

    record: int
    topic: int
    partition: int
    offset: int
    items: int
    size: int
    scheduled: float
    sent: float
    acked: float
    phase: str
    kind: Kind = "data"

    @property
    def token(self) -> str:
        """The token of the record's first item."""
        return str(Token.of_record(self.record))

    @property
    def place(self) -> Place:
        """Where it lies in Kafka."""
        return self.topic, self.partition, self.offset


@dataclass(frozen=True, slots=True)
class Observation:
    """One read of the group's committed offsets, by (topic number, partition); `error` when the read failed.

    `ends` are the ends of the logs, read after the offsets: a committed offset above its end was never right.
    """

    began: float
    ended: float
    offsets: Mapping[tuple[int, int], int]
    error: str | None = None
    ends: Mapping[tuple[int, int], int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class DeadLetter:
    """A dead letter that was found where the descriptor says.

    Attributes:
        at: The earliest that it can have been there: the reading before did not find it.
        seen: When it was found.
        place: Where the record is that it says to be about; None where it does not say so.
        reason: Why the record was put aside, by the letter itself; empty where it does not say.
        items: The numbers of the tokens in it.
    """

    at: float
    seen: float
    place: Place | None
    reason: str
    items: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class GroupState:
    """What the consumer group was from a reading of it on, until the next one that differs.

    Attributes:
        at: When the reading ended.
        state: Kafka's word for it; `AT_REST` is the one in which everybody has what is its own.
        generation: How many times the group was formed anew; None where nobody may see that.
        members: The partitions of each member, as (topic number, partition), by the name that it goes by there.
    """

    at: float
    state: str
    generation: int | None
    members: Mapping[str, frozenset[tuple[int, int]]]

    @property
    def at_rest(self) -> bool:
        """Whether no rebalance was under way."""
        return self.state == AT_REST


@dataclass(frozen=True, slots=True)
class Sample:
    """What the operating system said of one member's process: `rss` in bytes."""

    at: float
    member: str
    pid: int
    rss: int
    threads: int
    fds: int


@dataclass(frozen=True, slots=True)
class Scrape:
    """What one member answered to a scrape of its metrics: when that began and ended, and the text."""

    began: float
    at: float
    member: str
    text: str


@dataclass(frozen=True, slots=True)
class Fetched:
    """How many bytes had come from Kafka to the members by then, all connections together."""

    at: float
    bytes: int


@dataclass(frozen=True, slots=True)
class Event:
    """Something the harness did or noticed; `detail` is what the line holds beside the three fields."""

    at: float
    kind: str
    name: str
    detail: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Phase:
    """A stretch of the scenario. One that the run did not complete ends with the last thing known of the run."""

    name: str
    began: float
    ended: float
    complete: bool = True

    @property
    def seconds(self) -> float:
        """How long it lasted."""
        return self.ended - self.began


@dataclass(frozen=True, slots=True)
class Fault:
    """A fault at one tenant's cluster, from its injection to its heal (infinity: never healed)."""

    name: str
    tenant: str
    began: float
    ended: float
    script: Mapping[str, Any]


def produced(line: Line) -> Produced:
    """Read a line of ``produced.ndjson``; raises KeyError, TypeError or ValueError for one that is none."""
    if int(line["items"]) < 0:
        raise ValueError(f"items: {line['items']}: 0 or more are wanted")
    return Produced(
        record=Token.parse(line["token"]).record,
        topic=int(line["topic"]),
        partition=int(line["partition"]),
        offset=int(line["offset"]),
        items=int(line["items"]),
        size=int(line["bytes"]),
        scheduled=float(line["scheduled"]),
        sent=float(line["sent"]),
        acked=float(line["acked"]),
        phase=str(line["phase"]),
        kind=_KINDS[line.get("kind", "data")],
    )


def observation(line: Line) -> Observation:
    """Read a line of ``commits.ndjson``; raises KeyError, TypeError or ValueError for one that is none."""
    return Observation(
        float(line["began"]),
        float(line["ended"]),
        _by_partition(line, "offsets"),
        line.get("error"),
        _by_partition(line, "ends"),
    )


def group(line: Line) -> GroupState:
    """Read a line of ``groups.ndjson``; raises KeyError, TypeError or ValueError for one that is none."""
    generation = line["generation"]
    return GroupState(
        at=float(line["at"]),
        state=str(line["state"]),
        generation=None if generation is None else int(generation),
        members={str(member): frozenset(map(_place, owned)) for member, owned in line["members"].items()},
    )


def dead_letter(line: Line) -> DeadLetter:
    """Read a line of ``dead_letters.ndjson``; raises KeyError, TypeError or ValueError for one that is none."""
    place = line["topic"], line["partition"], line["offset"]
    return DeadLetter(
        at=float(line["at"]),
        seen=float(line["seen"]),
        place=None if None in place else (int(place[0]), int(place[1]), int(place[2])),
        reason=str(line["reason"] or ""),
        items=tuple(map(number_of, line["tokens"])),
    )


def sample(line: Line) -> Sample:
    """Read a line of ``samples.ndjson``; raises KeyError, TypeError or ValueError for one that is none."""
    return Sample(
        at=float(line["at"]),
        member=str(line["member"]),
        pid=int(line["pid"]),
        rss=int(line["rss"]),
        threads=int(line["threads"]),
        fds=int(line["fds"]),
    )


def scrape(line: Line) -> Scrape:
    """Read a line of ``scrapes.ndjson``; raises KeyError, TypeError or ValueError for one that is none."""
    return Scrape(float(line["began"]), float(line["at"]), str(line["member"]), str(line["text"]))


def fetched(line: Line) -> Fetched:
    """Read a line of ``fetched.ndjson``; raises KeyError, TypeError or ValueError for one that is none."""
    return Fetched(float(line["at"]), int(line["bytes"]))


def event(line: Line) -> Event:
    """Read a line of ``events.ndjson``; raises KeyError, TypeError or ValueError for one that is none."""
    detail = {key: value for key, value in line.items() if key not in {"at", "kind", "name"}}
    for key in NEEDED.get((line["kind"], line["name"]), NEEDED.get((line["kind"], ""), ())):
        if key not in detail:
            raise KeyError(key)
        if key in _NUMBERS:
            float(detail[key])
        elif key == "tenant" and not isinstance(detail[key], str):
            raise TypeError(f"tenant: {detail[key]!r}: a name is wanted")
    return Event(float(line["at"]), str(line["kind"]), str(line["name"]), detail)


_KINDS: Mapping[str, Kind] = {kind: kind for kind in get_args(Kind)}


def _by_partition(line: Line, name: str) -> dict[tuple[int, int], int]:
    return {_place(place): int(offset) for place, offset in line.get(name, {}).items()}


def _place(text: str) -> tuple[int, int]:
    topic, _, partition = text.partition("/")
    return int(topic), int(partition)
