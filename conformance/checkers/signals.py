"""TEN-3: every log record, data point and span of a tenant with several topics arrives."""

from __future__ import annotations

import math
from collections import Counter

from isolane.conformance.checkers import cases
from isolane.conformance.checkers.partitions import owned
from isolane.conformance.checkers.story import story
from isolane.conformance.history import History
from isolane.conformance.history_values import Produced
from isolane.conformance.verdict import Figure, Finding, Verdict

ITEMS = {"logs": "log records", "metrics": "data points", "traces": "spans"}
"""What the items of each signal are called."""


def check(history: History) -> list[Finding]:
    """Return the finding on TEN-3, for the tenants with several topics.

    A scenario that declares to judge it has a tenant with all signals that the implementation takes; where that is one,
    those of the healthy tenants count. What is behind a record that is held as configured need not arrive.
    """
    several = [tenant for tenant in history.meta.tenants if len(tenant.topics) > 1]
    healthy = [tenant for tenant in history.meta.tenants if tenant.role == "healthy"]
    if not several and "TEN-3" not in history.meta.judges:
        return []
    topics = {topic for tenant in several or healthy for topic in tenant.topics}
    records = [
        record
        for place, sequence in owned(history)
        if place[0] in topics
        for record in sequence
        if record.kind == "data"
    ]
    sent: Counter[str] = Counter()
    for record in records:
        sent[signal_of(history, record)] += record.items
    missing = [record for record in records if history.finished_at(record) == math.inf]
    figures = {ITEMS.get(signal, signal): Figure(count) for signal, count in sorted(sent.items())}
    figures["records of which not every item arrived"] = Figure(len(missing), "", "= 0")
    if missing and (reason := cases.pending(history, missing)):
        summary = f"not every item arrived (records: {len(missing)}), but {reason}"
        return [Finding("TEN-3", history.scenario, Verdict.INCONCLUSIVE, summary, figures=figures)]
    if missing:
        return [_failed(history, missing, figures)]
    if not records:
        summary = "no tenant with several topics was sent anything"
        return [Finding("TEN-3", history.scenario, Verdict.INCONCLUSIVE, summary, figures=figures)]
    what = ", ".join(f"{count:,} {ITEMS.get(signal, signal)}" for signal, count in sorted(sent.items()))
    return [Finding("TEN-3", history.scenario, Verdict.PASS, f"every item arrived: {what}", figures=figures)]


def signal_of(history: History, record: Produced) -> str:
    """Return the signal of a record's topic: the second part of its name."""
    return history.topic(record.topic).split(".")[1]


def _failed(history: History, missing: list[Produced], figures: dict[str, Figure]) -> Finding:
    first = missing[0]
    what = ITEMS.get(signal_of(history, first), "items")
    return Finding(
        "TEN-3",
        history.scenario,
        Verdict.FAIL,
        f"records of which {what} are missing: {len(missing)}; first {history.place(first)}",
        figures=figures,
        evidence=tuple(record.token for record in missing[:10]),
        story=story(history, first),
    )
