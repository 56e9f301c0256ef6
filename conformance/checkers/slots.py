"""A tenant's slots as its cluster sees them: requests that are open, and what waits for one.

An implementation holds a slot at least from the arrival of a request to the cluster's decision on it; what comes before
and after, on the way and inside the implementation, is not seen. So what is counted here is never more than was held.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from operator import itemgetter

from isolane.conformance.history import History
from isolane.conformance.history_ledger import Attempt
from isolane.conformance.history_values import Produced
from isolane.conformance.tokens import ITEM_BITS

LEEWAY = 0.2
"""Seconds that a record may be on its way from Kafka before it counts as one that waits for a slot."""

COVERED = 0.9
"""The part of a stretch during which something must have waited for it to count as saturated."""


def attempts_of(history: History, tenant: str) -> list[Attempt]:
    """Return the requests at a tenant's cluster, in order of arrival."""
    return [attempt for attempt in history.attempts if attempt.tenant == tenant]


def end(attempt: Attempt) -> float:
    """Return when the cluster had decided, or the exchange was over without a decision; infinity while neither."""
    if attempt.answered is not None:
        return attempt.answered
    return math.inf if attempt.closed is None else attempt.closed


def changes(attempts: Iterable[Attempt]) -> Iterator[tuple[float, Attempt, bool]]:
    """Yield arrivals (True) and ends (False) in order of time; at the same moment ends come first."""
    events = [
        event
        for attempt in attempts
        for event in (
            (attempt.arrived, True, attempt.request, attempt),
            (end(attempt), False, attempt.request, attempt),
        )
    ]
    for at, arrives, _, attempt in sorted(events, key=itemgetter(0, 1, 2)):
        yield at, attempt, arrives


def percentile(attempts: Iterable[Attempt], began: float, ended: float, part: float) -> int:
    """Return how many requests were open at most for this part of the time from `began` to `ended`."""
    spent: Counter[int] = Counter()
    held, since = 0, began
    for at, _, arrives in changes(attempts):
        now = min(max(at, began), ended)
        spent[held] += round(1e6 * (now - since))
        held += 1 if arrives else -1
        since = now
    spent[held] += round(1e6 * max(0.0, ended - since))
    left = part * spent.total()
    for level in sorted(spent):
        left -= spent[level]
        if left <= 0:
            return level
    return 0


def first_sent(history: History, record: Produced) -> float:
    """Return when the record first arrived at a cluster; infinity when it never did."""
    sendings = history.sendings.get(record.record << ITEM_BITS)
    return sendings[0].attempt.arrived if sendings else math.inf


def last_sent(history: History, record: Produced) -> float:
    """Return when an item of the record last arrived at a cluster; before everything when none ever did."""
    sendings = (history.sendings.get(record.record << ITEM_BITS | item, ()) for item in range(record.items))
    return max((sending.attempt.arrived for each in sendings for sending in each), default=-math.inf)


def saturated(history: History, tenant: str, began: float, ended: float) -> bool:
    """Return whether some record of the tenant waited to be sent for the first time, nearly all the time."""
    waits = [
        (max(began, record.acked + LEEWAY), min(ended, first_sent(history, record)))
        for record in history.by_tenant[tenant]
        if record.acked + LEEWAY < ended
    ]
    return ended > began and _union(waits) >= COVERED * (ended - began)


def single_life(history: History) -> bool:
    """Return whether one member lived through all of it: caps are each process's own, and begin anew with it."""
    return sum(event.kind == "process" and event.name == "started" for event in history.events) == 1


def limit(history: History, name: str) -> int | None:
    """Return a bound of the history that is a number of things; None where nothing is promised."""
    bound = history.meta.bounds.get(name)
    return int(bound) if isinstance(bound, (int, float)) else None


def fair_part(history: History, ceiling: int, tenants: int) -> int:
    """Return how many slots each of so many tenants that need them can hold at once: workers are shared."""
    workers = limit(history, "workers") or ceiling
    return min(ceiling, max(1, workers // max(1, tenants)))


def seconds(history: History, name: str, otherwise: float) -> float:
    """Return a bound of the history in seconds; `otherwise` where nothing is promised."""
    bound = history.meta.bounds.get(name)
    return float(bound) if isinstance(bound, (int, float)) else otherwise


def _union(stretches: Sequence[tuple[float, float]]) -> float:
    total, reached = 0.0, -math.inf
    for began, ended in sorted(stretches):
        if ended > max(began, reached):
            total += ended - max(began, reached)
            reached = ended
    return total
