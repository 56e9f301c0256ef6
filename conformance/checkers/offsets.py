"""OFF-1: whatever is committed is finished, at every moment at which anybody looks."""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from isolane.conformance.checkers import searches, sight
from isolane.conformance.checkers.story import story
from isolane.conformance.history import History
from isolane.conformance.history_values import Observation, Produced
from isolane.conformance.verdict import Figure, Finding, Verdict

FEWEST_ADVANCES = 3
"""Advances of committed offsets that must have been seen: a group that commits nothing breaks nothing."""

FEWEST_SEARCHES = 5
"""Complete searches that each real cluster must have seen: what only the last one finds may have come at any time."""


@dataclass(frozen=True, slots=True)
class Breach:
    """A commit that was past a record which was not finished by then; `finished` is when it was."""

    record: Produced
    committed: int
    seen: Observation
    finished: float


class Prefix:
    """One partition: its records by offset, and when everything up to each of them was finished."""

    def __init__(self, records: Sequence[Produced], finished: Iterable[float]) -> None:
        """Prepare `records`, in order of offsets, each with the time at which it was finished."""
        self._records = records
        self._offsets = [record.offset for record in records]
        self._finished = list(finished)
        self._complete: list[float] = []
        latest = -math.inf
        for at in self._finished:
            latest = max(latest, at)
            self._complete.append(latest)

    def breach(self, committed: int, seen: Observation) -> Breach | None:
        """Return the first record below the committed offset that was not finished when the reading ended."""
        below = bisect_left(self._offsets, committed)
        if not below or self._complete[below - 1] <= seen.ended:
            return None
        first = next(place for place in range(below) if self._finished[place] > seen.ended)
        return Breach(self._records[first], committed, seen, self._finished[first])


def breaches(history: History) -> list[Breach]:
    """Return, for each reading and partition, the first record below the committed offset that was not finished yet.

    A reading's offsets were true at some moment before it ended, acceptances are stamped before the reply is sent, and
    dead letters, like documents of real clusters, count from the reading that did not find them yet. So a record that
    was finished after the end of a reading that is past it was committed too early for certain; one that was never
    found in a real cluster only if that was searched again, completely.
    """
    return [breach for breach in _suspected(history) if _is_certain(history, breach)]


def _suspected(history: History) -> list[Breach]:
    prefixes = {
        partition: Prefix(records, map(history.finished_at, records))
        for partition, records in history.by_partition.items()
    }
    return [
        breach
        for seen in history.commits
        for partition, committed in seen.offsets.items()
        if partition in prefixes and (breach := prefixes[partition].breach(committed, seen)) is not None
    ]


def _is_certain(history: History, breach: Breach) -> bool:
    if breach.finished < math.inf or not history.searches:
        return True
    tenant = history.meta.owners[breach.record.topic]
    complete = (search for search in history.searches if search.tenant == tenant and search.error is None)
    return any(search.began >= breach.seen.ended for search in complete)


def check(history: History) -> list[Finding]:
    """Return the finding on OFF-1; none where committed offsets were never read."""
    if not history.commits:
        return []
    suspected = _suspected(history)
    found = [breach for breach in suspected if _is_certain(history, breach)]
    advances = count_advances(history.commits)
    figures = {
        "readings of committed offsets": Figure(len(history.commits)),
        "readings that failed": Figure(sum(seen.error is not None for seen in history.commits)),
        "advances seen": Figure(advances, "", f"≥ {FEWEST_ADVANCES}"),
        "readings past an unfinished record": Figure(len(found), "", "= 0"),
    }
    if history.searches:
        figures["searches of a cluster, at least"] = Figure(searches.fewest(history), "", f"≥ {FEWEST_SEARCHES}")
    if found:
        return [_failed(history, found[0], figures)]
    if doubt := _doubt(history, suspected, advances):
        return [Finding("OFF-1", history.scenario, Verdict.INCONCLUSIVE, doubt, figures=figures)]
    summary = f"committed offsets advanced past no unfinished record (advances seen: {advances})"
    return [Finding("OFF-1", history.scenario, Verdict.PASS, summary, figures=figures)]


def _doubt(history: History, suspected: Sequence[Breach], advances: int) -> str | None:
    """Return why it proves nothing that no breach is certain; None where it does."""
    if suspected:
        place = history.place(suspected[0].record)
        return f"{place} was committed past, and its cluster was not searched to the end after that"
    if history.searches and searches.fewest(history) < FEWEST_SEARCHES:
        return "too few searches of a real cluster were complete to tell when anything was in it"
    if blind := sight.of_offsets(history):
        return blind
    few = f"too few advances of committed offsets were seen: {advances}, the least are {FEWEST_ADVANCES}"
    return few if advances < FEWEST_ADVANCES else None


def count_advances(commits: Iterable[Observation]) -> int:
    """Return how often a partition's committed offset was seen to have grown, its first sight included if not 0."""
    last: dict[tuple[int, int], int] = {}
    advances = 0
    for seen in commits:
        for partition, offset in seen.offsets.items():
            advances += offset > last.get(partition, 0)
            last[partition] = offset
    return advances


def _failed(history: History, breach: Breach, figures: dict[str, Figure]) -> Finding:
    seen = breach.seen.ended - history.began
    late = breach.finished - breach.seen.ended
    fate = "never was finished" if late == math.inf else f"was finished only {late:.3f} s later"
    summary = (
        f"offset {breach.committed} was committed {seen:.3f} s into the run, past {history.place(breach.record)}, "
        f"which {fate}"
    )
    return Finding(
        "OFF-1",
        history.scenario,
        Verdict.FAIL,
        summary,
        figures=figures,
        evidence=(breach.record.token,),
        story=story(history, breach.record),
    )
