"""MEM-3: a record larger than every allowance goes through, and so does what is behind it."""

from __future__ import annotations

import math
from itertools import combinations

from isolane.conformance.checkers import cases, slots
from isolane.conformance.checkers.cases import Judge
from isolane.conformance.history import History
from isolane.conformance.history_values import Produced
from isolane.conformance.verdict import Figure, Finding

ALLOWANCES = ("in_flight_bytes", "process_bytes")

LARGE = 12 * 1024**2
"""What a record must exceed where no allowance is promised, or a larger one than Kafka takes in one record here."""


def threshold(history: History) -> int:
    """Return the bytes that a record must exceed."""
    promised = [bound for name in ALLOWANCES if (bound := slots.limit(history, name)) is not None]
    return min(max(promised, default=LARGE), LARGE)


def check(history: History) -> list[Finding]:
    """Return the finding on MEM-3 where the scenario declares it."""
    if "MEM-3" not in history.meta.judges:
        return []
    judge = Judge(history, "MEM-3")
    bound = threshold(history)
    large = [record for record in history.produced if record.size > bound and record.kind == "data"]
    behind = [
        record
        for record in history.produced
        if any(_is_behind(record, each) for each in large) and record.topic in history.meta.owners
    ]
    together = sum(_at_once(history, one, other) for one, other in combinations(large, 2))
    stuck = [record for record in large if history.accepted_at(record) == math.inf]
    left = [record for record in behind if history.finished_at(record) == math.inf]
    figures = {
        "records larger than every allowance": Figure(len(large), f"above {bound:,} bytes", "≥ 2"),
        "pairs of them at once, in different partitions": Figure(together, "", "≥ 1"),
        "of them never accepted": Figure(len(stuck), "", "= 0"),
        "records behind them": Figure(len(behind), "", "≥ 1"),
        "of those never finished": Figure(len(left), "", "= 0"),
    }
    if (stuck or left) and (reason := cases.undecided(history, stuck + left)):
        return [judge.doubts(f"records are not finished ({len(stuck) + len(left)}), but {reason}", figures)]
    if stuck:
        return [judge.fails("records larger than every allowance that never went through", stuck, figures)]
    if left:
        return [judge.fails("records behind one larger than every allowance that never followed", left, figures)]
    if not together or not behind:
        return [judge.doubts("no two such records were there at once, with others behind them", figures)]
    return [judge.passes("every record larger than every allowance went through, and what was behind it", figures)]


def _is_behind(record: Produced, large: Produced) -> bool:
    return (record.topic, record.partition) == (large.topic, large.partition) and record.offset > large.offset


def _at_once(history: History, one: Produced, other: Produced) -> bool:
    apart = (one.topic, one.partition) != (other.topic, other.partition)
    return apart and max(one.acked, other.acked) < min(history.accepted_at(one), history.accepted_at(other))
