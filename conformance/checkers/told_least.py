"""The least that metrics must tell: a gauge that never moves is not true for being within its bounds (OPS-1, LIM-1).

What is yielded by `cap`, `risen`, `in_flight` and `outcomes` is wrong in any implementation. What `lag` and `paused`
yield is wrong only where nobody read ahead what waits, of which nothing is seen from outside: that is a doubt.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterator, Sequence

from isolane.conformance.checkers import cases, slots
from isolane.conformance.checkers.told import (
    EDGE,
    NEAR,
    THROUGHOUT,
    Place,
    Wrong,
    open_through,
    partitions,
    place_name,
    tenants,
)
from isolane.conformance.history import History
from isolane.conformance.history_ledger import Attempt, is_accepted
from isolane.conformance.history_values import Phase, Produced
from isolane.conformance.metrics_text import Reading


def cap(history: History, phase: Phase, readings: Sequence[Reading]) -> Iterator[str]:
    """Never as high as the requests that were open, though nothing happened for which it may have been lowered."""
    for tenant, told in tenants(history, readings, "cap"):
        highest = max((value for _, value in told), default=math.inf)
        most = max(len(open_through(history, tenant, each)) for each in readings)
        if highest < most and _is_well(history, tenant, phase):
            yield f"never more than {highest:g} of {tenant}, and its cluster had {most} requests open"


def risen(history: History, _phase: Phase, readings: Sequence[Reading]) -> Iterator[str]:
    """More than it can have risen to: by one for each request that was accepted since the process began."""
    floor = slots.limit(history, "cap_floor")
    if floor is None or not history.meta.features.get("adaptive_limiter"):
        return
    raised = {
        tenant: [slots.end(attempt) for attempt in slots.attempts_of(history, tenant) if (attempt.status or 500) < 400]
        for tenant in history.by_tenant
    }
    for each in readings:
        began = _started(history, each)
        for tenant, value in each.tenants["cap"].items():
            most = floor + sum(began <= at < each.at + EDGE for at in raised.get(tenant, ()))
            if tenant in raised and value > most:
                yield f"{value:g} of {tenant}, and it cannot have risen above {most} yet"


def in_flight(name: str) -> Wrong:
    """Return what yields where less was told, near a scrape, than was in requests that were open, and not finished."""
    size = _SIZES[name]

    def wrong(history: History, _phase: Phase, readings: Sequence[Reading]) -> Iterator[str]:
        for each in readings:
            near = [other.partitions[name] for other in readings if abs(other.at - each.at) <= EDGE]
            for place, least in _open(history, each, size).items():
                key = history.topic(place[0]), place[1]
                most = max(told.get(key, math.inf) for told in near)
                if most < least:
                    yield f"{most:g} of {place_name(history, place)}, and {least} at least were in open requests"

    return wrong


def outcomes(history: History, phase: Phase, readings: Sequence[Reading]) -> Iterator[str]:
    """Told as one, whether they were accepted or refused, by the process that lived in the phase, to its end."""
    ends = (event.at for event in history.events if event.kind == "process" and event.at > phase.began)
    until = min(ends, default=math.inf)
    lived = [each for each in readings if phase.began <= each.at < until]
    first, last = lived[0], lived[-1]
    for tenant in history.by_tenant:
        answers = {
            _outcome(attempt)
            for attempt in slots.attempts_of(history, tenant)
            if first.at + EDGE <= slots.end(attempt) < last.at - EDGE
        }
        if answers >= {"accepted", "refused"} and last.parts["attempts"].get(tenant, 2) < 2:
            yield f"those of {tenant} are not told by outcome, and its cluster accepted some and refused others"


def lag(history: History, _phase: Phase, readings: Sequence[Reading]) -> Iterator[str]:
    """Never as much as waited all the time, what is in flight left out."""
    for place, told in partitions(history, readings, "lag"):
        key = history.topic(place[0]), place[1]
        sums = [
            each.partitions["lag"].get(key, 0) + each.partitions["in_flight_records"].get(key, 0) for each in readings
        ]
        least = _unfinished(history, place, readings)
        if told and max(sums) < least:
            where = place_name(history, place)
            yield f"never more than {max(sums):g} of {where}, in flight included, and {least} records waited there"


def paused(history: History, _phase: Phase, readings: Sequence[Reading]) -> Iterator[str]:
    """Nowhere 1, and far more waited all the time than may be in flight."""
    bound = slots.limit(history, "in_flight_records")
    places = dict(partitions(history, readings, "paused"))
    if bound is None or any(value for told in places.values() for _, value in told):
        return
    for place in places:
        if (least := _unfinished(history, place, readings)) > bound:
            yield f"always 0 of {place_name(history, place)}, and {least} records waited there"


def _is_well(history: History, tenant: str, phase: Phase) -> bool:
    """Return whether all that was open in the phase, or shortly before, was accepted, and soon."""
    slow = slots.seconds(history, "slow_after", otherwise=0)
    return all(
        min(slots.end(attempt), phase.ended) - attempt.arrived < slow - NEAR
        and (slots.end(attempt) > phase.ended or _outcome(attempt) == "accepted")
        for attempt in slots.attempts_of(history, tenant)
        if attempt.arrived < phase.ended and slots.end(attempt) > phase.began - slow
    )


def _outcome(attempt: Attempt) -> str:
    """Return ``accepted``, when all of it was, or ``refused``, when all was; nothing when neither."""
    if attempt.status is not None and attempt.status >= 400:
        return "refused"
    whole = attempt.answered is not None and all(is_accepted(status) for _, status in attempt.items())
    return "accepted" if whole else ""


def _started(history: History, reading: Reading) -> float:
    """Return when the process that was scraped was started; minus infinity when that is not known."""
    starts = [
        event.at
        for event in history.events
        if (event.kind, event.name, str(event.detail.get("member"))) == ("process", "started", reading.member)
        and event.at <= reading.began
    ]
    return max(starts, default=-math.inf)


def _open(history: History, reading: Reading, size: Callable[[Produced], int]) -> Counter[Place]:
    """Return the sizes, by partition, of the unfinished records that are in requests which are open all through."""
    tokens = [
        token
        for tenant in history.by_tenant
        for each in open_through(history, tenant, reading)
        for token in each.tokens()
    ]
    found: Counter[Place] = Counter()
    for record in cases.records(history, tokens):
        if history.finished_at(record) > reading.at + THROUGHOUT:
            found[record.topic, record.partition] += size(record)
    return found


def _unfinished(history: History, place: Place, readings: Sequence[Reading]) -> int:
    """Return how many records of a partition at least were in Kafka and not finished, at each of the scrapes."""
    lives = [(record.acked, history.finished_at(record)) for record in history.by_partition.get(place, ())]
    return min(sum(acked < each.began and finished > each.at for acked, finished in lives) for each in readings)


_SIZES: dict[str, Callable[[Produced], int]] = {
    "in_flight_records": lambda _: 1,
    "in_flight_bytes": lambda record: len(record.token) * record.items,
}
"""What a record counts for at the least: as much as its tokens, in whatever form its bytes are counted."""
