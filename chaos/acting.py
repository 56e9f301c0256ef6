"""How what happens is done: an act for each kind, registered by the modules that do them."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from isolane.chaos.happenings import KAFKA, Happening
from isolane.chaos.stage import Stage
from isolane.chaos.timeline import Timeline
from isolane.conformance.world import World
from isolane.fixtures.services.toxiproxy_control import Proxy

Bites = Callable[[], int]
"""Counts how often something has bitten until now."""

Act = AbstractContextManager[Bites]
"""Something that happens: entered when it begins, left when it ends, or when everything has for what has no end."""

H = TypeVar("H", bound=Happening)


@dataclass(frozen=True)
class Scene:
    """Where things happen: the world, what it stands on, what was planned, and the folder of the history."""

    world: World
    stage: Stage
    timeline: Timeline
    folder: Path

    def proxies(self, target: str) -> list[Proxy]:
        """The proxies that a fault's target means: a tenant's, or those before Kafka's brokers.

        Raises:
            HarnessError: There is no such broker now.
        """
        place, _, which = target.partition(":")
        if place != KAFKA:
            return [self.stage.nodes.proxies[self.world.name_of(place)]]
        if not which:
            return list(self.stage.doors.values())
        topics = [topic for tenant in self.timeline.tenants if not tenant.late for topic in self.topics(tenant.name)]
        return [self.stage.door(which, self.world.members.group, topics)]

    def topics(self, tenant: str) -> tuple[str, ...]:
        """The names of a tenant's topics."""
        return self.world.topics_of(tenant)

    def answered(self, tenant: str) -> int:
        """How many bulk requests a tenant's node has answered."""
        return self.stage.nodes.counts(self.world.name_of(tenant)).bulks


@dataclass(frozen=True)
class Way:
    """How a kind is done, and what one of its bites is, in words, as a plural."""

    play: Callable[[Scene, Any], Act]
    bite: str


WAYS: dict[type[Happening], Way] = {}
"""The way of each kind."""


def way(kind: type[H], bite: str) -> Callable[[Callable[[Scene, H], Act]], Callable[[Scene, H], Act]]:
    """Register what is decorated as the way in which a kind is done."""

    def register(play: Callable[[Scene, H], Act]) -> Callable[[Scene, H], Act]:
        WAYS[kind] = Way(play, bite)
        return play

    return register
