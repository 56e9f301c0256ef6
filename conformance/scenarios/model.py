"""What a scenario is."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from isolane.conformance.depth import DEPTHS, Depth, DepthName
from isolane.conformance.shape import Shape
from isolane.conformance.world import World
from isolane.fixtures.implementations.descriptor import Descriptor


@dataclass(frozen=True, slots=True)
class Scenario:
    """A load shape and a fault story.

    Attributes:
        name: Its name, and that of its folder in a run's evidence.
        title: What is lived in it, for people.
        judges: The requirements that it declares to judge.
        shape: The tenants of its world for an implementation, which may lack what some of them would try.
        story: What is done to the world.
        depths: The depths at which it is run.
    """

    name: str
    title: str
    judges: tuple[str, ...]
    shape: Callable[[Descriptor], Shape]
    story: Callable[[World, Depth], None]
    depths: tuple[DepthName, ...] = DEPTHS
