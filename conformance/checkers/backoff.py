"""DEL-7: retries back off, with jitter, for items as for requests; `Retry-After` is honoured."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import median, median_low

from isolane.conformance.checkers import cases
from isolane.conformance.checkers.cases import Judge
from isolane.conformance.checkers.rates import quantile
from isolane.conformance.history import History
from isolane.conformance.history_sendings import Answer
from isolane.conformance.history_values import Fault
from isolane.conformance.verdict import Figure, Finding

FEWEST = 3
"""Refusals in a row of the same item, each followed by a retry: with fewer, no growth can be seen."""

ENOUGH, MANY = 4, 8
"""The same, with which a lack of growth, and retries without any wait, can be seen: jitter may hide it for a while."""

GROWTH, MOST_GROWTH = 1.25, 2.0
"""By which factor waits must grow with each two refusals, and up to how many times: they may have a longest."""

WIDENING = 1.05
"""By which factor long waits and short ones must differ more with each refusal for chance to be why they do not grow.

Full jitter has short late waits by design, and decorrelated jitter falls back now and then: then waits differ widely.
Those of a sender that always waits the same time do not.
"""

EARLY_PART = 0.1
"""The part of a long row of refusals whose waits are the early ones."""

AT_ONCE = 0.03
"""Seconds that are no wait at all: half of the late waits are shorter with no back-off."""

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


def flaw(found: Sequence[Wait]) -> str | None:
    """Return what is wrong with the waits, whatever part chance has in each; None where nothing is for certain."""
    refusals = _refusals(found)
    if refusals >= MANY and _late(found) < AT_ONCE:
        return "records tried again at once, as often as they were refused"
    if refusals >= ENOUGH and growth(found) < _due(refusals) and _range(found) <= WIDENING**refusals:
        return f"waits do not grow with the refusals ({growth(found):.2g} times only); records"
    return None


def growth(found: Sequence[Wait]) -> float:
    """Return how many times the early waits the median late one is; 1 where either are missing.

    Early are those after one refusal and two, or up to a part of a long row, and of them the lower median counts: an
    early wait for a turn must not hide that later ones grow.
    """
    refusals = _refusals(found)
    early = [wait.seconds for wait in found if wait.number < max(FEWEST, EARLY_PART * refusals)]
    return _late(found) / max(median_low(early), 0.001) if early and refusals >= FEWEST else 1.0


def _backs_off(history: History, fault: Fault) -> Finding:
    judge = Judge(history, "DEL-7", fault.name)
    found = waits(history, fault)
    grown, refusals, spread = growth(found), _refusals(found), _spread(found)
    due = _due(refusals)
    figures = {
        "waits seen": Figure(len(found)),
        "most refusals in a row": Figure(refusals, "", f"≥ {FEWEST}"),
        **{
            f"median wait after refusal {number}": Figure(value, "s")
            for number, value in list(_medians(found).items())[:TOLD]
        },
        "growth of the wait": Figure(grown, "times", f"≥ {due:.3g}"),
        "long waits": Figure(_range(found), "times the short ones"),
        **({} if spread is None else {"spread of waits": Figure(spread, "of their median", f"≥ {SPREAD:g}")}),
    }
    everyone = cases.records(history, (wait.token for wait in found))
    if what := flaw(found):
        return judge.fails(what, everyone, figures)
    if refusals < (FEWEST if grown >= due else ENOUGH):
        return judge.doubts(f"too few refusals in a row to see whether waits grow: {refusals}", figures)
    if grown < due:
        return judge.doubts(f"waits differ too much to see whether they grow ({grown:.2g} times)", figures)
    if spread is not None and spread < SPREAD:
        return judge.fails("waits do not spread: all are of the same length; records", everyone, figures)
    return judge.passes(f"waits grew to {grown:.2g} times the earlier ones over {refusals} refusals", figures)


def _medians(found: Sequence[Wait]) -> Mapping[int, float]:
    by_number: dict[int, list[float]] = defaultdict(list)
    for wait in found:
        by_number[wait.number].append(wait.seconds)
    return {number: median(by_number[number]) for number in sorted(by_number)}


def _refusals(found: Sequence[Wait]) -> int:
    return max((wait.number for wait in found), default=0)


def _due(refusals: int) -> float:
    """Return how many times waits must have grown over so many refusals."""
    factor: float = GROWTH ** (min(refusals, MANY) / 2)
    return min(factor, MOST_GROWTH)


def _late(found: Sequence[Wait]) -> float:
    """Return the median of the waits after three refusals or more, whichever request's; 0 where there are none."""
    return median([wait.seconds for wait in found if wait.number >= FEWEST] or [0.0])


def _range(found: Sequence[Wait]) -> float:
    """Return how many times the short waits the long ones are: a single one of either says nothing."""
    seconds = [wait.seconds for wait in found] or [0.0]
    long, short = quantile(seconds, 0.9), quantile(seconds, 0.1)
    return long / max(short, 0.001)


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
