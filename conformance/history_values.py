"""The values of a history: one type for each kind of line, and ``meta.json``. All times are monotonic seconds."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

from isolane.conformance.history_files import Line
from isolane.conformance.tokens import Token

_NEEDED: dict[tuple[str, str], tuple[str, ...]] = {
    ("fault", ""): ("tenant",),
    ("heal", ""): ("tenant",),
    ("process", ""): ("member",),
    ("harness", "load_lag"): ("seconds",),
    ("harness", "sampler_gap"): ("seconds",),
    ("load", "offered"): ("phase", "tenant", "records"),
}
"""What an event must tell beside its time, by kind and name (empty: any name)."""


class _Frozen(BaseModel):
    model_config = ConfigDict(frozen=True, extra="ignore")


class TenantMeta(_Frozen):
    """A tenant of the scenario: its name, its part in it, and its topics' numbers."""

    name: str
    role: Literal["sick", "healthy"]
    topics: tuple[int, ...]


class TopicMeta(_Frozen):
    """A topic: its name, the tenant that owns it (None: nobody), and how many partitions it has."""

    name: str
    tenant: str | None
    partitions: Annotated[int, Field(ge=1)]


class Meta(_Frozen):
    """What the scenario was: the content of ``meta.json``.

    `bounds` are the effective ones, after the suite's caps: seconds, bytes and counts by name. `judges` are the
    requirements that the scenario declares to judge; other checkers read its history all the same.
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

    @model_validator(mode="after")
    def _owners_exist(self) -> Self:
        names = {tenant.name for tenant in self.tenants}
        for topic in self.topics:
            if topic.tenant is not None and topic.tenant not in names:
                raise ValueError(f"topic {topic.name} belongs to {topic.tenant!r}; the tenants are {sorted(names)}")
        return self

    @property
    def run_number(self) -> int:
        """The run's number as tokens carry it."""
        return int(self.run, 16)

    @property
    def owners(self) -> dict[int, str]:
        """The tenant of each owned topic, by the topic's number."""
        return {number: topic.tenant for number, topic in enumerate(self.topics) if topic.tenant is not None}


@dataclass(frozen=True, slots=True)
class Produced:
    """A record that Kafka acknowledged: `size` is its value in bytes, `scheduled` when the open loop wanted it sent."""

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

    @property
    def token(self) -> str:
        """The token of the record's first item."""
        return str(Token.of_record(self.record))


@dataclass(frozen=True, slots=True)
class Observation:
    """One read of the group's committed offsets, by (topic number, partition); `error` when the read failed."""

    began: float
    ended: float
    offsets: Mapping[tuple[int, int], int]
    error: str | None = None


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
    )


def observation(line: Line) -> Observation:
    """Read a line of ``commits.ndjson``; raises KeyError, TypeError or ValueError for one that is none."""
    offsets = {}
    for place, offset in line.get("offsets", {}).items():
        topic, _, partition = place.partition("/")
        offsets[int(topic), int(partition)] = int(offset)
    return Observation(float(line["began"]), float(line["ended"]), offsets, line.get("error"))


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


def event(line: Line) -> Event:
    """Read a line of ``events.ndjson``; raises KeyError, TypeError or ValueError for one that is none."""
    detail = {key: value for key, value in line.items() if key not in {"at", "kind", "name"}}
    for key in _NEEDED.get((line["kind"], line["name"]), _NEEDED.get((line["kind"], ""), ())):
        if key not in detail:
            raise KeyError(key)
    return Event(float(line["at"]), str(line["kind"]), str(line["name"]), detail)
