"""ISO-1 and ISO-2 on real clusters, as far as searches tell: while one tenant's is wrong, the others' records arrive.

A search finds a document seconds after it was accepted, so rates and delays of milliseconds cannot be held against a
control. A stall can: what a search did not find yet, so long after it was sent, was late for certain. What no search
looked for since then may have been there.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from isolane.conformance.checkers import harness, searches
from isolane.conformance.checkers.cases import Judge
from isolane.conformance.history import History
from isolane.conformance.history_found import NODE
from isolane.conformance.history_values import Fault, Produced
from isolane.conformance.verdict import Figure, Finding

LATE = 5.0
"""Seconds within which a healthy tenant's record must have been accepted, whatever happens to others."""

LONG = 6.0
"""Seconds from which on a fault lasts long enough for anybody to be late."""

_TRIES = {
    "latency": "ISO-1",
    "bandwidth": "ISO-1",
    "slicer": "ISO-1",
    "black_hole": "ISO-2",
    "refuse": "ISO-2",
    "reset": "ISO-2",
    "limit": "ISO-2",
    "node_freeze": "ISO-2",
    NODE: "ISO-2",
}


def check(history: History) -> list[Finding]:
    """Return a finding for each long fault of a timeline that tries what the history declares to judge."""
    if not history.searches:
        return []
    return [
        _judged(history, fault, requirement)
        for fault in history.faults
        if (requirement := _TRIES.get(fault.name.partition("-")[0], "")) in history.meta.judges
        and fault.ended - fault.began >= LONG
    ]


def _judged(history: History, fault: Fault, requirement: str) -> Finding:
    judge = Judge(history, requirement, fault.name)
    healthy = [tenant.name for tenant in history.meta.tenants if tenant.role == "healthy"]
    records = [
        record
        for tenant in healthy
        for record in history.by_tenant[tenant]
        if fault.began <= record.scheduled < fault.ended - LATE
    ]
    latest = {tenant: searches.latest(history, tenant) for tenant in healthy}
    missed = sorted((each for each in records if _delay(history, each) > LATE), key=lambda each: each.scheduled)
    late = [each for each in missed if _is_known(history, each, latest)]
    unknown = [each for each in missed if not _is_known(history, each, latest)]
    figures = {
        "healthy tenants": Figure(len(healthy), "", "≥ 1"),
        "their records meanwhile": Figure(len(records), "", "≥ 1"),
        f"of those not accepted within {LATE:g} s": Figure(len(late), "", "= 0"),
    }
    if not records:
        return judge.doubts("no healthy tenant was sent anything meanwhile", figures)
    if late and (reason := _excuse(history, late)):
        return judge.doubts(f"records of healthy tenants were late ({len(late)}), but {reason}", figures)
    if late:
        return judge.fails("records of healthy tenants that were late meanwhile", late, figures)
    if unknown:
        reason = searches.silence(history, history.meta.owners[unknown[0].topic])
        return judge.doubts(f"records of healthy tenants were not found ({len(unknown)}), but {reason}", figures)
    return judge.passes(f"healthy tenants' records were accepted meanwhile ({len(records)})", figures)


def _delay(history: History, record: Produced) -> float:
    """Return the seconds from when a record was to be sent until it can have been accepted at the earliest."""
    return history.accepted_at(record) - record.scheduled


def _is_known(history: History, record: Produced, latest: Mapping[str, float]) -> bool:
    """Return whether a record was found in the end, or was still looked for when it was late."""
    looked = latest[history.meta.owners[record.topic]]
    return history.accepted_at(record) < math.inf or looked > record.scheduled + LATE


def _excuse(history: History, late: Sequence[Produced]) -> str | None:
    worst = max(_delay(history, each) for each in late)
    return harness.excuse(history, late[0].scheduled, worst, LATE)
