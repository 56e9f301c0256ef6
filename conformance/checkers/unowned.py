"""TEN-4: a topic that matches, and that no tenant owns, is told of, and harms nobody."""

from __future__ import annotations

from isolane.conformance.checkers import cases, harness
from isolane.conformance.checkers.rates import Gap, longest_gap
from isolane.conformance.checkers.story import story
from isolane.conformance.history import History
from isolane.conformance.history_values import Produced
from isolane.conformance.verdict import Figure, Finding, Verdict

LONGEST_GAP = 2.0
"""Seconds without an acceptance while work is pending that a healthy tenant may have."""

ATTENTION = 10.0
"""Seconds after the last record of the topic for which the healthy tenants are watched."""


def check(history: History) -> list[Finding]:
    """Return the finding on TEN-4; none where no record was written to a topic that nobody owns."""
    records = [record for record in history.produced if record.topic not in history.meta.owners]
    if not records:
        return []
    topics = sorted({record.topic for record in records})
    silent = [topic for topic in topics if not any(history.topic(topic) in line for line in history.output)]
    marked = [record for record in records if history.advances.get((record.topic, record.partition), [(0, 0)])[-1][1]]
    tenant, gap = _worst_gap(history, records)
    figures = {
        "records in topics that nobody owns": Figure(len(records)),
        "such topics that the output does not name": Figure(len(silent), "", "= 0"),
        "such partitions with a committed offset": Figure(
            len({(each.topic, each.partition) for each in marked}), "", "= 0"
        ),
        "longest time in which a healthy tenant got nothing": Figure(gap.seconds, "s", f"≤ {LONGEST_GAP:g}"),
    }
    if marked:
        summary = (
            f"an offset was committed for a topic that nobody owns: its records are gone, as {history.place(marked[0])}"
        )
        return [_failed(history, marked[0], summary, figures)]
    if silent:
        return [_unnamed(history, records[0], silent[0], figures)]
    if gap.seconds > LONGEST_GAP:
        summary = f"{tenant} got nothing for {gap.seconds:.1f} s while a topic that nobody owns was written to"
        if doubt := harness.excuse(history, gap.began, gap.seconds, LONGEST_GAP):
            summary = f"{summary}, but {doubt}"
            return [Finding("TEN-4", history.scenario, Verdict.INCONCLUSIVE, summary, figures=figures)]
        return [_failed(history, records[0], summary, figures)]
    summary = f"topics that nobody owns are named, stay unmarked, and delayed nobody ({len(topics)})"
    return [Finding("TEN-4", history.scenario, Verdict.PASS, summary, figures=figures)]


def _unnamed(history: History, record: Produced, topic: int, figures: dict[str, Figure]) -> Finding:
    summary = f"nothing in the output names {history.topic(topic)}, which nobody owns"
    if reason := cases.broken_off(history):
        return Finding("TEN-4", history.scenario, Verdict.INCONCLUSIVE, f"{summary}, but {reason}", figures=figures)
    return _failed(history, record, summary, figures)


def _worst_gap(history: History, records: list[Produced]) -> tuple[str, Gap]:
    began = min(record.acked for record in records)
    ended = min(max(record.acked for record in records) + ATTENTION, history.last)
    gaps = [
        (
            tenant.name,
            longest_gap(
                ((each.acked, history.finished_at(each)) for each in history.by_tenant[tenant.name]), began, ended
            ),
        )
        for tenant in history.meta.tenants
        if tenant.role == "healthy"
    ]
    return max(gaps, key=lambda named: named[1].seconds, default=("nobody", Gap(began, 0.0)))


def _failed(history: History, record: Produced, summary: str, figures: dict[str, Figure]) -> Finding:
    return Finding(
        "TEN-4",
        history.scenario,
        Verdict.FAIL,
        summary,
        figures=figures,
        evidence=(record.token,),
        story=story(history, record),
    )
