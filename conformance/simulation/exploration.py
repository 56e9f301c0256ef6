"""Many schedules, one after the other: what they covered, and the first that failed."""

from __future__ import annotations

import gc
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from statistics import median

from isolane.conformance.simulation.plan import random_plan
from isolane.conformance.simulation.schedule import Outcome, Schedule, prepared, run

_BATCH = 100
_WATCHED = 25  # of each batch: watching the guarded attributes costs a tenth of the time
_COLLECTED = 5  # schedules, after which their circles are collected: later, they have left the processor's caches


class Coverage:
    """What schedules covered together.

    Attributes:
        schedules: How many there were.
        faults: In all of them, those that did something.
        fewest: Faults in one of them.
        seconds: What they took, in processor time.
    """

    def __init__(self) -> None:
        """Begin with none."""
        self.schedules = 0
        self.faults = 0
        self.fewest = 0
        self.seconds = 0.0
        self._digests: set[int] = set()
        self._switches: list[int] = []
        self._records: list[int] = []

    def add(self, outcome: Outcome) -> None:
        """Count a schedule."""
        self.fewest = min(self.fewest, outcome.faults) if self.schedules else outcome.faults
        self.schedules += 1
        self.faults += outcome.faults
        self._digests.add(outcome.digest)
        self._switches.append(outcome.switches)
        self._records.append(outcome.records)

    @property
    def distinct(self) -> int:
        """How many of them were different orders."""
        return len(self._digests)

    @property
    def switches(self) -> float:
        """The median of the switches between tasks."""
        return median(self._switches) if self._switches else 0.0

    @property
    def records(self) -> float:
        """The median of the records produced."""
        return median(self._records) if self._records else 0.0

    @property
    def each_minute(self) -> float:
        """How many schedules a minute of one processor takes."""
        return 60 * self.schedules / self.seconds if self.seconds else 0.0

    def __str__(self) -> str:
        """One line."""
        return (
            f"{self.schedules} schedules, {self.distinct} distinct, {self.each_minute:.0f} a minute; "
            f"median {self.switches:.0f} switches, {self.records:.0f} records; "
            f"{self.faults} faults, in each at least {self.fewest}"
        )


def explore(
    seeds: Iterable[int], progress: Callable[[Coverage], None] = lambda _: None
) -> tuple[Coverage, Schedule | None, Outcome | None]:
    """Run the schedules that belong to seeds, up to the first that fails.

    Args:
        seeds: In order.
        progress: Is told from time to time what was covered.

    Returns:
        What was covered; and the schedule that failed with its outcome, or None twice.
    """
    coverage = Coverage()
    with _collected():
        for batch in _batches(seeds):
            for part, watch in ((batch[:_WATCHED], True), (batch[_WATCHED:], False)):
                began = time.process_time()
                failed = _run_all(part, coverage, watch=watch)
                coverage.seconds += time.process_time() - began
                if failed is not None:
                    return coverage, *failed
            progress(coverage)
    return coverage, None, None


def _run_all(seeds: list[int], coverage: Coverage, *, watch: bool) -> tuple[Schedule, Outcome] | None:
    with prepared(watch=watch):
        for seed in seeds:
            schedule = Schedule(random_plan(seed), seed=seed)
            outcome = run(schedule.plan, schedule.choice)
            coverage.add(outcome)
            if outcome.failure is not None:
                return schedule, outcome
            if coverage.schedules % _COLLECTED == 0:
                gc.collect()
    return None


def _batches(seeds: Iterable[int]) -> Iterator[list[int]]:
    batch: list[int] = []
    for seed in seeds:
        batch.append(seed)
        if len(batch) == _BATCH:
            yield batch
            batch = []
    if batch:
        yield batch


@contextmanager
def _collected() -> Iterator[None]:
    """Leave it to the caller when garbage is collected: each schedule leaves circles, and they are all alike."""
    gc.collect()
    gc.freeze()
    gc.disable()
    try:
        yield
    finally:
        gc.enable()
        gc.unfreeze()
