"""Lines about records: produced, answered by a cluster, put aside, committed; and the phases that they fall in."""

from __future__ import annotations

import re

from isolane.conformance.history_values import Kind
from isolane.conformance.selftest.conformance.telling_kinds import PLACES, TENANTS, Kinds, Telling, each

_KINDS: dict[str | None, Kind] = {
    None: "data",
    ", which nobody can decode": "poison",
    ", with nothing to deliver": "empty",
    ", in a transaction that is aborted": "aborted",
}


def _produced(telling: Telling, at: float, said: re.Match[str]) -> None:
    for place in each(said["places"]):
        telling.produce(place, at, items=int(said["items"] or 1), kind=_KINDS[said["kind"]])


def _answered(telling: Telling, at: float, said: re.Match[str]) -> None:
    statuses = [*map(int, said["statuses"].split(" "))]
    status = statuses[0]
    whole = (
        {"status": 200, "items": statuses if len(statuses) > 1 else status}
        if len(statuses) > 1 or status < 300 or status == 409
        else {"status": status, "items": None}
    )
    telling.story.attempt(TENANTS[said["tenant"]], telling.tokens(said["places"]), at, **whole)


def _read(telling: Telling, at: float, said: re.Match[str]) -> None:
    readings = (reading.split(" = ") for reading in said["readings"].split(", "))
    telling.story.commit(at, {telling.partition(partition): int(offset) for partition, offset in readings})


def _dead_letter(telling: Telling, at: float, said: re.Match[str]) -> None:
    telling.story.put_aside(telling.records[said["place"]][0], at, reason=said["reason"])


def _phase(telling: Telling, at: float, said: re.Match[str]) -> None:
    telling.story.phase(said["name"], at)


_READING = r"\w/\d+ = \d+"

KINDS: Kinds = {
    re.compile(rf"produced (?P<places>{PLACES})(?:, with (?P<items>\d+) items)?(?P<kind>, [^\d]+)?"): _produced,
    re.compile(rf"(?P<tenant>\w)'s cluster answers (?P<statuses>\d+(?: \d+)*) to (?P<places>{PLACES})"): _answered,
    re.compile(rf"read (?P<readings>{_READING}(?:, {_READING})*)"): _read,
    re.compile(r"(?P<place>\w/\d+@\d+) is a dead letter: (?P<reason>.*)"): _dead_letter,
    re.compile(r"phase (?P<name>\S+)"): _phase,
}
