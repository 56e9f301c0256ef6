"""OPS-1: what members tell of themselves is in the format that scrapers expect, is complete, and is true."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import pairwise

from isolane.conformance.checkers import slots, told_least
from isolane.conformance.checkers.cases import Judge, Late
from isolane.conformance.checkers.told import EDGE, NEAR, THROUGHOUT, Wrong, partitions, place_name, tenants
from isolane.conformance.history import History
from isolane.conformance.history_ledger import is_accepted
from isolane.conformance.history_values import Phase
from isolane.conformance.metrics_text import OF_PARTITIONS, OF_TENANTS, NotExpositionError, Reading, reading_of
from isolane.conformance.verdict import Figure, Finding

PHASE = "metrics"
"""The phase in which they are held against what was seen: one member, and a cluster that is slow."""

FEWEST_READINGS = 5


def check(history: History) -> list[Finding]:
    """Return the findings on OPS-1, one for each metric, where the scenario declares it and metrics are claimed."""
    if "OPS-1" not in history.meta.judges or not history.meta.features.get("metrics"):
        return []
    judge, phase = Judge(history, "OPS-1"), history.phase(PHASE)
    try:
        readings = [reading_of(each, history.meta.metrics) for each in history.scrapes]
    except NotExpositionError as error:
        return [judge.violates(f"what is served is not in the format that scrapers expect: {error}", {})]
    missing = [name for name in (*OF_TENANTS, *OF_PARTITIONS) if name not in history.meta.metrics.map]
    if missing:
        return [judge.violates(f"metrics are claimed, and the descriptor's map has no {', '.join(missing)}", {})]
    own = [] if phase is None else [each for each in readings if phase.began + EDGE <= each.at <= phase.ended]
    if phase is None or len(own) < FEWEST_READINGS or len({each.member for each in own}) != 1:
        return [judge.doubts("the members' metrics were not read often enough while one of them ran", {})]
    found = []
    for name, checks in _CHECKS.items():
        wrong = [what for check in checks for what in check(history, phase, own)]
        wrong += [what for check in _ALL_ALONG.get(name, ()) for what in check(history, phase, readings)]
        doubts = [what for check in _DOUBTS.get(name, ()) for what in check(history, phase, own)]
        late = [Late(phase.began, phase.seconds, phase.seconds)] if name in _TIMED else []
        found.append(_judged(Judge(history, "OPS-1", name), wrong, doubts, len(own), late))
    return found


def _judged(judge: Judge, wrong: Sequence[str], doubts: Sequence[str], readings: int, late: Sequence[Late]) -> Finding:
    name = judge.case
    figures = {"readings": Figure(readings, "", f"≥ {FEWEST_READINGS}"), "wrong": Figure(len(wrong), "", "= 0")}
    if wrong:
        return judge.violates(f"{name}: {wrong[0]}", figures, late)
    if doubts:
        return judge.doubts(f"{name}: {doubts[0]}; that is right only where all of them had been read ahead", figures)
    return judge.passes(f"{name} is told, and true", figures)


def _cap(history: History, _phase: Phase, readings: Sequence[Reading]) -> Iterator[str]:
    floor, ceiling = slots.limit(history, "cap_floor") or 1, slots.limit(history, "cap_ceiling") or math.inf
    for tenant, told in tenants(history, readings, "cap"):
        if not told:
            yield f"not told of {tenant}"
        yield from (
            f"{value:g} of {tenant} is not from {floor} to {ceiling}"
            for _, value in told
            if not floor <= value <= ceiling
        )


def _slots(history: History, _phase: Phase, readings: Sequence[Reading]) -> Iterator[str]:
    """No fewer than the requests that were open all through a scrape, and no more than those open near it."""
    for tenant in history.by_tenant:
        told = [(each, each.tenants["slots"][tenant]) for each in readings if tenant in each.tenants["slots"]]
        if not told:
            yield f"not told of {tenant}"
        spans = [(attempt.arrived, slots.end(attempt)) for attempt in slots.attempts_of(history, tenant)]
        for scrape, value in told:
            least = sum(began < scrape.began - THROUGHOUT and ended > scrape.at + THROUGHOUT for began, ended in spans)
            most = sum(began < scrape.at + NEAR and ended > scrape.began - NEAR for began, ended in spans)
            if not least <= value <= most:
                yield f"{value:g} of {tenant}, and its cluster had {least} to {most} requests open"


def _counter(name: str, count: Callable[[History, str], list[float]]) -> Wrong:
    """Return what holds the growth of a counter against times at which it should have grown."""

    def wrong(history: History, _phase: Phase, readings: Sequence[Reading]) -> Iterator[str]:
        for tenant, told in tenants(history, readings, name):
            if len(told) < FEWEST_READINGS:
                yield f"not told of {tenant}"
                continue
            if any(later < earlier for (_, earlier), (_, later) in pairwise(told)):
                yield f"that of {tenant} fell"
            (began, first), (ended, last) = told[0], told[-1]
            times = count(history, tenant)
            least = sum(began + EDGE <= at < ended - EDGE for at in times)
            most = sum(began - EDGE <= at < ended + EDGE for at in times)
            if not least <= last - first <= most:
                yield f"that of {tenant} grew by {last - first:g}, and its cluster saw {least} to {most}"

    return wrong


def _answers(history: History, tenant: str) -> list[float]:
    return [slots.end(attempt) for attempt in slots.attempts_of(history, tenant)]


def _acceptances(history: History, tenant: str) -> list[float]:
    return [
        attempt.answered
        for attempt in slots.attempts_of(history, tenant)
        if attempt.answered is not None
        for _, status in attempt.items()
        if is_accepted(status)
    ]


def _waiting(history: History, phase: Phase, readings: Sequence[Reading]) -> Iterator[str]:
    """More than nothing while something waits to be sent for the first time throughout."""
    for tenant, told in tenants(history, readings, "waiters"):
        if not told:
            yield f"not told of {tenant}"
        elif slots.saturated(history, tenant, phase.began, phase.ended) and not any(value for _, value in told):
            yield f"never more than 0 of {tenant}, and its records waited"


def _lag(history: History, _phase: Phase, readings: Sequence[Reading]) -> Iterator[str]:
    """No more than what is not committed at some moment near the scrape."""
    for place, told in partitions(history, readings, "lag"):
        if not told:
            yield f"not told of {place_name(history, place)}"
        for at, value in told:
            near = [
                seen.ends[place] - seen.offsets.get(place, 0)
                for seen in history.commits
                if at - EDGE <= seen.ended <= at + EDGE and place in seen.ends
            ]
            if near and value > max(near):
                yield f"{value:g} of {place_name(history, place)}, and at most {max(near)} were not committed"


def _in_flight(name: str) -> Wrong:
    def wrong(history: History, phase: Phase, readings: Sequence[Reading]) -> Iterator[str]:
        bound = slots.limit(history, name) or math.inf
        for place, told in partitions(history, readings, name):
            stuck = _is_stuck(history, place, phase)
            if not told:
                yield f"not told of {place_name(history, place)}"
            elif max(value for _, value in told) > bound:
                yield f"more than {bound:g} of {place_name(history, place)}"
            elif stuck and not any(value for _, value in told):
                yield f"always 0 of {place_name(history, place)}, and its records were being sent"

    return wrong


def _paused(history: History, phase: Phase, readings: Sequence[Reading]) -> Iterator[str]:
    """0 or 1, and not always 1 where nothing waits."""
    for place, told in partitions(history, readings, "paused"):
        values = {value for _, value in told}
        if not told or not values <= {0.0, 1.0}:
            yield f"not 0 or 1 of {place_name(history, place)}"
        elif values == {1.0} and not _is_stuck(history, place, phase):
            yield f"always 1 of {place_name(history, place)}, and nothing waited there"


def _is_stuck(history: History, place: tuple[int, int], phase: Phase) -> bool:
    """Return whether a record of a partition waited all through a phase."""
    return any(
        record.acked < phase.began and history.finished_at(record) > phase.ended
        for record in history.by_partition.get(place, ())
    )


_CHECKS: Mapping[str, Sequence[Wrong]] = {
    "cap": (_cap, told_least.cap),
    "slots": (_slots,),
    "waiters": (_waiting,),
    "attempts": (_counter("attempts", _answers),),
    "delivered": (_counter("delivered", _acceptances),),
    "lag": (_lag,),
    **{name: (_in_flight(name), told_least.in_flight(name)) for name in ("in_flight_records", "in_flight_bytes")},
    "paused": (_paused,),
}
"""By metric, what the readings of the phase are held against."""

_TIMED = frozenset({"slots", "attempts", "delivered", "lag"})
"""Those that are held against what was seen near each reading: a harness that was starved saw it at another time."""

_ALL_ALONG: Mapping[str, Sequence[Wrong]] = {"cap": (told_least.risen,), "attempts": (told_least.outcomes,)}
"""And what all readings are."""

_DOUBTS: Mapping[str, Sequence[Wrong]] = {"lag": (told_least.lag,), "paused": (told_least.paused,)}
"""What is wrong only of who has not read ahead what waits."""
