"""What scenarios that judge LIM-8 have in common: who tells them caps and slots, and a moment with nothing to do."""

from __future__ import annotations

from collections.abc import Collection

from isolane.conformance.world import World
from isolane.fixtures.implementations.descriptor import Descriptor

RESTING = 4.0
"""Seconds with nothing to do: scrapes come twice a second, and the first second does not count."""


def untold(descriptor: Descriptor) -> Collection[str]:
    """LIM-8 where an implementation claims no adaptive limiter, or its descriptor maps not both caps and slots."""
    told = descriptor.metrics is not None and {"cap", "slots"} <= descriptor.metrics.map.keys()
    return () if told and descriptor.features.get("adaptive_limiter") else ("LIM-8",)


def rest(world: World) -> None:
    """Let everybody be idle after the drain, until a slot that is still told of must have leaked."""
    if not untold(world.descriptor):
        world.phase("rest")
        world.run_for(RESTING)
