"""Lines about requests that end without an answer, and about what is refused for good."""

from __future__ import annotations

import re

from isolane.conformance.selftest.conformance.telling_kinds import PLACES, TENANTS, Kinds, Telling

_ENDS = {"the sender hangs up": "client_gone", "the connection breaks": "reset"}


def _unanswered(telling: Telling, at: float, said: re.Match[str]) -> None:
    number = telling.story.attempt(TENANTS[said["tenant"]], telling.tokens(said["places"]), at, took=None)
    telling.story.attempts.append({"e": "closed", "r": number, "at": float(said["then"]), "how": _ENDS[said["how"]]})


def _no_reply(telling: Telling, at: float, said: re.Match[str]) -> None:
    telling.story.attempt(TENANTS[said["tenant"]], telling.tokens(said["places"]), at, items=None)


def _refuses(telling: Telling, at: float, said: re.Match[str]) -> None:
    culprit = str(telling.records[said["culprit"]][0])
    telling.story.event(at, "fault", "marked", tenant=TENANTS[said["tenant"]], script={"culprit": culprit})


def _destination(telling: Telling, at: float, said: re.Match[str]) -> None:
    kind = {"down": "fault", "up again": "heal"}[said["state"]]
    telling.story.event(at, kind, "letters", tenant=TENANTS[said["tenant"]], script={})


_CLUSTER = r"(?P<tenant>\w)'s cluster"

KINDS: Kinds = {
    re.compile(rf"{_CLUSTER} gets (?P<places>{PLACES}), and (?P<how>{'|'.join(_ENDS)}) at (?P<then>\S+)"): _unanswered,
    re.compile(rf"{_CLUSTER} answers 200 and no JSON to (?P<places>{PLACES})"): _no_reply,
    re.compile(rf"{_CLUSTER} refuses from now on what has (?P<culprit>\S+) in it"): _refuses,
    re.compile(r"(?P<tenant>\w)'s dead-letter destination is (?P<state>down|up again)"): _destination,
}
