"""What a scenario is."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass

from isolane.conformance.clusters import ClusterKind
from isolane.conformance.depth import DEPTHS, Depth, DepthName
from isolane.conformance.requirements import CATALOGUE
from isolane.conformance.shape import Shape
from isolane.conformance.world import World
from isolane.fixtures.implementations.descriptor import Descriptor

_EVERYWHERE = "delivery"


def _as_it_is(descriptor: Descriptor) -> Descriptor:
    return descriptor


def _nothing(_descriptor: Descriptor) -> Collection[str]:
    return ()


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
        clusters: What it needs of the tenants' clusters: that they can be scripted, or that they are real.
        adapt: How an implementation is configured for it: its descriptor with other timing or limits.
        untried: Which of the requirements cannot be tried with an implementation, though it does not lack a feature.
    """

    name: str
    title: str
    judges: tuple[str, ...]
    shape: Callable[[Descriptor], Shape]
    story: Callable[[World, Depth], None]
    depths: tuple[DepthName, ...] = DEPTHS
    clusters: ClusterKind = "scripted"
    adapt: Callable[[Descriptor], Descriptor] = _as_it_is
    untried: Callable[[Descriptor], Collection[str]] = _nothing

    @property
    def profiles(self) -> frozenset[str]:
        """The profiles that it is for. Delivery is judged in any: for that is what judges nothing else."""
        judged = {CATALOGUE.profile_of(CATALOGUE.requirement(each)) for each in self.judges}
        return frozenset(judged - {_EVERYWHERE} or judged)

    def judged(self, descriptor: Descriptor) -> tuple[str, ...]:
        """The requirements that it declares to judge of an implementation."""
        untried = self.untried(descriptor)
        return tuple(each for each in self.judges if each not in untried)
