"""DEL-7: retries back off, with jitter, for items as for requests; `Retry-After` is honoured."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import median

from isolane.conformance.checkers import cases
from isolane.conformance.checkers.cases import Judge
from isolane.conformance.checkers.rates import quantile
from isolane.conformance.history import History
from isolane.conformance.history_sendings import Answer
from isolane.conformance.history_values import Fault
from isolane.conformance.verdict import Figure, Finding

FEWEST = 3
"""Refusals in a row of the same item, each followed by a retry: with fewer, no growth can be seen."""

ENOUGH = 4
"""The same, with which a lack of growth can be seen: jitter may hide it for a while."""

GROWTH, MOST_GROWTH = 1.25, 3.0
"""By which factor waits must grow with each two refusals, and up to how many times: they may have a longest."""

TOO_SOON = 0.5
"""The part of the shortest early wait that later ones must reach."""

SAMPLES = 5
"""Waits after the same number of refusals, of different requests, that it takes to see whether they spread."""

SPREAD = 0.01
"""The least spread of those, as a part of their median: equal ones would hit the cluster all at once."""

TOLD = 6
"""Refusals in a row whose waits are told as figures."""

EARLY = 0.05
"""The part of ``Retry-After`` by which clocks and rounding may differ."""


@dataclass(frozen=True, slots=True)
class Wait:
    """The time between a refusal and the next attempt of the same items.

    Attributes:
        token: Of one of the items.
        number: How many refusals in a row that item had had.
        seconds: How long it was.
    """

    token: int
    number: int
    seconds: float


def check(history: History) -> list[Finding]:
    """Return a finding on DEL-7 for each fault that refuses for a while, or names a time to come again."""
    return [
        *(_backs_off(history, fault) for fault in cases.of_kind(history, "backoff")),
        *(_honours(history, fault) for fault in cases.of_kind(history, "after")),
    ]


def waits(history: History, fault: Fault) -> list[Wait]:
    """Return the waits during a fault, one for each pair of requests, of the item that had been refused most often."""
    found: dict[tuple[int, int], Wait] = {}
    for token, pair, number, seconds in _each(history, fault):
        if pair not in found or found[pair].number < number:
            found[pair] = Wait(token, number, seconds)
    return list(found.values())


def _each(history: History, fault: Fault) -> Iterator[tuple[int, tuple[int, int], int, float]]:
    inside = {attempt.request for attempt in cases.attempts(history, fault)}
    for token in {
        token for attempt in cases.attempts(history, fault) for token in attempt.tokens() if token is not None
    }:
        number = 0
        for before, after in pairwise(history.sendings[token]):
            if before.answer is not Answer.NOT_NOW or before.attempt.request not in inside:
                number = 0
                continue
            number += 1
            assert before.attempt.answered is not None
            if after.attempt.arrived < fault.ended:
                pair = before.attempt.request, after.attempt.request
                yield token, pair, number, after.attempt.arrived - before.attempt.answered


def _backs_off(history: History, fault: Fault) -> Finding:
    judge = Judge(history, "DEL-7", fault.name)
    found = waits(history, fault)
    medians = _medians(found)
    hasty = _hasty(found)
    growth, spread = _growth(medians), _spread(found)
    refusals = max(medians, default=0)
    due = min(GROWTH ** (refusals / 2), MOST_GROWTH)
    figures = {
        "waits seen": Figure(len(found)),
        "most refusals in a row": Figure(refusals, "", f"≥ {FEWEST}"),
        **{f"median wait after refusal {number}": Figure(value, "s") for number, value in list(medians.items())[:TOLD]},
        "growth of the wait": Figure(growth, "times", f"≥ {due:.3g}"),
        "waits cut short": Figure(len(hasty), f"of {len(found)}", "= 0"),
        **({} if spread is None else {"spread of waits": Figure(spread, "of their median", f"≥ {SPREAD:g}")}),
    }
    everyone = cases.records(history, (wait.token for wait in found))
    if hasty:
        what = "records tried again sooner than after their first refusals"
        return judge.fails(what, cases.records(history, (wait.token for wait in hasty)), figures)
    if refusals < (FEWEST if growth >= due else ENOUGH):
        return judge.doubts(f"too few refusals in a row to see whether waits grow: {refusals}", figures)
    if growth < due:
        return judge.fails(f"waits do not grow with the refusals ({growth:.2g} times only); records", everyone, figures)
    if spread is not None and spread < SPREAD:
        return judge.fails("waits do not spread: all are of the same length; records", everyone, figures)
    return judge.passes(f"waits grew to {growth:.2g} times the earlier ones over {refusals} refusals", figures)


def _medians(found: Sequence[Wait]) -> Mapping[int, float]:
    by_number: dict[int, list[float]] = defaultdict(list)
    for wait in found:
        by_number[wait.number].append(wait.seconds)
    return {number: median(by_number[number]) for number in sorted(by_number)}


def _growth(medians: Mapping[int, float]) -> float:
    """Return how many times the shortest median of the first half the middle one of the second half is.

    The shortest, because an early wait for a turn must not hide that later ones grow.
    """
    values = list(medians.values())
    half = len(values) // 2
    return median(values[half:]) / max(min(values[:half]), 0.001) if half else 1.0


def _hasty(found: Sequence[Wait]) -> list[Wait]:
    """Return the waits after three refusals or more that were shorter than a part of the shortest before.

    The shortest, because waiting for a turn makes any longer, and none shorter.
    """
    shortest = min((wait.seconds for wait in found if wait.number < FEWEST), default=0.0)
    return [wait for wait in found if wait.number >= FEWEST and wait.seconds < TOO_SOON * shortest]


def _spread(found: Sequence[Wait]) -> float | None:
    """Return the widest spread among waits after the same number of refusals; None where there are too few."""
    spreads = []
    for number, middle in _medians(found).items():
        same = [wait.seconds for wait in found if wait.number == number]
        if len(same) >= SAMPLES:
            spreads.append((quantile(same, 0.9) - quantile(same, 0.1)) / max(middle, 0.001))
    return max(spreads, default=None)


def _honours(history: History, fault: Fault) -> Finding:
    judge = Judge(history, "DEL-7", fault.name)
    asked = cases.part(fault, "retry_after")
    seconds = float(asked) if isinstance(asked, (int, float)) else 0.0
    found = waits(history, fault)
    early = [wait for wait in found if wait.seconds < seconds * (1 - EARLY)]
    figures = {
        "Retry-After": Figure(seconds, "s"),
        "waits seen": Figure(len(found), "", "> 0"),
        "shortest wait": Figure(min((wait.seconds for wait in found), default=math.inf), "s", f"≥ {seconds:g}"),
    }
    if early:
        what = f"records tried again before the {seconds:g} s that the cluster had asked for"
        return judge.fails(what, cases.records(history, (wait.token for wait in early)), figures)
    if not found:
        return judge.doubts("nothing was refused and tried again while the cluster named a time", figures)
    return judge.passes(f"nothing came back before the time that the cluster named ({seconds:g} s)", figures)
