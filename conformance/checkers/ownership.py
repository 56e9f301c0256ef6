"""OFF-5 and OFF-6: partitions change hands while replies are slow, and before anything was committed."""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Iterator, Sequence

from isolane.conformance.checkers import cases, membership
from isolane.conformance.checkers.commits import Slip, slips
from isolane.conformance.checkers.offsets import Breach, breaches
from isolane.conformance.checkers.partitions import owned
from isolane.conformance.checkers.story import story
from isolane.conformance.history import History
from isolane.conformance.history_values import Event, Produced
from isolane.conformance.tokens import partition_of, topic_of
from isolane.conformance.verdict import Figure, Finding, Verdict

FEWEST_MOVES = 3
"""Changes of members, each with attempts under way, that it takes to try OFF-5."""


def check(history: History) -> list[Finding]:
    """Return the findings on OFF-5 and OFF-6; none where there never was more than one member."""
    moves = _moves(history)
    if not history.commits or not moves:
        return []
    return [*_lost_ownerships(history, moves), *_uncommitted(history, moves)]


def _moves(history: History) -> list[Event]:
    """Return the changes of members before the end, from the moment when the group had a second one."""
    end = next((event.at for event in history.events if (event.kind, event.name) == ("phase", "end")), math.inf)
    moves: list[Event] = []
    members: set[object] = set()
    for event in history.events:
        if event.kind != "process" or event.at >= end:
            continue
        members.add(event.detail["member"])
        if len(members) > 1:
            moves.append(event)
    return moves


def _lost_ownerships(history: History, moves: Sequence[Event]) -> Iterator[Finding]:
    """OFF-5, for the partitions of which attempts were under way when a member came or went."""
    crossed = {move.at: under_way(history, move.at) for move in moves}
    partitions = set().union(*crossed.values())
    tried = sum(bool(each) for each in crossed.values())
    slipped = [slip for slip in slips(history) if slip.partition in partitions]
    early = [breach for breach in breaches(history) if (breach.record.topic, breach.record.partition) in partitions]
    left = [
        next(record for record in records if _is_left(history, record))
        for place, records in owned(history)
        if place in partitions and any(_is_left(history, record) for record in records)
    ]
    figures = {
        "changes of members with attempts under way": Figure(tried, f"of {len(moves)}", f"≥ {FEWEST_MOVES}"),
        "partitions concerned": Figure(len(partitions)),
        "committed offsets that fell, or exceeded the log": Figure(len(slipped), "", "= 0"),
        "committed offsets past an unfinished record": Figure(len(early), "", "= 0"),
        "partitions that did not drain": Figure(len(left), "", "= 0"),
    }
    told, what = _worst(history, early, slipped, left)
    reason = cases.pending(history, left) if left and not early and not slipped else None
    if reason:
        summary = f"partitions did not drain ({len(left)}), but {reason}"
        yield Finding("OFF-5", history.scenario, Verdict.INCONCLUSIVE, summary, figures=figures)
    elif what:
        yield Finding(
            "OFF-5",
            history.scenario,
            Verdict.FAIL,
            f"{what}; members had come and gone while replies were slow",
            figures=figures,
            evidence=(told.token,) if told else (),
            story=story(history, told) if told else (),
        )
    elif tried < FEWEST_MOVES:
        summary = f"too few members came or went while attempts were under way: {tried}"
        yield Finding("OFF-5", history.scenario, Verdict.INCONCLUSIVE, summary, figures=figures)
    else:
        summary = f"{tried} changes of members with attempts under way moved no commit wrongly, and everything drained"
        yield Finding("OFF-5", history.scenario, Verdict.PASS, summary, figures=figures)


def under_way(history: History, at: float) -> set[tuple[int, int]]:
    """Return the partitions with records in attempts that had arrived and were not answered at that moment."""
    arrived = [attempt.arrived for attempt in history.attempts]
    return {
        (topic_of(record), partition_of(record))
        for attempt in history.attempts[: bisect_left(arrived, at)]
        if attempt.answered is not None and attempt.answered > at
        for record in attempt.records()
    }


def _worst(
    history: History, early: Sequence[Breach], slipped: Sequence[Slip], left: Sequence[Produced]
) -> tuple[Produced | None, str]:
    """Return the record to tell of, and what is wrong; nothing where nothing is."""
    if early:
        return early[0].record, f"a commit jumped past {history.place(early[0].record)}"
    if slipped:
        (topic, partition), offset = slipped[0].partition, slipped[0].offset
        at = next((each for each in history.by_partition[topic, partition] if each.offset >= offset), None)
        return at, f"the committed offset of {history.topic(topic)}/{partition} went wrong, to {offset}"
    if left:
        return left[0], f"{history.place(left[0])} was still not done when everything had healed"
    return None, ""


def _is_left(history: History, record: Produced) -> bool:
    return history.finished_at(record) == math.inf or history.committed_past(record) == math.inf


def _uncommitted(history: History, moves: Sequence[Event]) -> Iterator[Finding]:
    """OFF-6, for the partitions that had records waiting, and nothing of them committed, when a member went."""
    departures = [move.at for move in moves if move.name in membership.ENDS]
    tried: dict[tuple[int, int], Sequence[Produced]] = {}
    for place, records in owned(history):
        for at in departures:
            waiting = [record for record in records if record.acked < at <= history.finished_at(record)]
            if waiting and history.committed_past(records[0]) > at:
                tried[place] = waiting
                break
    if not tried:
        return
    skipped = [record for waiting in tried.values() for record in waiting if history.finished_at(record) == math.inf]
    figures = {
        "partitions that moved before their first commit": Figure(len(tried), "", "≥ 1"),
        "records that waited in them": Figure(sum(map(len, tried.values()))),
        "records of those that were skipped": Figure(len(skipped), "", "= 0"),
    }
    if skipped and (reason := cases.pending(history, skipped)):
        summary = f"records that waited when their partition moved are missing ({len(skipped)}), but {reason}"
        yield Finding("OFF-6", history.scenario, Verdict.INCONCLUSIVE, summary, figures=figures)
        return
    if skipped:
        yield Finding(
            "OFF-6",
            history.scenario,
            Verdict.FAIL,
            f"{history.place(skipped[0])} was skipped: its partition moved before anything had been committed for it",
            figures=figures,
            evidence=tuple(record.token for record in skipped[:10]),
            story=story(history, skipped[0]),
        )
        return
    summary = f"nothing was skipped in partitions that moved before their first commit ({len(tried)})"
    yield Finding("OFF-6", history.scenario, Verdict.PASS, summary, figures=figures)
