"""Lines about many records: produced one after the other, and sent in requests that take their time."""

from __future__ import annotations

import re
from collections.abc import Iterator

from isolane.conformance.selftest.conformance.telling_kinds import PLACES, TENANTS, Kinds, Telling

_ANSWER = r"answers (?P<status>\d+) (?:(?P<later>[\d.]+) later|at (?P<then>[\d.]+))"
_NEXT = r"the next of (?P<next>\w/\d+(?: and of \w/\d+)*)"
_TRAVEL = 0.005
"""Seconds before its answer at which a request arrives of which a line says no more than when it was answered."""


def _produced_next(telling: Telling, at: float, said: re.Match[str]) -> None:
    name = telling.produce(said["partition"], at)
    if said["tenant"]:
        _send(telling, name, _end(at, said) - _TRAVEL, said)


def _got(telling: Telling, at: float, said: re.Match[str]) -> None:
    requests = [said["places"]] if said["places"] else [*_waiting(telling, said["next"].split(" and of "))]
    for places in requests:
        _send(telling, places, at, said)


def _waiting(telling: Telling, partitions: list[str]) -> Iterator[str]:
    """Yield the first record of each partition that was in no request yet."""
    sent = {token for line in telling.story.attempts for token in line.get("tokens", ())}
    for partition in partitions:
        own = [name for name in telling.records if name.startswith(f"{partition}@")]
        yield next(name for name in own if str(telling.records[name][0]) not in sent)


def _send(telling: Telling, places: str, at: float, said: re.Match[str]) -> None:
    status = int(said["status"])
    whole = {"status": 200, "items": status} if status < 300 else {"status": status, "items": None}
    telling.story.attempt(TENANTS[said["tenant"]], telling.tokens(places), at, took=_end(at, said) - at, **whole)


def _end(at: float, said: re.Match[str]) -> float:
    return float(said["then"]) if said["then"] else at + float(said["later"])


KINDS: Kinds = {
    re.compile(rf"produced (?P<partition>\w/\d+)(?:, and (?P<tenant>\w)'s cluster {_ANSWER})?"): _produced_next,
    re.compile(rf"(?P<tenant>\w)'s cluster gets (?:(?P<places>{PLACES})|{_NEXT}), and {_ANSWER}"): _got,
}
