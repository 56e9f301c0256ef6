"""Partitions of owned topics, as checkers of offsets see them: what must be finished, and when nothing disturbs."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from isolane.conformance.history import History
from isolane.conformance.history_values import Kind, Produced

UNSEEN: frozenset[Kind] = frozenset({"aborted", "superseded", "early"})
"""Kinds of records that a consumer may rightly never see: the commit need not pass the last of them."""

MARGIN = 2.0
"""Seconds beyond the commit interval within which a commit must follow."""

REBALANCE = 10.0
"""Seconds beyond the age of metadata that a change of members, topics or partitions may take to be over."""


def owned(history: History) -> Iterator[tuple[tuple[int, int], Sequence[Produced]]]:
    """Yield each partition of an owned topic with those of its records that the commit must pass, by offset.

    Where records that cannot be decoded are held as configured, those and what is behind them are left out.
    """
    for place, records in history.by_partition.items():
        if place[0] in history.meta.owners:
            yield place, _before_held(history, [record for record in records if record.kind not in UNSEEN])


def _before_held(history: History, records: Sequence[Produced]) -> Sequence[Produced]:
    if history.meta.dead_letter.undecodable != "hold":
        return records
    stop = next(
        (
            position
            for position, record in enumerate(records)
            if record.kind == "poison" and history.finished_at(record) == math.inf
        ),
        len(records),
    )
    return records[:stop]


def commit_bound(history: History) -> float:
    """Return the seconds within which a commit must follow what is finished."""
    return _seconds(history, "commit_interval") + MARGIN


def discovery_bound(history: History) -> float:
    """Return the seconds within which a new topic or partition must be read."""
    return _seconds(history, "metadata_max_age") + REBALANCE


def disturbances(history: History) -> list[float]:
    """Return the times at which members came or went, or topics changed, so that partitions change hands; sorted.

    What happens in a timeline is among them: it may keep members from Kafka.

    The first member's start is none: nobody had any partition before.
    """
    changes = sorted(event.at for event in history.events if event.kind in {"process", "topic", "operator", "chaos"})
    first = next((event.at for event in history.events if event.kind == "process"), math.inf)
    return [at for at in changes if at > first]


def _seconds(history: History, name: str) -> float:
    value = history.meta.bounds.get(name)
    return float(value) if isinstance(value, int | float) else 0.0
