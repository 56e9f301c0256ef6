"""A timeline performed in a world: everything begins and ends at its time, and the history has what it was."""

from __future__ import annotations

import heapq
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import count
from pathlib import Path

from isolane.chaos import network, nodes, processes, records
from isolane.chaos.acting import WAYS, Scene
from isolane.chaos.happenings import KAFKA, Conflict, Happening, Lasting, Network, NodeKill, OfTenant, WriteBlock, ends
from isolane.chaos.processes import set_members
from isolane.chaos.stage import Stage
from isolane.chaos.timeline import Timeline
from isolane.conformance.depth import Depth
from isolane.conformance.scenarios.model import Scenario
from isolane.conformance.shape import Shape, TenantShape
from isolane.conformance.world import World
from isolane.fixtures.implementations.descriptor import Descriptor

FILE = "timeline.toml"
"""The file in a history's folder that says what was planned."""

CHAOS = "chaos"
"""The phase in which it all happens, and the kind of the events that tell of it."""

_TOLD_ELSEWHERE = (NodeKill, WriteBlock)
_MODULES = (network, nodes, processes, records)  # each registers the ways of its kinds


def scenario(timeline: Timeline, stage: Stage, folder: Path) -> Scenario:
    """The scenario in which an implementation lives through a timeline; its history goes to `folder`."""
    return Scenario(
        name=timeline.name,
        title=timeline.title,
        judges=timeline.judges,
        shape=lambda _: shape(timeline),
        story=partial(_story, timeline=timeline, stage=stage, folder=folder),
        clusters="native",
        adapt=partial(adapted, timeline),
    )


def shape(timeline: Timeline) -> Shape:
    """The tenants of a timeline; those are sick to whose cluster anything happens."""
    sick = {place for fault in timeline.faults for place in (_place(fault),) if place}
    return Shape(
        tuple(
            TenantShape(
                tenant.name,
                "sick" if tenant.name in sick else "healthy",
                tenant.partitions,
                tenant.rate,
                codecs=tenant.codecs,
                late=tenant.late,
            )
            for tenant in timeline.tenants
        )
    )


def adapted(timeline: Timeline, descriptor: Descriptor) -> Descriptor:
    """An implementation's descriptor with the timing that the timeline asks for."""
    return descriptor.model_copy(update={"timing": descriptor.timing.model_copy(update=timeline.timing)})


def left_out(timeline: Timeline, descriptor: Descriptor) -> Timeline:
    """The timeline without what an implementation says that it has no answer to: records that are never accepted."""
    if descriptor.features.get("dead_letter"):
        return timeline
    return timeline.model_copy(
        update={"faults": tuple(each for each in timeline.faults if not isinstance(each, Conflict))}
    )


def _story(world: World, _depth: Depth, *, timeline: Timeline, stage: Stage, folder: Path) -> None:
    timeline = left_out(timeline, world.descriptor)
    (folder / FILE).write_text(timeline.toml(), "utf-8")
    scene = Scene(world, stage, timeline, folder)
    set_members(scene, timeline.members)
    world.await_ready(timeout=world.patience)
    world.load_within(float("inf"))
    world.phase(CHAOS)
    with ExitStack() as stack:
        _perform(scene, stack)
    world.phase("calm")
    set_members(scene, timeline.members)
    world.await_backlog_of(*(tenant.name for tenant in timeline.tenants), timeout=world.patience)
    network.clear(scene)
    world.drain(timeout=world.patience)


@dataclass(order=True)
class _Due:
    """Something to do, in order of time, and of what was planned first."""

    at: float
    order: int
    fault: Happening = field(compare=False)
    begins: bool = field(compare=False)


def _perform(scene: Scene, stack: ExitStack) -> None:
    """Let everything happen; the timeline's clock stands still while something is being done."""
    order = count()
    due = [_Due(fault.at, next(order), fault, begins=True) for fault in scene.timeline.faults]
    heapq.heapify(due)
    under_way: dict[int, ExitStack] = {}
    clock = 0.0
    while due:
        now = heapq.heappop(due)
        scene.world.run_for(now.at - clock)
        clock = now.at
        if now.begins:
            own = under_way[now.order] = stack.enter_context(ExitStack())
            own.enter_context(_happening(scene, now.fault, now.order))
            if isinstance(now.fault, Lasting):
                heapq.heappush(due, replace(now, at=ends(now.fault), begins=False))
        else:
            under_way.pop(now.order).close()


@contextmanager
def _happening(scene: Scene, fault: Happening, number: int) -> Iterator[None]:
    """Let one thing happen, tell of it, and count its bites when it ends."""
    world, way, kind = scene.world, WAYS[type(fault)], fault.name
    place = _place(fault)
    sick = None if place is None or isinstance(fault, _TOLD_ELSEWHERE) else world.name_of(place)
    world.tell(CHAOS, kind, number=number, part="begins", what=fault.model_dump(mode="json"))
    with way.play(scene, fault) as bites:
        if sick is not None and isinstance(fault, Lasting):
            world.tell("fault", f"{kind}-{number}", tenant=sick)
        yield
        bitten = bites()
        world.tell(CHAOS, kind, number=number, part="ended", bites=bitten, bite=way.bite)
        if sick is not None and isinstance(fault, Lasting):
            world.tell("heal", f"{kind}-{number}", tenant=sick, bitten=bitten)
    world.tell(CHAOS, kind, number=number, part="over")


def _place(fault: Happening) -> str | None:
    """The tenant whose cluster, or whose way to it, something happens to; None for what happens elsewhere."""
    if isinstance(fault, Network):
        place = fault.target.partition(":")[0]
        return None if place == KAFKA else place
    return fault.tenant if isinstance(fault, Lasting) and isinstance(fault, OfTenant) else None
