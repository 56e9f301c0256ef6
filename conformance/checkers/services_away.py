"""LIF-4: the broker, or a cluster, is away at the start or later: the process waits, and recovers by itself."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

from isolane.conformance.checkers import membership
from isolane.conformance.checkers.cases import Judge, Late
from isolane.conformance.checkers.membership import JOINED
from isolane.conformance.checkers.partitions import discovery_bound
from isolane.conformance.history import History
from isolane.conformance.history_values import Produced
from isolane.conformance.verdict import Figure, Finding

BROKER = "the broker"
AWAY = "away"
"""What faults of clusters are called that are gone when the process starts, or later."""

RECOVERY = 15.0
"""Seconds beyond those of a rebalance in which a process must have found what is back."""


@dataclass(frozen=True, slots=True)
class Absence:
    """Something that was away: what, from when to when, and whether a process was started meanwhile."""

    what: str
    tenant: str | None
    began: float
    ended: float
    at_start: bool

    @property
    def case(self) -> str:
        """What this is called."""
        return f"{self.what}, {'at the start' if self.at_start else 'later'}"


def check(history: History) -> list[Finding]:
    """Return the findings on LIF-4, one for each absence, where the scenario declares it."""
    if "LIF-4" not in history.meta.judges:
        return []
    found = [_recovered(history, each) for each in absences(history)]
    if BROKER not in {each.what for each in absences(history)}:
        found.append(Judge(history, "LIF-4", BROKER).doubts("Kafka could not be kept from the members", {}))
    return found


def absences(history: History) -> Iterator[Absence]:
    """Yield what was away, in order."""
    events = [event for event in history.events if event.kind == "broker"]
    for down in (event for event in events if event.name == "down"):
        up = next((event.at for event in events if event.name == "up" and event.at > down.at), math.inf)
        yield Absence(BROKER, None, down.at, up, _is_start(history, down.at, up))
    for fault in history.faults:
        if fault.name == AWAY:
            at_start = _is_start(history, fault.began, fault.ended)
            yield Absence("a cluster", fault.tenant, fault.began, fault.ended, at_start)


def _is_start(history: History, began: float, ended: float) -> bool:
    return any(event.name == JOINED and began <= event.at < ended for event in membership.processes(history))


def _recovered(history: History, absence: Absence) -> Finding:
    judge = Judge(history, "LIF-4", absence.case)
    bound = discovery_bound(history) + RECOVERY
    waiting = [
        record
        for tenant, records in history.by_tenant.items()
        if absence.tenant in {None, tenant}
        for record in records
        if record.acked < absence.ended < history.finished_at(record)
    ]
    took = max((history.finished_at(record) for record in waiting), default=absence.ended) - absence.ended
    events = membership.processes(history)
    ended = [
        event
        for event in events
        if event.name == "exited" and absence.began <= event.at < absence.ended + min(took, bound)
    ]
    figures = {
        "records that waited": Figure(len(waiting), "", "≥ 1"),
        "seconds until the last of them was finished": Figure(took, "s", f"≤ {bound:g}"),
        "processes that ended by themselves": Figure(len(ended), "", "= 0"),
    }
    if ended:
        return judge.violates(f"the process ended by itself while {absence.what} was away, or after", figures)
    late: list[Produced] = [each for each in waiting if history.finished_at(each) > absence.ended + bound]
    if late and history.last <= absence.ended + bound:
        return judge.doubts("the run ended before all that waited was due", figures)
    if late:
        what = f"records not finished {bound:g} s after {absence.what} was back"
        return judge.fails(what, late, figures, [Late(absence.ended, took, bound)])
    if not waiting:
        return judge.doubts(f"nothing waited for {absence.what}", figures)
    restarted = any(event.name == JOINED and absence.ended <= event.at < absence.ended + took for event in events)
    if restarted:
        return judge.doubts("a process was started before everything had recovered", figures)
    return judge.passes(f"everything that waited was finished {took:.1f} s after {absence.what} was back", figures)
