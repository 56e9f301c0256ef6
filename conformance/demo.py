"""The demo: the reference in its three modes, one after the other, meets the same load and the same slow cluster.

Two tenants, and the one that falls sick has as many partitions as there are sending workers, so that each of its
partitions may hold one. What comes out is histories, as of any scenario.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial

from isolane.conformance.depth import Depth
from isolane.conformance.engine import Listener, Progress, Request, Run
from isolane.conformance.errors import HarnessError, NoTrafficError
from isolane.conformance.history import History
from isolane.conformance.opening import Services
from isolane.conformance.result import RunResult
from isolane.conformance.scenarios.isolation import SLOW
from isolane.conformance.scenarios.model import Scenario
from isolane.conformance.shape import Shape, TenantShape
from isolane.conformance.world import World
from isolane.fixtures.cluster import Script
from isolane.fixtures.implementations import descriptor
from isolane.fixtures.implementations.descriptor import Descriptor

JUDGED = "ISO-1"
"""The requirement that says whether the healthy tenant felt the fault."""

HEALTHY = "brisk"
SICK = "sluggish"
"""The two tenants."""

RATE = 100.0
"""Records a second that each tenant is offered."""

WARM_UP = 3.0
"""Seconds of load before anything counts: connections are made, code is compiled."""

CALM = 5.0
"""Seconds of load that the fault is compared with."""

FAULT = 12.0
"""Seconds that the fault lasts: two requests one after the other, and a part of a third."""

RECOVERY = 10.0
"""Seconds that a backlog may take to go away before the demo goes on."""

AFTER = 2.0
"""Seconds of load with the backlog gone, to show that all is as it was."""


@dataclass(frozen=True, slots=True)
class Mode:
    """One way to deliver.

    Attributes:
        implementation: Which implementation that comes with Isolane works like that.
        name: What it is called, as the subject of a sentence.
        about: How it works.
    """

    implementation: str
    name: str
    about: str


MODES = (
    Mode(
        "reference-shared-loop",
        "One shared loop",
        "One loop takes the records of all partitions and feeds one queue, from which the sending workers of all "
        "tenants take. This is the baseline.",
    ),
    Mode(
        "reference-partition-workers",
        "A worker for each partition",
        "Each partition has a worker of its own, so that none waits for another's records. They still feed one queue.",
    ),
    Mode(
        "reference",
        "The limiter",
        "In place of the queue, a limiter grants sending workers: each tenant has a cap, which rises while its "
        "cluster answers well, and is halved when it does not.",
    ),
)
"""From the baseline on; each changes one thing of the one before."""


@dataclass(frozen=True, slots=True)
class Lived:
    """What one mode lived through, and how it was: `result` says who, when and on which machine."""

    mode: Mode
    history: History
    result: RunResult


def run(request: Request, services: Services, listener: Listener) -> Iterator[Lived]:
    """Run the modes one after the other, each in a folder of its own below the request's; half a minute each.

    Raises:
        HarnessError: The harness, or a service that it stands on, failed.
        ImplementationNotStartedError: A mode could not be started.
        NoTrafficError: A mode delivered nothing.
    """
    for mode in MODES:
        asked = replace(
            request,
            descriptor=descriptor.find(mode.implementation),
            asked=mode.implementation,
            folder=request.folder / mode.implementation,
        )
        one = Run(asked, services, partial(_told, listener, mode))
        scenario = one.live(SCENARIO)
        if scenario.failure:
            raise (HarnessError if scenario.harness_failed else NoTrafficError)(scenario.failure)
        yield Lived(mode, History.load(asked.folder / scenario.folder), one.result())


def _told(listener: Listener, mode: Mode, progress: Progress) -> None:
    listener(replace(progress, scenario=mode.name.lower()))


def shape(known: Descriptor) -> Shape:
    """Two tenants with the same load."""
    return Shape(
        (
            TenantShape(HEALTHY, "healthy", partitions=2, rate=RATE),
            TenantShape(SICK, "sick", partitions=known.limits.workers, rate=RATE),
        )
    )


def story(world: World, _depth: Depth) -> None:
    """Calm, one cluster slow, healed until nothing is left behind."""
    world.members.start()
    world.await_ready(timeout=world.patience)
    world.load_within(float("inf"))
    world.phase("warm-up")
    world.run_for(WARM_UP)
    world.phase("control")
    world.run_for(CALM)
    with world.fault(SICK, "slow", Script(latency=SLOW)):
        world.run_for(FAULT)
    world.phase("heal:slow")
    world.await_backlog_of(SICK, timeout=RECOVERY)
    world.run_for(AFTER)
    world.drain(timeout=RECOVERY)


SCENARIO = Scenario(
    name="demo",
    title="one of two tenants' clusters is slow for a while",
    judges=(JUDGED, "DEL-1", "OFF-1", "TEN-2"),
    shape=shape,
    story=story,
)
