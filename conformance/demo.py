"""The demo: the reference in its three modes, one after the other, meets the same load and the same slow clusters.

Three tenants, two of which fall sick, one after the other: the first has few partitions, the second as many as there
are sending workers, so that each of its partitions may hold one. What comes out is histories, as of any scenario.
"""

from __future__ import annotations

import time
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
NARROW = "narrow"
WIDE = "wide"
"""The tenants: one that stays healthy, and two that fall sick, with few partitions and with many."""

FEW = 4
"""Partitions of the narrow one: far fewer than there are sending workers."""

RATE = 100.0
"""Records a second that each tenant is offered."""

WARM_UP = 3.0
"""Seconds of load before anything counts: connections are made, code is compiled."""

CALM = 5.0
"""Seconds of load that the faults are compared with."""

FAULT = 8.0
"""Seconds that a fault lasts: a request, and most of a second one."""

RECOVERY = 10.0
"""Seconds that a tenant's backlog may take to go away before the demo goes on."""

HEALED = 5.0
"""Seconds from a heal to the next fault, so that faults come at the same time in each mode."""

AFTER = 2.0
"""Seconds of load with the backlogs gone, at least: to show that all is as it was."""


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
        "Each partition has a worker of its own, which hands over a flush and waits for its outcome, so that a "
        "partition holds one sending worker at most. All still feed one queue.",
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


def run(request: Request, services: Services, listener: Listener, scenario: Scenario | None = None) -> Iterator[Lived]:
    """Run the modes one after the other, each in a folder of its own below the request's; 40 s each in the demo.

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
        ran = one.live(scenario or SCENARIO)
        if ran.failure:
            raise (HarnessError if ran.harness_failed else NoTrafficError)(ran.failure)
        yield Lived(mode, History.load(asked.folder / ran.folder), one.result())


def _told(listener: Listener, mode: Mode, progress: Progress) -> None:
    listener(replace(progress, scenario=mode.name.lower()))


def shape(known: Descriptor) -> Shape:
    """Three tenants with the same load."""
    return Shape(
        (
            TenantShape(HEALTHY, "healthy", partitions=2, rate=RATE),
            TenantShape(NARROW, "sick", partitions=FEW, rate=RATE),
            TenantShape(WIDE, "sick", partitions=known.limits.workers, rate=RATE),
        )
    )


def story(world: World, _depth: Depth) -> None:
    """Calm; then one cluster slow, and healed until nothing is left behind; then another."""
    world.members.start()
    world.await_ready(timeout=world.patience)
    world.load_within(float("inf"))
    world.phase("warm-up")
    world.run_for(WARM_UP)
    world.phase("control")
    world.run_for(CALM)
    for sick in (NARROW, WIDE):
        with world.fault(sick, f"slow-{sick}", Script(latency=SLOW)):
            world.run_for(FAULT)
        world.phase(f"heal:slow-{sick}")
        until = time.monotonic() + HEALED
        for tenant in (HEALTHY, NARROW, WIDE):
            world.await_backlog_of(tenant, timeout=RECOVERY)
        world.run_for(max(AFTER, until - time.monotonic()))
    world.drain(timeout=RECOVERY)


SCENARIO = Scenario(
    name="demo",
    title="one tenant's cluster is slow for a while, then another's",
    judges=(JUDGED, "DEL-1", "OFF-1", "TEN-2"),
    shape=shape,
    story=story,
)
