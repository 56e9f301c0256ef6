"""Lines about Kafka: whose its topics are, how many partitions they have, and whether it can be reached."""

from __future__ import annotations

import re

from isolane.conformance.selftest.conformance.telling_kinds import TENANTS, Kinds, Telling

_REACHED = {"no member can reach Kafka": "down", "members can reach Kafka again": "up"}
"""What is then said of the broker."""


def _owned(telling: Telling, _: float, said: re.Match[str]) -> None:
    tenant = TENANTS[said["tenant"]]
    number = telling.add_topic(
        said["letter"], f"managed_otlp.{said['signal'] or 'logs'}.{tenant}-{said['letter']}", tenant
    )
    (owner,) = (each for each in telling.story.meta["tenants"] if each["name"] == tenant)
    owner["topics"].append(number)


def _unowned(telling: Telling, _: float, said: re.Match[str]) -> None:
    telling.add_topic(said["letter"], said["name"], None)


def _grown(telling: Telling, at: float, said: re.Match[str]) -> None:
    topic, partitions = telling.topic(said["letter"]), int(said["partitions"])
    telling.story.event(at, "topic", "partitions", topic=topic, partitions=partitions)


def _idle(telling: Telling, _: float, said: re.Match[str]) -> None:
    for number in range(int(said["tenants"])):
        topic = telling.add_topic(f"t{number}", f"managed_otlp.logs.t{number}", f"t{number}")
        telling.story.meta["tenants"].append({"name": f"t{number}", "role": "healthy", "topics": [topic]})


def _broker(telling: Telling, at: float, said: re.Match[str]) -> None:
    telling.story.event(at, "broker", _REACHED[said[0]])


KINDS: Kinds = {
    re.compile(r"topic (?P<letter>\w)(?:, of (?P<signal>\w+),)? belongs to tenant (?P<tenant>\w), too"): _owned,
    re.compile(r"topic (?P<letter>\w), (?P<name>\S+), belongs to nobody"): _unowned,
    re.compile(r"topic (?P<letter>\w) has (?P<partitions>\d+) partitions from now on"): _grown,
    re.compile(r"(?P<tenants>\d+) tenants own a topic each"): _idle,
    re.compile("|".join(_REACHED)): _broker,
}
