"""Lines about records: produced, answered by a cluster, put aside, committed; and the phases that they fall in."""

from __future__ import annotations

import re

from isolane.conformance.history_values import Kind
from isolane.conformance.selftest.conformance.telling_kinds import PLACES, TENANTS, Kinds, Telling

_WHAT: dict[str | None, Kind] = {None: "data", ", which nobody can decode": "poison"}


def _produced(telling: Telling, at: float, said: re.Match[str]) -> None:
    kind = _WHAT[said["what"]]
    token = telling.story.produce(TENANTS[said["tenant"]], at, partition=int(said["partition"]), kind=kind)
    assert telling.story.produced[-1]["offset"] == int(said["offset"]), said[0]
    telling.records["{tenant}/{partition}@{offset}".format(**said.groupdict())] = token


def _answered(telling: Telling, at: float, said: re.Match[str]) -> None:
    status = int(said["status"])
    whole = {"status": 200, "items": status} if status < 300 else {"status": status, "items": None}
    telling.story.attempt(TENANTS[said["tenant"]], telling.tokens(said["places"]), at, **whole)


def _read(telling: Telling, at: float, said: re.Match[str]) -> None:
    telling.story.commit(at, {telling.partition(said["partition"]): int(said["offset"])})


def _dead_letter(telling: Telling, at: float, said: re.Match[str]) -> None:
    telling.story.put_aside(telling.records[said["place"]], at, reason=said["reason"])


def _phase(telling: Telling, at: float, said: re.Match[str]) -> None:
    telling.story.phase(said["name"], at)


KINDS: Kinds = {
    re.compile(r"produced (?P<tenant>\w)/(?P<partition>\d+)@(?P<offset>\d+)(?P<what>, .*)?"): _produced,
    re.compile(rf"(?P<tenant>\w)'s cluster answers (?P<status>\d+) to (?P<places>{PLACES})"): _answered,
    re.compile(r"read (?P<partition>\w/\d+) = (?P<offset>\d+)"): _read,
    re.compile(r"(?P<place>\w/\d+@\d+) is a dead letter: (?P<reason>.*)"): _dead_letter,
    re.compile(r"phase (?P<name>\S+)"): _phase,
}
