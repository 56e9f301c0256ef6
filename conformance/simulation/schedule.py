"""One schedule: a plan under one choice, from the begin to the end."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from typing import NamedTuple

from isolane.conformance.simulation import guards
from isolane.conformance.simulation.choice import Choice, Deviation, Recorded, Replayed, seeded
from isolane.conformance.simulation.failures import Failure
from isolane.conformance.simulation.plan import Plan
from isolane.conformance.simulation.scheduler import Trace
from isolane.conformance.simulation.story import Event
from isolane.conformance.simulation.world import World


class Schedule(NamedTuple):
    """What is needed to run a schedule again.

    Attributes:
        plan: What is done.
        deviations: Where it leaves the default order; None for the order that belongs to `seed`.
        seed: Of the order.
    """

    plan: Plan
    deviations: tuple[Deviation, ...] | None = None
    seed: int = 0

    @property
    def choice(self) -> Choice:
        """A new choice, which makes the same order again."""
        return seeded(self.seed) if self.deviations is None else Replayed(self.deviations)


class Outcome(NamedTuple):
    """What a schedule came to.

    Attributes:
        failure: What it broke, or None.
        digest: Of its order: equal for equal orders.
        switches: How often another task went on.
        points: How many choices there were.
        records: How many records were produced.
        faults: How many faults there were that did something.
        seconds: How much virtual time it took.
        story: What happened, where it was wanted.
    """

    failure: Failure | None
    digest: int
    switches: int
    points: int
    records: int
    faults: int
    seconds: float
    story: Sequence[Event] = ()


@contextmanager
def prepared(*, watch: bool = True) -> Iterator[None]:
    """What schedules are run in: the reference's own log is silent.

    Args:
        watch: Whether guarded attributes are watched.
    """
    logger = logging.getLogger("isolane.reference")
    level = logger.level
    logger.setLevel(logging.CRITICAL + 1)
    try:
        with guards.watched() if watch else nullcontext():
            yield
    finally:
        logger.setLevel(level)


def run(plan: Plan, choice: Choice, *, tell: bool = False, trace: Trace | None = None) -> Outcome:
    """Run a plan to its end, or to the first failure; within `prepared`."""
    world = World(plan.settings, choice, tell=tell, trace=trace)
    failure = None
    try:
        for action, arguments, then in plan.steps:
            getattr(world, action)(*arguments) if action != "go_on" else None
            world.go_on(then / 1000)
        world.finish()
        if plan.stop_with is not None:
            world.stop_all(plan.stop_with)
    except Failure as found:
        failure = found
    finally:
        world.close()
    scheduler = world.scheduler
    return Outcome(
        failure,
        scheduler.digest,
        scheduler.switches,
        scheduler.points,
        world.records,
        world.faults,
        scheduler.now,
        world.story.events,
    )


def told(schedule: Schedule) -> Outcome:
    """Run a schedule again, with its story; it tells of each deviation, too, where there are few."""
    return run(schedule.plan, schedule.choice, tell=True)


def pinned(schedule: Schedule) -> Schedule:
    """Return the same schedule, its order told by its deviations."""
    recorded = Recorded(schedule.choice)
    run(schedule.plan, recorded)
    return Schedule(schedule.plan, tuple(recorded.deviations))
