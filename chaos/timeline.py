"""Timelines: what a run lives through, as a value that is read from TOML, printed as TOML, and run again."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Self

import tomli_w
from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator, model_validator

from isolane.chaos import possible
from isolane.chaos.happenings import KAFKA, KINDS, Anything, ends
from isolane.conformance.producer import Codec
from isolane.conformance.requirements import CATALOGUE
from isolane.fixtures import toml_files
from isolane.fixtures.errors import FixtureError
from isolane.fixtures.implementations.descriptor import Seconds, Timing
from isolane.fixtures.services.elasticsearch_settings import elasticsearch_yml
from isolane.fixtures.services.errors import ServiceError
from isolane.fixtures.toml_files import UnreadableTomlError

FOLDER = Path(__file__).parent / "timelines"
"""Where the fixed set lies."""

_NAME = r"^[a-z][a-z0-9]*$"
_KINDS = {str(each.model_fields["kind"].default): each for each in KINDS}


MOST_TENANTS = 16
"""Each has a node of its own, which takes some 300 MB."""


class TimelineError(FixtureError):
    """A timeline cannot be had: no such name or file, or a field is wrong; the message says what is allowed."""


class _Value(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", populate_by_name=True, strict=True)


class Tenant(_Value):
    """A tenant: its topics' partitions, its load in records a second, and its node's own settings by their names.

    One that is `late` has no topics until they are made, by a `new_topic`.
    """

    name: Annotated[str, Field(pattern=_NAME, max_length=30)]
    partitions: Annotated[int, Field(ge=1, le=100)] = 2
    rate: Annotated[float, Field(ge=0, le=100_000)] = 20.0
    codecs: Annotated[tuple[Codec, ...], Field(min_length=1, strict=False)] = ("none",)
    late: bool = False
    node: dict[Annotated[str, Field(pattern=r"^[a-z][a-z0-9_.]*$")], str] = {}

    @field_validator("node")
    @classmethod
    def _node_can_be_found(cls, node: dict[str, str]) -> dict[str, str]:
        try:
            elasticsearch_yml("", 0, node)
        except ServiceError as error:
            raise ValueError(str(error)) from error
        return node


class Caught(_Value):
    """An implementation that is wrong, and the requirements that it must fail in this timeline: proof of its worth."""

    implementation: str
    fails: Annotated[tuple[str, ...], Field(strict=False)]


class Timeline(_Value):
    """What a run lives through.

    Attributes:
        name: Its name, and that of its folder in a run's evidence.
        title: What is lived in it, for people.
        judges: The requirements that it declares to judge.
        members: How many there are at first, and at the end.
        brokers: How many brokers Kafka has: 1 or 3.
        timing: Seconds by which the implementation is configured otherwise, by the descriptor's names.
        tenants: The tenants, each with a node of its own.
        faults: What happens, in order of time.
        caught: Who fails in it, as it is known; for a test of the timeline itself.
    """

    name: Annotated[str, Field(pattern=r"^[a-z][a-z0-9-]*$", max_length=100)]
    title: str = ""
    judges: Annotated[tuple[str, ...], Field(min_length=1, strict=False)] = ("DEL-1", "OFF-1")
    members: Annotated[int, Field(ge=1, le=16)] = 1
    brokers: Annotated[int, Field(ge=1, le=3)] = 1
    timing: dict[str, Seconds] = {}
    tenants: Annotated[tuple[Tenant, ...], Field(alias="tenant", min_length=1, max_length=MOST_TENANTS, strict=False)]
    faults: Annotated[tuple[Anything, ...], Field(alias="fault", strict=False)] = ()
    caught: Annotated[tuple[Caught, ...], Field(strict=False)] = ()

    @property
    def seconds(self) -> float:
        """When the last of what happens has ended."""
        return max((ends(fault) for fault in self.faults), default=0.0)

    @field_validator("brokers")
    @classmethod
    def _brokers_are_odd(cls, brokers: int) -> int:
        if brokers == 2:
            raise ValueError("allowed: 1 and 3")
        return brokers

    @field_validator("timing")
    @classmethod
    def _timing_exists(cls, timing: dict[str, float]) -> dict[str, float]:
        if unknown := [each for each in timing if each not in Timing.model_fields]:
            raise ValueError(f"unknown key {unknown[0]!r} (allowed: {', '.join(Timing.model_fields)})")
        return timing

    @field_validator("judges")
    @classmethod
    def _requirements_exist(cls, judges: tuple[str, ...]) -> tuple[str, ...]:
        if unknown := [each for each in judges if each not in CATALOGUE.requirements]:
            raise ValueError(f"no requirement {toml_files.shown(unknown[0])}; `isolane explain` lists them")
        return judges

    @model_validator(mode="after")
    def _is_possible(self) -> Self:
        names = [tenant.name for tenant in self.tenants]
        if KAFKA in names:
            raise ValueError(f"tenant: {KAFKA!r}: allowed: any other name; as a target that is Kafka itself")
        if twice := [name for name in names if names.count(name) > 1]:
            raise ValueError(f"tenant: {twice[0]!r}: there are two of that name")
        if impossible := next(possible.mistakes(self), None):
            raise ValueError(impossible)
        return self

    def toml(self) -> str:
        """The timeline as a file that `load` reads."""
        content = self.model_dump(mode="json", by_alias=True, exclude_defaults=True)
        # what tells them apart is a default of each one's class
        faults = [{"kind": fault.name, **fault.model_dump(mode="json", exclude_defaults=True)} for fault in self.faults]
        return tomli_w.dumps({**content, "fault": faults} if faults else content, indent=2)


def load(path: Path) -> Timeline:
    """Read a timeline.

    Raises:
        TimelineError: One line for each mistake: file, field, value and what is allowed.
    """
    try:
        raw = toml_files.read(path)
    except UnreadableTomlError as error:
        raise TimelineError(str(error)) from error
    try:
        return Timeline.model_validate(raw)
    except ValidationError as error:
        raise TimelineError("\n".join(f"{path}: {line}" for line in _mistakes(error))) from None


def packaged() -> dict[str, Path]:
    """The timelines of the fixed set, by name, in the order in which they are run."""
    return {path.stem.partition("-")[2]: path for path in sorted(FOLDER.glob("*.toml"))}


def find(name_or_path: str) -> Timeline:
    """The timeline of the fixed set by that name, or of a path to a TOML file.

    Raises:
        TimelineError: Neither, or it is wrong.
    """
    known = packaged()
    if name_or_path in known:
        return load(known[name_or_path])
    path = Path(name_or_path)
    if path.suffix != ".toml":
        names = ", ".join((*known, "drawn-SEED"))
        raise TimelineError(f"no timeline {name_or_path!r}; known are {names}; or give a path to a .toml file")
    return load(path)


def _mistakes(error: ValidationError) -> Iterator[str]:
    for mistake in toml_files.mistakes(error):
        where = ".".join(str(part) for part in mistake["loc"])
        if mistake["type"] == "missing":
            yield f"{where}: missing"
        elif mistake["type"] == "value_error" and not where:
            yield mistake["msg"].removeprefix("Value error, ")
        elif mistake["type"] == "union_tag_not_found":
            yield f"{where}.kind: missing (allowed: {', '.join(_KINDS)})"
        elif mistake["type"] == "union_tag_invalid":
            yield f"{where}.kind: {toml_files.shown(mistake['input']['kind'])}: allowed: {', '.join(_KINDS)}"
        elif mistake["type"] == "extra_forbidden":
            yield f"{where}: unknown key (allowed: {', '.join(_keys_at(mistake['loc']))})"
        else:
            yield f"{where}: {toml_files.shown(mistake['input'])}: {toml_files.in_words_of_toml(mistake['msg'])}"


def _keys_at(location: tuple[int | str, ...]) -> list[str]:
    """The keys that there are in the table of which the last part of the location is none."""
    match location:
        case ("tenant", *_):
            model: type[BaseModel] = Tenant
        case ("fault", _, kind, _):
            model = _KINDS[str(kind)]
        case ("caught", *_):
            model = Caught
        case _:
            model = Timeline
    return [field.alias or name for name, field in model.model_fields.items()]
