"""From a schedule that fails to the shortest one that still does, for a reason of the same kind."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar

from isolane.conformance.simulation.choice import Deviation
from isolane.conformance.simulation.plan import Plan, Step
from isolane.conformance.simulation.schedule import Schedule, pinned, run, told

Item = TypeVar("Item")

_ORDERS = 30
"""Orders that are tried of each smaller plan: what fails in one order need not in the same order of a smaller plan."""

_ATTEMPTS = 1500
_FINALISTS = 5
_SHIFTS = (0, -1, 1, -2, 2, -3, 3, -4, 4)
"""By how many choices what follows a deviation may come later or earlier when that is left out."""

_LEGIBLE = 30
"""Events of a story that people still read."""

_ROUNDS = 4
_ROUND = 1000  # seeds from one round to the next

_CALM = 200
"""Milliseconds in which what was done has its effect, so that the default order has it, too."""


def reduced(schedule: Schedule, rule: str) -> Schedule:
    """Return a small schedule that breaks the same rule, or one of its kind (OFF-1 for OFF-2); it takes seconds.

    First what is done is made less, then the order is brought as near to the default one as it will go; and both once
    more, with other orders, while its story is too long to be read.
    """
    best = _smallest(schedule, rule, 0)
    for again in range(1, _ROUNDS):
        if len(told(best).story) > _LEGIBLE:
            best = min(best, _smallest(best, rule, again * _ROUND), key=lambda found: len(told(found).story))
    return best


def _smallest(schedule: Schedule, rule: str, seed: int) -> Schedule:
    best = schedule
    progress = True
    attempts = 0
    while progress and attempts < _ATTEMPTS:
        progress = False
        for plan in _smaller(best.plan):
            attempts += 1
            found = next(_orders(best._replace(plan=plan), rule, range(seed, seed + _ORDERS)), None)
            if found is not None:
                best = found
                progress = True
                break
    orders = _orders(best, rule, range(seed, seed + 2 * _ORDERS))
    few = sorted(orders, key=lambda found: len(found.deviations or ()))[:_FINALISTS]
    return min((_nearest(found, rule) for found in few), key=lambda found: len(told(found).story))


def _nearest(schedule: Schedule, rule: str) -> Schedule:
    """Return the schedule as near to the default order as it will go."""
    kept = fewest(
        schedule.deviations or (),
        lambda deviations: fails(schedule._replace(deviations=tuple(deviations)), rule),
    )
    nearest = schedule._replace(deviations=tuple(kept))
    while (nearer := _nearer(nearest, rule)) is not None:
        nearest = nearer
    return nearest


def _nearer(schedule: Schedule, rule: str) -> Schedule | None:
    fewer = (schedule._replace(deviations=deviations) for deviations in shifted(schedule.deviations or ()))
    return next((found for found in fewer if fails(found, rule)), None)


def shifted(deviations: tuple[Deviation, ...]) -> Iterator[tuple[Deviation, ...]]:
    """Yield the deviations without one of them, those after it as much later or earlier as may make up for it."""
    for number in range(len(deviations)):
        before, after = deviations[:number], deviations[number + 1 :]
        least = before[-1].point + 1 if before else 1
        for shift in _SHIFTS if after else (0,):
            later = tuple(deviation._replace(point=deviation.point + shift) for deviation in after)
            if not later or later[0].point >= least:
                yield before + later


def fails(schedule: Schedule, rule: str) -> bool:
    """Whether the rule that a schedule breaks first is of the same kind: the same, or of the same letters."""
    failure = run(schedule.plan, schedule.choice).failure
    return failure is not None and failure.rule.partition("-")[0] == rule.partition("-")[0]


def fewest(items: Sequence[Item], still: Callable[[Sequence[Item]], bool]) -> list[Item]:
    """Return items of which none can be left out; `still` tells whether some of them suffice (delta debugging)."""
    kept = list(items)
    size = len(kept)
    while size and kept:
        start = 0
        while start < len(kept):
            fewer = kept[:start] + kept[start + size :]
            if still(fewer):
                kept = fewer
            else:
                start += size
        size //= 2
    return kept


def _orders(schedule: Schedule, rule: str, seeds: range) -> Iterator[Schedule]:
    """Yield the orders in which a plan fails: the one given, the default one, and those of some seeds."""
    plan = schedule.plan
    candidates = [schedule, Schedule(plan, ()), *(Schedule(plan, seed=seed) for seed in seeds)]
    return (pinned(candidate) for candidate in candidates if fails(candidate, rule))


def _smaller(plan: Plan) -> Iterator[Plan]:
    """Yield plans that are a little smaller, the much smaller ones first; the start is not taken away."""
    length = len(plan.steps)
    size = length
    while size:
        yield from (plan.without(slice(start, start + size)) for start in range(1, length, size))
        size //= 2
    if plan.stop_with is not None:
        yield plan._replace(stop_with=None)
    settings = plan.settings
    for name, least in (("tenants", 1), ("partitions", 1), ("members", 1)):
        if getattr(settings, name) > least:
            yield plan._replace(settings=settings._replace(**{name: getattr(settings, name) - 1}))
    for number, step in enumerate(plan.steps):
        for simpler in _simpler(step):
            steps = (*plan.steps[:number], simpler, *plan.steps[number + 1 :])
            yield plan._replace(steps=steps)


def _simpler(step: Step) -> Iterator[Step]:
    if step.action == "produce":
        place, kind, count, gap = step.arguments
        assert isinstance(count, int)
        yield from (
            step._replace(arguments=(place, kind, fewer, gap)) for fewer in (1, count // 2) if 0 < fewer < count
        )
        if kind != "one item":
            yield step._replace(arguments=(place, "one item", count, gap))
        if gap:
            yield step._replace(arguments=(place, kind, count, 0))
    if step.then != _CALM:
        yield step._replace(then=_CALM)
