"""Lines about many records: produced one after the other, and sent in requests that take their time."""

from __future__ import annotations

import re
from collections.abc import Iterator

from isolane.conformance.selftest.conformance.builders import Story
from isolane.conformance.selftest.conformance.telling_kinds import PLACES, SIZE, TENANTS, Kinds, Telling, bytes_of, each

_SIZE = rf"of {SIZE}(?: each)?"
_ANSWER = r"answers (?P<status>\d+) (?:(?P<later>[\d.]+) later|at (?P<then>[\d.]+))"
_NEXT = r"the next of (?P<next>\w/\d+(?: and of \w/\d+)*)"
_TRAVEL = 0.005
"""Seconds before its answer at which a request arrives of which a line says no more than when it was answered."""


def _produced_next(telling: Telling, at: float, said: re.Match[str]) -> None:
    name = _produce(telling, at, said["partition"], said)
    if said["tenant"]:
        ended = _end(at, said)
        _send(telling, name, ended - _TRAVEL, ended, said)


def _produced_of_size(telling: Telling, at: float, said: re.Match[str]) -> None:
    for place in each(said["places"]):
        _produce(telling, at, place, said)


def _got(telling: Telling, at: float, said: re.Match[str]) -> None:
    requests = [said["places"]] if said["places"] else [*_waiting(telling, said["next"].split(" and of "))]
    for places in requests:
        _send(telling, places, at, _end(at, said), said)


def _answered_items(telling: Telling, at: float, said: re.Match[str]) -> None:
    telling.story.attempt(TENANTS[said["tenant"]], telling.tokens(said["places"]), at, items=int(said["status"]))


def _produce(telling: Telling, at: float, place: str, said: re.Match[str]) -> str:
    """Produce a record at a place, of the size that is said, if any is; its name."""
    name = telling.produce(place, at)
    if said["size"]:
        telling.story.produced[-1]["bytes"] = bytes_of(said)
    return name


def _waiting(telling: Telling, partitions: list[str]) -> Iterator[str]:
    """Yield the first record of each partition that was in no request yet."""
    sent = {token for line in telling.story.attempts for token in line.get("tokens", ())}
    for partition in partitions:
        own = [name for name in telling.records if name.startswith(f"{partition}@")]
        yield next(name for name in own if str(telling.records[name][0]) not in sent)


def _send(telling: Telling, places: str, at: float, ended: float, said: re.Match[str]) -> None:
    status, tenant = int(said["status"]), TENANTS[said["tenant"]]
    whole = {"status": 200, "items": status} if status < 300 else {"status": status, "items": None}
    others = _open(telling.story, tenant, at)
    telling.story.attempt(tenant, telling.tokens(places), at, took=ended - at, **whole)
    next(line for line in reversed(telling.story.attempts) if line["e"] == "arrived")["open"] = 1 + others


def _open(story: Story, tenant: str, at: float) -> int:
    """How many requests are open at a tenant's cluster at a time, as far as the story is told."""
    closed = {line["r"] for line in story.attempts if line["e"] == "closed" and line["at"] <= at}
    arrived = {line["r"] for line in story.attempts if line.get("tenant") == tenant and line["at"] <= at}
    return len(arrived - closed)


def _end(at: float, said: re.Match[str]) -> float:
    return float(said["then"]) if said["then"] else at + float(said["later"])


KINDS: Kinds = {
    re.compile(rf"produced (?P<partition>\w/\d+)(?: {_SIZE})?(?:, and (?P<tenant>\w)'s cluster {_ANSWER})?"): (
        _produced_next
    ),
    re.compile(rf"produced (?P<places>{PLACES}) {_SIZE}"): _produced_of_size,
    re.compile(rf"(?P<tenant>\w)'s cluster gets (?:(?P<places>{PLACES})|{_NEXT}), and {_ANSWER}"): _got,
    re.compile(rf"(?P<tenant>\w)'s cluster answers (?P<status>\d+) to the items? (?P<places>{PLACES})"): (
        _answered_items
    ),
}
