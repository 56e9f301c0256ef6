"""Depths: how long a run looks, and so how much its verdict is worth."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

DepthName = Literal["smoke", "standard", "soak"]

DEPTHS: tuple[DepthName, ...] = get_args(DepthName)


@dataclass(frozen=True, slots=True)
class Depth:
    """Durations in seconds of a scenario's phases.

    `control` and `slow` last that long; `brief` is the time for each of many kinds of faults; `crashes` says how often
    a member is killed, and `kills` how often at random moments; `outage` is how long a cluster takes nothing at all;
    `moves` is how often members come and go while replies are slow, and `cycles` at saturation; `dead` is how long
    memory gets to come to rest while clusters are dead.
    """

    name: str
    control: float
    slow: float
    brief: float
    crashes: int
    outage: float
    moves: int
    dead: float
    kills: int = 0
    cycles: int = 0


_DEPTHS: dict[DepthName, Depth] = {
    "smoke": Depth("smoke", control=6, slow=7, brief=5, crashes=1, kills=1, outage=10, moves=1, dead=8),
    "standard": Depth(
        "standard", control=10, slow=60, brief=7, crashes=3, kills=5, outage=25, moves=3, dead=10, cycles=10
    ),
    "soak": Depth(
        "soak", control=60, slow=600, brief=60, crashes=20, kills=200, outage=660, moves=20, dead=300, cycles=50
    ),
}


def depth(name: DepthName) -> Depth:
    """The depth of that name."""
    return _DEPTHS[name]
