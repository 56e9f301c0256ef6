"""OFF-2, OFF-3, OFF-4: committed offsets neither fall nor jump, pass every gap, and follow by themselves."""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from isolane.conformance.checkers import harness, sight
from isolane.conformance.checkers.cases import broken_off
from isolane.conformance.checkers.offsets import FEWEST_ADVANCES, count_advances
from isolane.conformance.checkers.partitions import commit_bound, discovery_bound, disturbances, owned
from isolane.conformance.checkers.story import story
from isolane.conformance.history import History
from isolane.conformance.history_values import Produced
from isolane.conformance.verdict import Figure, Finding, Verdict

_HOLES = frozenset({"aborted", "superseded"})

SEEN_WITHIN = 5.0
"""Seconds within which a reading shows what an operator has set."""

FEWEST_QUIET = 3
"""Partitions that must have come to rest undisturbed for the commit's delay to be judged."""


@dataclass(frozen=True, slots=True)
class Slip:
    """A committed offset that was wrong in itself: it fell to `offset` from `other`, or exceeded the end, `other`."""

    partition: tuple[int, int]
    at: float
    offset: int
    other: int
    fell: bool


def check(history: History) -> list[Finding]:
    """Return the findings on OFF-2, OFF-3 and OFF-4, each where the history has what it takes."""
    if not history.commits:
        return []
    return [_slipped(history), *_gaps(history), *_delay(history)]


def slips(history: History) -> list[Slip]:
    """Return every committed offset that fell, or that was above the end of the log as it was read afterwards."""
    fallen = [
        Slip(partition, at, after, before, fell=True)
        for partition, seen in history.advances.items()
        for (since, before), (at, after) in pairwise(seen)
        if after < before and not _set_back(history, since, at)
    ]
    beyond = [
        Slip(partition, seen.ended, offset, seen.ends[partition], fell=False)
        for seen in history.commits
        for partition, offset in seen.offsets.items()
        if offset > seen.ends.get(partition, math.inf)
    ]
    return sorted(fallen + beyond, key=lambda slip: slip.at)


def _set_back(history: History, since: float, until: float) -> bool:
    """Return whether an operator set offsets back between two readings."""
    moved = (event.at for event in history.events if (event.kind, event.name) == ("operator", "offsets"))
    return any(since - SEEN_WITHIN <= at <= until + SEEN_WITHIN for at in moved)


def _slipped(history: History) -> Finding:
    found, advances = slips(history), count_advances(history.commits)
    figures = {
        "advances seen": Figure(advances, "", f"≥ {FEWEST_ADVANCES}"),
        "falls": Figure(sum(slip.fell for slip in found), "", "= 0"),
        "readings beyond the end of a log": Figure(sum(not slip.fell for slip in found), "", "= 0"),
    }
    if found:
        return _slip(history, found[0], figures)
    if blind := sight.of_offsets(history):
        return Finding("OFF-2", history.scenario, Verdict.INCONCLUSIVE, blind, figures=figures)
    if advances < FEWEST_ADVANCES:
        summary = f"too few advances of committed offsets were seen: {advances}, the least are {FEWEST_ADVANCES}"
        return Finding("OFF-2", history.scenario, Verdict.INCONCLUSIVE, summary, figures=figures)
    summary = "no committed offset fell, and none was above the end of its log"
    return Finding("OFF-2", history.scenario, Verdict.PASS, summary, figures=figures)


def _slip(history: History, slip: Slip, figures: dict[str, Figure]) -> Finding:
    what = f"fell from {slip.other}" if slip.fell else f"is above the end of the log, {slip.other}"
    where = f"{history.topic(slip.partition[0])}/{slip.partition[1]}"
    records = history.by_partition.get(slip.partition, ())
    # The first record that is read again; with a commit beyond the end it is the last one that there is.
    at = bisect_left([record.offset for record in records], slip.offset)
    told = records[min(at, len(records) - 1)] if records else None
    return Finding(
        "OFF-2",
        history.scenario,
        Verdict.FAIL,
        f"the committed offset of {where}, {slip.offset}, {what}, {slip.at - history.began:.3f} s into the run",
        figures=figures,
        evidence=(told.token,) if told else (),
        story=story(history, told) if told else (),
    )


