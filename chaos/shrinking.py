"""Shrinking: a timeline that fails, without what it does not take to fail.

Nothing is shrunk by Hypothesis: each try is a run of a minute with real processes, in which the same may or may not
happen again. So what happens is dropped, half of it at first and then less (ddmin, Zeller and Hildebrandt 2002), and a
smaller timeline counts as failing only when so many of a few runs of it fail. What is left can be read as a timeline:
what cannot be done without something else is not tried without it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from isolane.chaos import possible
from isolane.chaos.happenings import Happening
from isolane.chaos.timeline import Timeline

Fails = Callable[[Timeline], bool]
"""Lives through a timeline once; whether it failed as the first did."""


@dataclass(frozen=True, slots=True)
class Confirmation:
    """How sure one must be: `least` of `runs` must fail."""

    least: int = 2
    runs: int = 3

    def confirms(self, fails: Fails, timeline: Timeline) -> bool:
        """Whether a timeline fails so often; stops as soon as it is settled."""
        failed = 0
        for run in range(self.runs):
            failed += fails(timeline)
            if failed >= self.least:
                return True
            if failed + self.runs - run - 1 < self.least:
                return False
        return False


def shrunk(
    timeline: Timeline, fails: Fails, confirmation: Confirmation, keep: Callable[[Timeline], object] = lambda _: None
) -> Timeline:
    """A part of a timeline that fails still, and of which nothing that was tried can be left out; it is named for it.

    Args:
        timeline: One that fails, which is not tried again.
        fails: See above.
        confirmation: How often a smaller one must fail.
        keep: Given each that fails still, one smaller than the other: all may be broken off after hours.
    """
    faults: Sequence[Happening] = timeline.faults
    parts = 2
    while len(faults) > 1:
        size = -(-len(faults) // parts)
        kept = next(
            (
                rest
                for start in range(0, len(faults), size)
                if (rest := [*faults[:start], *faults[start + size :]])
                and next(possible.mistakes(_with(timeline, rest)), None) is None
                and confirmation.confirms(fails, _with(timeline, rest))
            ),
            None,
        )
        if kept is not None:
            faults, parts = kept, max(2, parts - 1)
            keep(_with(timeline, faults))
        elif size == 1:
            break
        else:
            parts = min(len(faults), 2 * parts)
    return _with(timeline, faults)


def _with(timeline: Timeline, faults: Sequence[Happening]) -> Timeline:
    return timeline.model_copy(update={"faults": tuple(faults)})
