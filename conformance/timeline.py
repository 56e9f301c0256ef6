"""Many lives at once: each tenant's cluster goes through steps of its own while the others go through theirs."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from isolane.conformance.observe import PERIOD
from isolane.conformance.world import World
from isolane.fixtures.cluster import Script


@dataclass(frozen=True, slots=True)
class Step:
    """A stretch of one tenant's life.

    Attributes:
        seconds: How long it lasts at least.
        name: Of the fault; empty where the cluster is healthy.
        layers: What the cluster does.
        bites: How often the fault must have bitten before the step ends, as far as patience goes.
        settles: Whether it lasts until all is finished that the tenant was sent by its begin, as far as patience goes.
        at_first: Called when the step has begun.
    """

    seconds: float
    name: str = ""
    layers: tuple[Script, ...] = ()
    bites: int = 0
    settles: bool = False
    at_first: Callable[[], None] | None = None


@dataclass(slots=True)
class _Life:
    tenant: str
    steps: deque[Step]
    since: float = 0.0
    owed: set[int] = field(default_factory=set)


def live(world: World, lives: Mapping[str, Sequence[Step]]) -> None:
    """Let each tenant that is named go through its steps, all at once; returns when the last step has ended."""
    going = [_Life(tenant, deque(steps)) for tenant, steps in lives.items()]
    for life in going:
        _begin(world, life)
    while going:
        world.run_for(PERIOD)
        for life in going:
            if _is_over(world, life):
                _end(world, life)
        going = [life for life in going if life.steps]


def _begin(world: World, life: _Life) -> None:
    step, life.since = life.steps[0], time.monotonic()
    if step.name:
        world.inject(life.tenant, step.name, *step.layers)
    if step.at_first:
        step.at_first()
    life.owed = world.behind(life.tenant) if step.settles else set()


def _is_over(world: World, life: _Life) -> bool:
    step, lasted = life.steps[0], time.monotonic() - life.since
    if lasted < step.seconds:
        return False
    if lasted >= step.seconds + world.patience:
        return True
    if life.owed:
        life.owed &= world.behind(life.tenant)
    return not life.owed and (not step.bites or world.bitten(life.tenant) >= step.bites)


def _end(world: World, life: _Life) -> None:
    step = life.steps.popleft()
    if step.name:
        world.heal(life.tenant, step.name)
    if life.steps:
        _begin(world, life)
