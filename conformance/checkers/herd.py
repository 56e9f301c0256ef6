"""ISO-10: when every cluster fails and heals, all tenants come back, and no cluster is met by a herd.

When everything fails at once every retry timer starts at the same moment; without caps and jitter everything that
waited is sent at the same moment, too (FB-21).
"""

from __future__ import annotations

import math
from bisect import bisect_right, insort
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping

from isolane.conformance.checkers import comparison, faults, harness
from isolane.conformance.checkers.comparison import CannotJudgeError
from isolane.conformance.checkers.failure import failure
from isolane.conformance.checkers.faults import KINDS, FaultKind
from isolane.conformance.checkers.recovery import HEAL
from isolane.conformance.history import History
from isolane.conformance.history_values import Phase, Produced
from isolane.conformance.verdict import Figure, Finding, Verdict

OUTAGE = FaultKind("ISO-10", KINDS["pushback"].bites, "requests refused by each cluster")
"""The kind of fault in which all clusters fail."""

CROWD = 2
"""How many times as many requests may be open at a cluster that returns as were with no fault before."""

FEW = 4
"""Requests open at once that are no herd, whatever there was before."""


def check(history: History) -> list[Finding]:
    """Return a finding for each outage of all clusters that was healed."""
    return [
        _judge(history, phase, heal, kind)
        for phase in history.phases
        if (kind := faults.kind_of(phase, {"all": OUTAGE})) is not None
        and (heal := history.phase(phase.name.replace(faults.PREFIX, HEAL))) is not None
    ]


def _judge(history: History, phase: Phase, heal: Phase, kind: FaultKind) -> Finding:
    try:
        sick, bites = faults.bitten(history, phase, kind)
        firsts = _first_requests(history, heal, sick)
    except CannotJudgeError as reason:
        return comparison.doubted(history, kind.requirement, phase.name, reason)
    before, after = _most_open(history, history.began, phase.began), _most_at_once(history, heal)
    allowed = {tenant: max(FEW, CROWD * before[tenant]) for tenant in sick}
    crowded = max(sick, key=lambda tenant: after[tenant] / allowed[tenant])
    left = [record for tenant in sorted(sick) for record in _left(history, heal, tenant)]
    figures = {
        "tenants": Figure(len(sick)),
        "first request after the heal": Figure(min(firsts.values()) - heal.began, "s"),
        "time between the first requests to the first and the last cluster": Figure(_spread(firsts), "s"),
        "requests open at once at a cluster": Figure(after[crowded], "", f"≤ {allowed[crowded]}"),
        "records left behind": Figure(len(left), "", "= 0"),
        "fault bites": bites,
    }
    if left:
        sentence = f"records never accepted after the heal: {len(left)}"
        return failure(history, kind.requirement, phase.name, sentence, left[0], figures=figures)
    if after[crowded] > allowed[crowded]:
        sentence = f"{crowded}'s cluster was met by {after[crowded]} requests at once (no fault: {before[crowded]})"
        waited = _waiting(history, heal, crowded)
        return failure(history, kind.requirement, phase.name, sentence, waited, figures=figures)
    summary = f"all tenants ({len(sick)}) came back, the last one {_spread(firsts):.1f} s after the first"
    return Finding(kind.requirement, history.scenario, Verdict.PASS, summary, phase.name, figures)


def _first_requests(history: History, heal: Phase, sick: faults.Tenants) -> Mapping[str, float]:
    """Return when each tenant's cluster got its first request after the heal; those that got none are absent."""
    reason = harness.starved(history, heal)
    if reason is not None:
        raise CannotJudgeError(reason)
    firsts: dict[str, float] = {}
    for attempt in history.attempts:
        if attempt.arrived >= heal.began and attempt.tenant in sick:
            firsts.setdefault(attempt.tenant, attempt.arrived)
    if not firsts:
        raise CannotJudgeError(f"no cluster got any request after {heal.name} began")
    return firsts


def _spread(firsts: Mapping[str, float]) -> float:
    return max(firsts.values()) - min(firsts.values())


def _most_open(history: History, began: float, ended: float) -> Counter[str]:
    most: Counter[str] = Counter()
    for attempt in history.attempts:
        if began <= attempt.arrived < ended:
            most[attempt.tenant] = max(most[attempt.tenant], attempt.concurrent)
    return most


def _most_at_once(history: History, heal: Phase) -> Counter[str]:
    """Return the most requests that were open at each cluster after the heal, and had not become so many one by one.

    One more with each answer that accepts something is how a limiter finds back (LIM-2).
    """
    accepted: defaultdict[str, list[float]] = defaultdict(list)
    for attempt in history.attempts:
        if attempt.answered is not None and attempt.answered >= heal.began and attempt.accepts():
            insort(accepted[attempt.tenant], attempt.answered)
    most: Counter[str] = Counter()
    for attempt in history.attempts:
        if heal.began <= attempt.arrived < heal.ended:
            grown = 1 + bisect_right(accepted[attempt.tenant], attempt.arrived)
            at_once = attempt.concurrent if attempt.concurrent > grown else 1
            most[attempt.tenant] = max(most[attempt.tenant], at_once)
    return most


def _left(history: History, heal: Phase, tenant: str) -> Iterator[Produced]:
    for record in history.by_tenant[tenant]:
        if record.scheduled < heal.began and history.accepted_at(record) == math.inf:
            yield record


def _waiting(history: History, heal: Phase, tenant: str) -> Produced:
    """Return the record of a tenant that had waited longest when its cluster returned."""
    records = history.by_tenant[tenant]
    return next((each for each in records if each.scheduled < heal.began <= history.accepted_at(each)), records[0])
