"""TEN-4: a topic that matches, and that no tenant owns, is told of, and harms nobody."""

from __future__ import annotations

from collections.abc import Sequence

from prometheus_client.samples import Sample

from isolane.conformance.checkers import cases, harness
from isolane.conformance.checkers.rates import Gap, longest_gap
from isolane.conformance.checkers.story import story
from isolane.conformance.history import History
from isolane.conformance.history_values import Produced
from isolane.conformance.metrics_text import NotExpositionError, Pattern, samples_of
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
    claimed = topics if history.meta.features.get("metrics") else []
    untold = [topic for topic in claimed if not _is_told(history, history.topic(topic))]
    marked = [record for record in records if history.advances.get((record.topic, record.partition), [(0, 0)])[-1][1]]
    tenant, gap = _worst_gap(history, records)
    figures = {
        "records in topics that nobody owns": Figure(len(records)),
        "such topics that the output does not name": Figure(len(silent), "", "= 0"),
        **({"such topics that no metric names": Figure(len(untold), "", "= 0")} if claimed else {}),
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
    unnamed = [_unnamed(history, records[0], silent, untold, figures)] if silent or untold else []
    delayed = [_delayed(history, records[0], tenant, gap, figures)] if gap.seconds > LONGEST_GAP else []
    if found := [*unnamed, *delayed]:
        return [next((finding for finding in found if finding.verdict is Verdict.FAIL), found[0])]
    summary = f"topics that nobody owns are named, stay unmarked, and delayed nobody ({len(topics)})"
    return [Finding("TEN-4", history.scenario, Verdict.PASS, summary, figures=figures)]


def _is_told(history: History, topic: str) -> bool:
    """Return whether a metric names a topic: that which is mapped for it, or any where none is."""
    meta = history.meta.metrics
    label, pattern = meta.labels.get("topic", "topic"), meta.map.get("unowned")
    wanted = Pattern.parse(pattern) if pattern else None
    return any(
        sample.labels.get(label) == topic and sample.value > 0 and (wanted is None or wanted.matches(sample))
        for scrape in history.scrapes
        if topic in scrape.text
        for sample in _samples(scrape.text)
    )


def _samples(text: str) -> list[Sample]:
    try:
        return samples_of(text)
    except NotExpositionError:
        return []


def _unnamed(
    history: History, record: Produced, silent: Sequence[int], untold: Sequence[int], figures: dict[str, Figure]
) -> Finding:
    what, topic = ("nothing in the output", silent[0]) if silent else ("no metric", untold[0])
    summary = f"{what} names {history.topic(topic)}, which nobody owns"
    unread = None if silent or history.scrapes else "metrics were never read"
    if reason := cases.broken_off(history) or unread:
        return Finding("TEN-4", history.scenario, Verdict.INCONCLUSIVE, f"{summary}, but {reason}", figures=figures)
    return _failed(history, record, summary, figures)


def _delayed(history: History, record: Produced, tenant: str, gap: Gap, figures: dict[str, Figure]) -> Finding:
    summary = f"{tenant} got nothing for {gap.seconds:.1f} s while a topic that nobody owns was written to"
    if doubt := harness.excuse(history, gap.began, gap.seconds, LONGEST_GAP):
        return Finding("TEN-4", history.scenario, Verdict.INCONCLUSIVE, f"{summary}, but {doubt}", figures=figures)
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