def _gaps(history: History) -> Iterator[Finding]:
    """OFF-3, for the partitions with offsets that nobody delivers below their last deliverable record."""
    holes = {
        place: (_unseen(history.by_partition[place], records[-1].offset), records)
        for place, records in owned(history)
        if records
    }
    tried = {place: (unseen, records) for place, (unseen, records) in holes.items() if unseen}
    if not tried:
        return
    unfinished = [place for place, (_, records) in tried.items() if _rest(history, records) == math.inf]
    behind = [
        records[-1]
        for place, (_, records) in tried.items()
        if place not in unfinished and history.committed_past(records[-1]) == math.inf
    ]
    figures = {
        "partitions with gaps": Figure(len(tried), "", "≥ 1"),
        "offsets without a record to deliver": Figure(sum(unseen for unseen, _ in tried.values())),
        "partitions whose commit stopped before the last record": Figure(len(behind), "", "= 0"),
    }
    ended = broken_off(history)
    early = [record for record in behind if not _was_due(history, record)] if ended else []
    if early:
        summary = f"{history.place(early[0])} is not committed yet, and {ended}"
        yield Finding("OFF-3", history.scenario, Verdict.INCONCLUSIVE, summary, figures=figures)
        return
    if behind:
        yield Finding(
            "OFF-3",
            history.scenario,
            Verdict.FAIL,
            f"everything was finished, but no commit passed {history.place(behind[0])}, the last record behind gaps",
            figures=figures,
            evidence=tuple(record.token for record in behind),
            story=story(history, behind[0]),
        )
        return
    if unfinished:
        topic, partition = unfinished[0]
        summary = f"not everything in {history.topic(topic)}/{partition} was finished, so the commit had to wait"
        yield Finding("OFF-3", history.scenario, Verdict.INCONCLUSIVE, summary, figures=figures)
        return
    summary = f"the commit passed the last record of every partition with gaps ({len(tried)})"
    yield Finding("OFF-3", history.scenario, Verdict.PASS, summary, figures=figures)


def _was_due(history: History, last: Produced) -> bool:
    """Return whether a reading should have shown a commit past the last record of a partition, which is finished."""
    records = history.by_partition[last.topic, last.partition]
    return _rest(history, records) + commit_bound(history) + history.vagueness < history.commits[-1].ended


def _unseen(records: Sequence[Produced], last: int) -> int:
    """Return how many offsets below `last` have no record that is to be delivered: markers, aborts, what is gone."""
    below = [record for record in records if record.offset < last]
    first = min((record.offset for record in below), default=last)
    return last - first - sum(record.kind not in _HOLES for record in below)


def _rest(history: History, records: Sequence[Produced]) -> float:
    """Return when all of the records were finished: from then on the commit has nothing to wait for."""
    return max(map(history.finished_at, records))


def _delay(history: History) -> Iterator[Finding]:
    """OFF-4, for the partitions that came to rest; delays that a change of members or topics explains do not count."""
    bound, until = commit_bound(history) + history.vagueness, history.commits[-1].ended
    rested = [
        (rest, records[-1]) for _, records in owned(history) if records and (rest := _rest(history, records)) < math.inf
    ]
    delays = [
        (delay, rest, last)
        for rest, last in rested
        if (delay := history.committed_past(last) - rest) <= bound
        or (rest + bound < until and not _disturbed(history, rest, bound))
    ]
    if not delays:
        return
    worst, rest, record = max(delays, key=lambda delay: delay[0])
    figures = {
        "partitions that came to rest": Figure(len(delays), "", f"≥ {FEWEST_QUIET}"),
        "longest time until the commit": Figure(max(0.0, worst), "s", f"≤ {bound:g}"),
    }
    if worst > bound:
        doubt = harness.excuse(history, rest, worst, bound)
        late = "no commit followed" if worst == math.inf else f"the commit followed only {worst:.2f} s later"
        yield Finding(
            "OFF-4",
            history.scenario,
            Verdict.INCONCLUSIVE if doubt else Verdict.FAIL,
            f"{history.place(record)} was the last record of its partition to be finished; {late}"
            + (f", but {doubt}" if doubt else ""),
            figures=figures,
            evidence=(record.token,),
            story=story(history, record),
        )
        return
    if len(delays) < FEWEST_QUIET:
        summary = f"too few partitions came to rest undisturbed: {len(delays)}, the least are {FEWEST_QUIET}"
        yield Finding("OFF-4", history.scenario, Verdict.INCONCLUSIVE, summary, figures=figures)
        return
    summary = f"in every partition that came to rest the commit followed within {bound:g} s ({len(delays)})"
    yield Finding("OFF-4", history.scenario, Verdict.PASS, summary, figures=figures)


def _disturbed(history: History, rest: float, bound: float) -> bool:
    settling = discovery_bound(history)
    return any(at - bound < rest < at + settling for at in disturbances(history))
