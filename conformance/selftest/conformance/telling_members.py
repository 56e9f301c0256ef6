"""Lines about members: what becomes of their processes, and who has which partition in their group."""

from __future__ import annotations

import re

from isolane.conformance.selftest.conformance.telling_kinds import Kinds, Telling

_NAMES = {"starts": "started", "stops": "stopped", "is killed": "killed", "is frozen": "frozen", "is woken": "thawed"}
_MEMBER = r"member (?P<member>\d+)"


def _changes(telling: Telling, at: float, said: re.Match[str]) -> None:
    telling.story.event(at, "process", _NAMES[said["what"]], member=int(said["member"]))


def _exits(telling: Telling, at: float, said: re.Match[str]) -> None:
    telling.story.event(at, "process", "exited", member=int(said["member"]), code=int(said["code"]))


def _is_told(telling: Telling, at: float, said: re.Match[str]) -> None:
    telling.story.event(at, "signal", "terminated", member=int(said["member"]))


def _rests(telling: Telling, at: float, said: re.Match[str]) -> None:
    shares = (share.split(" has ") for share in said["shares"].split(", "))
    telling.story.group(at, {member: [*map(telling.partition, named.split(" "))] for member, named in shares})


def _rebalances(telling: Telling, at: float, _: re.Match[str]) -> None:
    telling.story.group(at, telling.story.groups[-1]["members"], state="PreparingRebalance")


def _is_empty(telling: Telling, at: float, _: re.Match[str]) -> None:
    telling.story.group(at, {}, state="Empty")


_SHARE = r"member \d+ has \w/\d+(?: \w/\d+)*"

KINDS: Kinds = {
    re.compile(rf"{_MEMBER} (?P<what>{'|'.join(_NAMES)})"): _changes,
    re.compile(rf"{_MEMBER} exits with code (?P<code>\d+)"): _exits,
    re.compile(rf"{_MEMBER} is told to stop"): _is_told,
    re.compile(rf"group at rest: (?P<shares>{_SHARE}(?:, {_SHARE})*)"): _rests,
    re.compile(r"group rebalancing"): _rebalances,
    re.compile(r"group empty"): _is_empty,
}
