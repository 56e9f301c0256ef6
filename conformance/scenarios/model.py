"""What a scenario is."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from isolane.conformance.depth import Depth
from isolane.conformance.shape import Shape
from isolane.conformance.world import World
from isolane.fixtures.implementations.descriptor import Descriptor


@dataclass(frozen=True, slots=True)
class Scenario:
    """A load shape and a fault story. `judges` names the requirements that it declares to judge."""

    name: str
    title: str
    judges: tuple[str, ...]
    shape: Callable[[Descriptor], Shape]
    story: Callable[[World, Depth], None]
