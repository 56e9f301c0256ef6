"""Sight: for how long nobody saw what only observers see, so that nothing seen there does not mean that nothing was."""

from __future__ import annotations

import math
from collections.abc import Iterable
from itertools import pairwise

from isolane.conformance.checkers.happenings import happenings
from isolane.conformance.checkers.harness import FINDING_A_BROKER
from isolane.conformance.history import History
from isolane.conformance.history_values import GROUP_OBSERVER, Phase
from isolane.conformance.verdict import Figure

BLIND = 3.0
"""Seconds for which nothing may have been seen: readings may fail while a coordinator finds its feet."""

_UNLOADED = frozenset({"ready", "end"})
"""Phases in which nothing is asked of anybody yet, or any more."""

Stretch = tuple[float, float]
"""From when to when nothing was seen."""


def of_offsets(history: History) -> str | None:
    """Return that committed offsets were not read for too long while records waited; None where they were.

    A broker that a timeline takes away is no reason to doubt: nobody could commit either.
    """
    times = sorted(seen.ended for seen in history.commits if seen.error is None)
    unseen = list(pairwise([-math.inf, *times, math.inf]))
    for phase in history.phases:
        seconds = _longest(history, unseen, (phase.began, phase.ended))
        if seconds > BLIND and phase.name not in _UNLOADED and _is_loaded(history, phase):
            return f"committed offsets could not be read for {seconds:.1f} s of {phase.name} (allowed {BLIND:g} s)"
    return None


def of_group(history: History, within: Iterable[Stretch]) -> float:
    """Return the longest that the group was not seen for within these stretches, in seconds; 0 where it always was."""
    unseen = [
        (event.at - float(event.detail["seconds"]), event.at)
        for event in history.events
        if event.kind == "harness"
        and event.name in {"unreadable", "sampler_gap"}
        and event.detail.get("of") == GROUP_OBSERVER
    ]
    return max((_longest(history, unseen, each) for each in within), default=0.0)


def figure(seconds: float) -> Figure:
    """Return that figure beside its bound."""
    return Figure(seconds, "s", f"≤ {BLIND:g}")


def _is_loaded(history: History, phase: Phase) -> bool:
    return any(record.sent < phase.ended and history.finished_at(record) > phase.began for record in history.produced)


def _longest(history: History, unseen: Iterable[Stretch], within: Stretch) -> float:
    """Return the longest part of a stretch in which nothing was seen, and every broker should have been there."""
    away = sorted(
        (each.began, each.ended + FINDING_A_BROKER) for each in happenings(history).values() if each.takes_a_broker
    )
    return max((_part(max(began, within[0]), min(ended, within[1]), away) for began, ended in unseen), default=0.0)


def _part(began: float, ended: float, away: Iterable[Stretch]) -> float:
    """Return the seconds of the longest part of a stretch outside of those others, which are in order."""
    longest = 0.0
    for gone, back in away:
        longest = max(longest, min(gone, ended) - began)
        began = max(began, back)
    return max(longest, ended - began)
