"""DEL-10: with one record in flight, a partition is delivered in its order."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections import Counter
from itertools import pairwise

from isolane.conformance.checkers.partitions import disturbances, owned
from isolane.conformance.checkers.story import story
from isolane.conformance.history import History
from isolane.conformance.history_values import Produced
from isolane.conformance.verdict import Figure, Finding, Verdict

FEWEST_RETRIED = 3
"""Records that were attempted more than once: without retries any order is easily kept."""


def check(history: History) -> list[Finding]:
    """Return the finding on DEL-10; none where the implementation does not claim to keep the order.

    Only records that were accepted within one ownership are compared: between two changes of members or topics. Real
    clusters, which are searched now and then, tell of no order.
    """
    if not history.meta.features.get("ordered") or history.searches:
        return []
    changes = disturbances(history)
    overtaken: list[tuple[Produced, Produced]] = []
    for _, records in owned(history):
        accepted = [
            (bisect_right(changes, at), at, record)
            for record in records
            if record.kind == "data" and (at := history.accepted_at(record)) < math.inf
        ]
        overtaken += [
            (earlier, later)
            for (epoch, at, earlier), (other, before, later) in pairwise(accepted)
            if epoch == other and before < at
        ]
    retried = _retried(history)
    figures = {
        "records attempted more than once": Figure(retried, "", f"≥ {FEWEST_RETRIED}"),
        "records that were overtaken": Figure(len(overtaken), "", "= 0"),
    }
    if overtaken:
        earlier, later = overtaken[0]
        return [
            Finding(
                "DEL-10",
                history.scenario,
                Verdict.FAIL,
                f"{history.place(later)} was accepted before {history.place(earlier)}, within one ownership",
                figures=figures,
                evidence=tuple(record.token for record, _ in overtaken[:10]),
                story=story(history, earlier),
            )
        ]
    if retried < FEWEST_RETRIED:
        summary = f"too few records were attempted more than once to try the order: {retried}"
        return [Finding("DEL-10", history.scenario, Verdict.INCONCLUSIVE, summary, figures=figures)]
    summary = f"within each ownership every partition was accepted in order ({retried} records were retried)"
    return [Finding("DEL-10", history.scenario, Verdict.PASS, summary, figures=figures)]


def _retried(history: History) -> int:
    attempts: Counter[int] = Counter()
    for attempt in history.attempts:
        attempts.update(attempt.records())
    return sum(count > 1 for count in attempts.values())
