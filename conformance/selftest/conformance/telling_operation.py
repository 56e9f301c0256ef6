"""Lines about what operators do and see: configurations, what members print, and the metrics that they tell."""

from __future__ import annotations

import re

from isolane.conformance.metrics_text import OF_PARTITIONS, OF_TENANTS
from isolane.conformance.selftest.conformance.builders import Line
from isolane.conformance.selftest.conformance.telling_kinds import TENANTS, Kinds, Telling

_METRICS = {"map": {name: name for name in (*OF_TENANTS, *OF_PARTITIONS)}}


def _tells(telling: Telling, at: float, said: re.Match[str]) -> None:
    telling.story.meta["metrics"] = _METRICS
    values = [value.split(" ") for value in said["values"].split(", ")]
    for whose in said["whose"].split(" and "):
        for name, value, *outcome in values:
            labels = ",".join([_labels(telling, whose), *(f'outcome="{word}"' for word in outcome)])
            _scrape(telling, at)["text"] += f"{name}{{{labels}}} {value}\n"


def _labels(telling: Telling, whose: str) -> str:
    tenant, _, partition = whose.partition("/")
    topic = telling.story.meta["topics"][telling.story.topic(TENANTS[tenant])]["name"]
    return f'topic="{topic}",partition="{partition}"' if partition else f'tenant="{TENANTS[tenant]}"'


def _scrape(telling: Telling, at: float) -> Line:
    scrapes = telling.story.scrapes
    if not any(each["at"] == at for each in scrapes):
        scrapes.append({"began": at, "at": at, "member": "0", "text": ""})
    return next(each for each in scrapes if each["at"] == at)


def _has_password(telling: Telling, _: float, said: re.Match[str]) -> None:
    telling.story.meta["secrets"] = [said["password"]]


def _prints(telling: Telling, _: float, said: re.Match[str]) -> None:
    telling.story.output.append(said["words"])


def _refuses(telling: Telling, at: float, said: re.Match[str]) -> None:
    detail = {"field": said["field"], "code": int(said["code"]), "words": said["words"]}
    telling.story.event(at, "wrong", "configuration", seconds=at, **detail)


def _changes(telling: Telling, at: float, said: re.Match[str]) -> None:
    earlier = [event for event in telling.story.events if event["kind"] == "tenants"]
    now = {name: set(earlier[-1][name]) if earlier else set() for name in ("without", "elsewhere")}
    name, adds = _CHANGES[said["change"]]
    now[name] ^= {TENANTS[said["tenant"]]}
    assert (TENANTS[said["tenant"]] in now[name]) == adds, said[0]
    telling.story.event(at, "tenants", "changed", **{name: sorted(tenants) for name, tenants in now.items()})


_CHANGES = {
    "is removed": ("without", True),
    "is added": ("without", False),
    "has an endpoint that leads nowhere": ("elsewhere", True),
    "has its endpoint set right": ("elsewhere", False),
}
"""What changes about a tenant: which list of the configuration's it is on from then on, or no more."""

_VALUE = r"\w+ \d+(?: \w+)?"
"""What is told, how much of it, and with what outcome."""

KINDS: Kinds = {
    re.compile(rf"metrics of (?P<whose>\w(?:/\d+ and \w/\d+)*): (?P<values>{_VALUE}(?:, {_VALUE})*)"): _tells,
    re.compile(r"(?P<tenant>\w)'s password is (?P<password>\S+)"): _has_password,
    re.compile(r"member \d+ prints: (?P<words>.*)"): _prints,
    re.compile(
        r"member \d+, started with a mistake in (?P<field>\S+), exits with code (?P<code>\d+): (?P<words>.*)"
    ): _refuses,
    re.compile(rf"tenant (?P<tenant>\w) (?P<change>{'|'.join(_CHANGES)})"): _changes,
}
