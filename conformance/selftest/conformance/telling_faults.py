"""Lines about what tenants' clusters go through, and what was promised of whoever is judged."""

from __future__ import annotations

import re

from isolane.conformance.selftest.conformance.telling_kinds import TENANTS, Kinds, Telling


def _begins(telling: Telling, at: float, said: re.Match[str]) -> None:
    telling.story.phase(f"fault:{said['name']}", at)
    for tenant in said["tenants"].split(" and "):
        telling.story.event(at, "fault", said["name"], tenant=TENANTS[tenant], script={})


def _ends(telling: Telling, at: float, said: re.Match[str]) -> None:
    telling.story.phase(f"heal:{said['name']}", at)
    for tenant in said["tenants"].split(" and "):
        telling.story.event(at, "heal", said["name"], tenant=TENANTS[tenant])


def _promised(telling: Telling, _: float, said: re.Match[str]) -> None:
    for promise in said["promises"].split(", "):
        bound, value = promise.split(" = ")
        telling.story.meta["bounds"][bound] = float(value.removesuffix(" MiB")) * (1024**2 if "MiB" in value else 1)


_PROMISE = r"\w+ = [\d.]+(?: MiB)?"
_AT = r"at (?P<tenants>\w(?: and \w)*)"

KINDS: Kinds = {
    re.compile(rf"fault (?P<name>\S+) begins {_AT}"): _begins,
    re.compile(rf"fault (?P<name>\S+) ends {_AT}"): _ends,
    re.compile(rf"promised (?P<promises>{_PROMISE}(?:, {_PROMISE})*)"): _promised,
}
