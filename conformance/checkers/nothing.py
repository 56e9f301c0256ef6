"""POI-2: records with nothing to deliver are finished: the commit passes them, and what is behind them arrives."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby

from isolane.conformance.checkers import cases
from isolane.conformance.checkers.partitions import commit_bound, owned
from isolane.conformance.checkers.story import story
from isolane.conformance.history import History
from isolane.conformance.history_values import Produced
from isolane.conformance.verdict import Figure, Finding, Verdict

LONG = 1000
"""Records in a row with nothing to deliver that fill any tracker which counts them in and never out (FB-43)."""

_NOTHING = frozenset({"tombstone", "empty"})


@dataclass(frozen=True, slots=True)
class Row:
    """Records in a row with nothing to deliver, and the first one behind them that is to be delivered, if any."""

    records: Sequence[Produced]
    behind: Produced | None


def check(history: History) -> list[Finding]:
    """Return the finding on POI-2; none where every record had something to deliver."""
    rows = [row for _, records in owned(history) for row in _rows(records)]
    if not rows:
        return []
    longest = max(rows, key=lambda row: len(row.records))
    figures = {
        "records with nothing to deliver": Figure(sum(len(row.records) for row in rows)),
        "longest row of them": Figure(len(longest.records), "", f"≥ {LONG}"),
    }
    for row in rows:
        if wrong := _wrong(history, row):
            told, summary = wrong
            reason = cases.pending(history, [told]) if told is row.behind else None
            return [
                Finding(
                    "POI-2",
                    history.scenario,
                    Verdict.INCONCLUSIVE if reason else Verdict.FAIL,
                    f"{summary}, but {reason}" if reason else summary,
                    figures=figures,
                    evidence=(told.token,),
                    story=story(history, told),
                )
            ]
    left = next((row.records[-1] for row in rows if history.committed_past(row.records[-1]) == math.inf), None)
    if left and (reason := cases.broken_off(history)):
        summary = f"{reason}: no commit had passed {history.place(left)} yet"
        return [Finding("POI-2", history.scenario, Verdict.INCONCLUSIVE, summary, figures=figures)]
    if len(longest.records) < LONG:
        summary = f"the longest row of records with nothing to deliver was too short: {len(longest.records)}"
        return [Finding("POI-2", history.scenario, Verdict.INCONCLUSIVE, summary, figures=figures)]
    summary = f"commits went on over every record with nothing to deliver, as many as {len(longest.records)} in a row"
    return [Finding("POI-2", history.scenario, Verdict.PASS, summary, figures=figures)]


def _rows(records: Sequence[Produced]) -> Iterator[Row]:
    parts = [list(part) for _, part in groupby(records, key=lambda record: record.kind in _NOTHING)]
    for number, part in enumerate(parts):
        if part[0].kind in _NOTHING:
            yield Row(part, parts[number + 1][0] if number + 1 < len(parts) else None)


def _wrong(history: History, row: Row) -> tuple[Produced, str] | None:
    """Return the record to tell of, and what is wrong; nothing is where what is before the row is not finished."""
    last = row.records[-1]
    before = [
        history.finished_at(record)
        for record in history.by_partition[last.topic, last.partition]
        if record.offset <= last.offset
    ]
    ready = max(before)
    if ready == math.inf:
        return None
    many = f"{len(row.records)} in a row with nothing to deliver"
    bound = commit_bound(history)
    read = history.commits[-1].ended if history.commits else -math.inf
    if history.committed_past(last) == math.inf and ready + bound < read:
        stuck = next(record for record in row.records if history.committed_past(record) == math.inf)
        return stuck, f"no commit passed {history.place(stuck)}, one of {many}, although all before it was finished"
    if row.behind is not None and row.behind.kind == "data" and history.finished_at(row.behind) == math.inf:
        return row.behind, f"{history.place(row.behind)}, behind {many}, was never accepted"
    return None
