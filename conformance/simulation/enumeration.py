"""Small worlds, explored exhaustively: every order that leaves the default a bounded number of times."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from isolane.conformance.simulation.choice import Deviation, Numbered, Replayed
from isolane.conformance.simulation.plan import Plan
from isolane.conformance.simulation.schedule import Outcome, Schedule, run
from isolane.conformance.simulation.world import World


class _Observed:
    """The default but for deviations, which notes who else was ready at each choice after the last of them."""

    def __init__(self, deviations: Sequence[Deviation], begin: int) -> None:
        self.asks_at = 1
        self.alternatives: list[Deviation] = []
        self._places = dict(deviations)
        self._begin = max(begin, deviations[-1].point + 1 if deviations else 0)

    def pick(self, point: int, ready: Sequence[Numbered], stays: bool) -> int:  # noqa: FBT001 - see `Choice`
        del stays
        if point >= self._begin:
            self.alternatives += [Deviation(point, other) for other in range(1, len(ready))]
        return self._places.get(point, 0)


def orders(plan: Plan, bound: int) -> Iterator[tuple[Schedule, Outcome]]:
    """Run a plan in every order with at most so many deviations from the default one; within `prepared`.

    A deviation is a choice at which another ready task goes on than the one that would: instead of the running one, or
    of the one that waited longest where the running one blocks. Those while the members start, in the plan's first
    step, are left out; time passes when nobody is ready, and never before. No order is run twice.

    Yields:
        Each schedule and its outcome, those with fewer deviations first.
    """
    begin = _points_of_the_start(plan)
    generation: list[tuple[Deviation, ...]] = [()]
    while generation:
        following: list[tuple[Deviation, ...]] = []
        for deviations in generation:
            choice = _Observed(deviations, begin)
            yield Schedule(plan, deviations), run(plan, choice)
            if len(deviations) < bound:
                following += [(*deviations, another) for another in choice.alternatives]
        generation = following


def _points_of_the_start(plan: Plan) -> int:
    """Return how many choices there are before the second step."""
    world = World(plan.settings, Replayed())
    world.go_on(plan.steps[0].then / 1000)
    points = world.scheduler.points
    world.close()
    return points
