"""What happened in a timeline of `isolane chaos`, as its history tells."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

from isolane.conformance.history import History

CHAOS = "chaos"
"""The kind of the events that tell of a timeline."""

MOVING = frozenset({"kill", "stop", "crash_loop", "rolling", "scale"})
"""What makes members come or go, so that partitions must change hands."""

_BROKERS = frozenset({"broker_kill", "broker_freeze"})
_UPSETTING = MOVING | _BROKERS | {"freeze", "reset_offsets"}


@dataclass(slots=True)
class Happening:
    """What a history tells of one thing that was to happen: from when to when, and how often it bit once it had ended.

    Attributes:
        name: Its kind.
        number: Its place in the timeline.
        target: Whose network it was, where it was one's.
        began: When it began.
        ended: When it was over; infinity while it was not.
        bites: How often it bit; None before it has ended.
        bite: What was counted.
    """

    name: str
    number: int
    target: str
    began: float
    ended: float = field(default=math.inf)
    bites: int | None = None
    bite: str = ""

    @property
    def case(self) -> str:
        """Its name and number."""
        return f"{self.name}-{self.number}"

    @property
    def takes_a_broker(self) -> bool:
        """Whether a broker was not there for anybody, observers included."""
        return self.name in _BROKERS

    @property
    def upsets_the_group(self) -> bool:
        """Whether members could not be expected to read meanwhile: they, or Kafka, were not there for each other."""
        return self.name in _UPSETTING or self.target.startswith("kafka")

    def meets(self, began: float, ended: float) -> bool:
        """Whether it was under way at some time between the two moments."""
        return self.began <= ended and began <= self.ended


def happenings(history: History) -> Mapping[int, Happening]:
    """Return what happened in a history's timeline, by number."""
    found: dict[int, Happening] = {}
    for event in history.events:
        if event.kind == CHAOS:
            number = int(event.detail["number"])
            target = str(event.detail.get("what", {}).get("target", ""))
            each = found.setdefault(number, Happening(event.name, number, target, event.at))
            if event.detail["part"] == "ended":
                each.bites, each.bite = int(event.detail["bites"]), str(event.detail["bite"])
            elif event.detail["part"] == "over":
                each.ended = event.at
    return found
