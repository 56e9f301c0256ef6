"""Arithmetic of rates and delays: plain functions of sorted times. All times are seconds."""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Iterable, Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Window:
    """A stretch of time, how many records were scheduled in it, and how many were accepted, whenever scheduled."""

    began: float
    seconds: float
    scheduled: int
    accepted: int

    @property
    def share(self) -> float:
        """Accepted for each scheduled: 1 while the implementation keeps up, less while a backlog grows."""
        return self.accepted / self.scheduled


@dataclass(frozen=True, slots=True)
class Gap:
    """A stretch of time without an acceptance although work was pending."""

    began: float
    seconds: float


def count(times: Sequence[float], began: float, ended: float) -> int:
    """Return how many of the sorted times lie in [began, ended)."""
    return bisect_left(times, ended) - bisect_left(times, began)


def windows(
    scheduled: Sequence[float],
    accepted: Sequence[float],
    began: float,
    ended: float,
    *,
    length: float,
    step: float,
    least: int,
) -> list[Window]:
    """Return the windows in which enough was scheduled.

    Windows lie wholly within [began, ended] and begin every `step`; a stretch shorter than `length` is one window.
    What was scheduled before a window and is accepted in it counts, as does the reverse, so at a steady delay the
    edges cancel out and a steady flow has a share of 1, however its phases are cut.

    Args:
        scheduled: Sorted times at which records were due.
        accepted: Sorted times at which records were accepted.
        began: Where the stretch begins.
        ended: Where it ends.
        length: Seconds of a window.
        step: Seconds from the begin of one window to the next.
        least: Records that must be scheduled in a window for its share to mean something.
    """
    length = min(length, ended - began)
    begins = (began + number * step for number in range(math.floor((ended - began - length) / step + 1e-9) + 1))
    found = (Window(at, length, count(scheduled, at, at + length), count(accepted, at, at + length)) for at in begins)
    return [window for window in found if window.scheduled >= least]


def quantile(values: Iterable[float], part: float) -> float:
    """Return the smallest value that at least `part` of the values do not exceed (nearest rank).

    Raises:
        ValueError: There are no values.
    """
    ordered = sorted(values)
    if not ordered:
        raise ValueError("no values, so no quantile")
    return ordered[max(0, math.ceil(part * len(ordered)) - 1)]


def longest_gap(work: Iterable[tuple[float, float]], began: float, ended: float) -> Gap:
    """Return the longest stretch within [began, ended] with work pending throughout and nothing accepted.

    Args:
        work: For each record when it became available, and when it was accepted (infinity: never).
        began: Where to begin; work from before that is still open is pending from here.
        ended: Where to end.
    """
    changes: list[tuple[float, int]] = []
    for available, accepted in work:
        if accepted >= began and available < ended:
            changes += [(max(min(available, accepted), began), 1), (accepted, -1)]
    changes.sort(key=lambda change: (change[0], -change[1]))
    worst, pending, since = Gap(began, 0.0), 0, began
    for at, change in [*changes, (ended, 0)]:
        until = min(at, ended)
        if pending and change <= 0 and until - since > worst.seconds:
            worst = Gap(since, until - since)
        if at >= ended:
            break
        if change < 0 or not pending:
            since = at
        pending += change
    return worst


def jain(shares: Sequence[float]) -> float:
    """Return Jain's index of fairness: 1 when all get the same, 1/n when one gets everything, 0 when nobody gets any.

    R. Jain, D. Chiu, W. Hawe: A Quantitative Measure of Fairness and Discrimination, DEC-TR-301, 1984.
    """
    squares = sum(share * share for share in shares)
    return sum(shares) ** 2 / (len(shares) * squares) if squares else 0.0
