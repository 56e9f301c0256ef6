"""LIM-5: at the cap a flush waits, is passed by few, and nothing is dropped."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass

from isolane.conformance.checkers import cases, slots
from isolane.conformance.checkers.cases import Judge
from isolane.conformance.checkers.comparison import CONTROL
from isolane.conformance.history import History
from isolane.conformance.history_ledger import Attempt
from isolane.conformance.history_values import Phase, Produced
from isolane.conformance.verdict import Figure, Finding

TURNS = 2
"""How often each of a tenant's partitions may have its turn before a waiter has its own."""


@dataclass(frozen=True, slots=True)
class Waiter:
    """A record that waited for a slot, and how many requests came before it that held only later records."""

    record: Produced
    passed: int


def check(history: History) -> list[Finding]:
    """Return the finding on LIM-5 where the scenario declares it: tenants that are saturated in the control."""
    if "LIM-5" not in history.meta.judges:
        return []
    judge = Judge(history, "LIM-5")
    control = history.phase(CONTROL)
    waiters = {
        tenant.name: waiters_of(history, tenant.name, control)
        for tenant in history.meta.tenants
        if control and slots.saturated(history, tenant.name, control.began + control.seconds / 2, control.ended)
    }
    if not any(waiters.values()):
        return [judge.doubts("no record came in the control for a tenant with more to send than its slots", {})]
    ceiling = slots.limit(history, "cap_ceiling") or 0
    allowed = {tenant: TURNS * _partitions(history, tenant) + ceiling for tenant in waiters}
    passed = [each.record for tenant in waiters for each in waiters[tenant] if each.passed > allowed[tenant]]
    left = [
        each.record for tenant in waiters for each in waiters[tenant] if history.finished_at(each.record) == math.inf
    ]
    figures = {
        "records that waited at the cap": Figure(sum(map(len, waiters.values()))),
        "requests that passed one of them at most": Figure(
            max(each.passed for found in waiters.values() for each in found), "", f"≤ {max(allowed.values())}"
        ),
        "of them never finished": Figure(len(left), "", "= 0"),
    }
    if passed:
        return [judge.fails("records that were passed again and again by later ones", passed, figures)]
    if left and (reason := cases.undecided(history, left)):
        return [judge.doubts(f"records are not finished ({len(left)}), but {reason}", figures)]
    if left:
        return [judge.fails("records that waited at the cap and were never finished", left, figures)]
    return [judge.passes("whoever waited at the cap had its turn, and nothing was dropped", figures)]


def waiters_of(history: History, tenant: str, phase: Phase) -> list[Waiter]:
    """Return the records of a phase with the number of requests that passed each of them."""
    youngest = [(attempt.arrived, _oldest(history, attempt)) for attempt in slots.attempts_of(history, tenant)]
    arrivals = [arrived for arrived, _ in youngest]
    found = []
    for record in history.by_tenant[tenant]:
        if phase.began <= record.acked < phase.ended:
            sent = slots.first_sent(history, record)
            between = youngest[bisect_right(arrivals, record.acked) : bisect_right(arrivals, sent)]
            found.append(Waiter(record, sum(oldest > record.acked for at, oldest in between if at < sent)))
    return found


def _oldest(history: History, attempt: Attempt) -> float:
    """Return when the oldest record of a request was acknowledged by Kafka."""
    records: Sequence[Produced] = cases.records(history, attempt.tokens())
    return min((record.acked for record in records), default=-math.inf)


def _partitions(history: History, tenant: str) -> int:
    return sum(topic.partitions for topic in history.meta.topics if topic.tenant == tenant)
