"""ISO-7: when a fault ends its backlog drains, at nearly the rate of the same backlog with no fault, and nobody minds.

Field bugs FB-23 and FB-32: pipelines that survive the fault and never come back, or only as each back-off runs out.
The rate is timed from the first request after the heal, so that how often a sick cluster is probed does not count.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from isolane.conformance.checkers import comparison, faults, harness, membership
from isolane.conformance.checkers.comparison import GAP, CannotJudgeError
from isolane.conformance.checkers.failure import failure
from isolane.conformance.history import History
from isolane.conformance.history_values import Fault, Phase, Produced
from isolane.conformance.verdict import Figure, Finding, Verdict

REQUIREMENT = "ISO-7"

UNDISTURBED = "backlog"
"""The phase in which a backlog is drained with no fault: that of the tenant with most records in it."""

THAWED = "thawed"
"""The event by which the members may begin with it: until then they are frozen."""

HEAL = "heal:"
"""What the name of the phase after a fault begins with; the fault's name follows."""

RATE = 0.8
"""The part of the undisturbed rate that a drain must reach."""

SLACK = 0.5
"""Seconds that any drain may take beyond that, as delays may (ISO-2): what comes first of one that takes less than a
second is noise, and a cap that is at its floor has yet to grow (LIM-2)."""

COMPARABLE = 0.1
"""The part of the undisturbed backlog that another must reach to be timed: small ones are gone in a moment."""


@dataclass(frozen=True, slots=True)
class Drain:
    """How a backlog went away.

    Attributes:
        tenant: Whose it was.
        records: What it was.
        accepted: When each of those that count for the rate was accepted, in order; infinity for those that never were.
        began: When the first request was made for the tenant.
    """

    tenant: str
    records: Sequence[Produced]
    accepted: Sequence[float]
    began: float

    @property
    def timed(self) -> int:
        """How many records count for the rate."""
        return len(self.accepted)

    def rate(self, first: int) -> float:
        """Return at how many records a second the first so many of them were accepted."""
        seconds = self.accepted[first - 1] - self.began
        return first / seconds if seconds > 0 else math.inf


def check(history: History) -> list[Finding]:
    """Return a finding for each fault that was healed; drains are timed where one was timed with no fault."""
    usual = _undisturbed(history)
    healed: dict[Phase, list[Fault]] = {}  # many may be healed at the same time
    for fault in history.faults:
        if (heal := _heal_of(history, fault)) is not None:
            healed.setdefault(heal, []).append(fault)
    findings = [_judge(history, ended, heal, usual) for heal, ended in healed.items()]
    timed = any(finding.verdict is not Verdict.PASS or "drain rate" in finding.figures for finding in findings)
    if usual is not None and not timed:
        reason = f"no fault left a backlog worth timing ({COMPARABLE * usual.timed:.0f} records or more)"
        findings.append(comparison.doubted(history, REQUIREMENT, "", CannotJudgeError(reason)))
    return findings


def backlog(history: History, fault: Fault) -> Drain:
    """Return how what a fault left behind went away.

    Partitions with records in requests that were under way when it ended do not count for the rate: a cluster goes on
    with those as it began, and so does a client, and what is behind them may have to wait.
    """
    requests = [each for each in history.attempts if each.tenant == fault.tenant]
    under_way = (each for each in requests if each.arrived < fault.ended and (each.closed or math.inf) > fault.ended)
    asked = (history.find(record) for each in under_way for record in each.records())
    held = {(record.topic, record.partition) for record in asked if record is not None}
    left = [
        record
        for record in history.by_tenant[fault.tenant]
        if record.scheduled < fault.ended <= history.accepted_at(record)
    ]
    free = [history.accepted_at(record) for record in left if (record.topic, record.partition) not in held]
    began = next((each.arrived for each in requests if each.arrived >= fault.ended), math.inf)
    return Drain(fault.tenant, left, sorted(free), began)


def _undisturbed(history: History) -> Drain | None:
    """Return how the backlog of the phase went away: that of the tenant with most records in it; None: there was none.

    It was there before the members were thawed, so that it did not have to come first.
    """
    phase = history.phase(UNDISTURBED)
    if phase is None:
        return None
    thawed = (each.at for each in history.events if each.name == THAWED and phase.began <= each.at < phase.ended)
    ready = max(thawed, default=phase.began)
    of_phase = {
        tenant: [record for record in records if record.phase == phase.name and record.sent <= ready]
        for tenant, records in history.by_tenant.items()
    }
    tenant = max(of_phase, key=lambda each: len(of_phase[each]))
    requests = (each.arrived for each in history.attempts if each.tenant == tenant)
    began = next((at for at in requests if at >= ready), math.inf)
    records = of_phase[tenant]
    return Drain(tenant, records, sorted(map(history.accepted_at, records)), began)


def _heal_of(history: History, fault: Fault) -> Phase | None:
    phase = history.phase(f"{faults.PREFIX}{fault.name}")
    return history.phase(f"{HEAL}{fault.name}") if phase is not None and faults.kind_of(phase) is not None else None


def _judge(history: History, healed: Sequence[Fault], heal: Phase, usual: Drain | None) -> Finding:
    """Judge faults that were healed together: the last backlog to go, and the largest one for the rate."""
    drains = [backlog(history, fault) for fault in healed]
    drain = max(drains, key=lambda each: each.timed)
    left = [record for each in drains for record in each.records if history.accepted_at(record) == math.inf]
    first = max(each.began - fault.ended for each, fault in zip(drains, healed, strict=True))
    gone = max(_gone(history, each, fault) for each, fault in zip(drains, healed, strict=True))
    whose = f"the backlog of {healed[0].tenant}" if len(healed) == 1 else f"the last backlog ({len(healed)} tenants)"
    figures = {
        "backlog": Figure(sum(len(each.records) for each in drains), "records"),
        "first request after the heal": Figure(first, "s"),
        "recovery": Figure(gone, "s after the heal"),
    }
    if left:
        return _left_behind(history, heal, left, figures)
    try:
        if usual is not None and _alike(drain, usual):
            rate = _rate_of_as_many(drain, usual)
            least = drain.timed / _allowed(drain, rate)
            figures |= {
                "undisturbed drain rate": Figure(rate, "records/s"),
                "drain rate": Figure(drain.rate(drain.timed), "records/s", f"≥ {least:.0f}"),
            }
            if drain.rate(drain.timed) < least:
                return _too_slow(history, heal, drain, rate, figures)
        if heal.seconds < GAP:
            summary = f"{whose} was gone {gone:.1f} s after the heal"
            return Finding(REQUIREMENT, history.scenario, Verdict.PASS, summary, heal.name, figures)
        flows = comparison.healthy(history, frozenset(fault.tenant for fault in healed))
        compared = comparison.compare(history, comparison.control_of(history), heal, flows)
    except CannotJudgeError as reason:
        return comparison.doubted(history, REQUIREMENT, heal.name, reason)
    passed = f"{whose} was gone {gone:.1f} s after the heal, and nobody felt it go"
    return comparison.judged(history, REQUIREMENT, heal.name, compared, passed=passed, more=figures)


def _left_behind(history: History, heal: Phase, left: Sequence[Produced], figures: Mapping[str, Figure]) -> Finding:
    """Return the finding that records of a backlog were never accepted, unless nobody waited for them to the end."""
    if membership.end(history) == math.inf:
        reason = CannotJudgeError(f"records were not accepted ({len(left)}), but the run was broken off")
        return comparison.doubted(history, REQUIREMENT, heal.name, reason)
    sentence = f"records of {history.meta.owners[left[0].topic]} never accepted: {len(left)} of all"
    return failure(history, REQUIREMENT, heal.name, sentence, left[0], figures=figures)


def _gone(history: History, drain: Drain, fault: Fault) -> float:
    """Return how many seconds after the end of the fault nothing was left of its backlog."""
    return max(map(history.accepted_at, drain.records), default=fault.ended) - fault.ended


def _alike(drain: Drain, usual: Drain) -> bool:
    """Tell whether a backlog can be held against the usual one: of records of the same size, and not of too few."""
    return drain.tenant == usual.tenant and drain.timed >= COMPARABLE * usual.timed > 0


def _rate_of_as_many(drain: Drain, usual: Drain) -> float:
    """Return at which rate as many records as this backlog has went when there was no fault: all, when it has more.

    Raises:
        CannotJudgeError: Those of the usual drain never went.
    """
    if usual.accepted[-1] == math.inf:
        raise CannotJudgeError("the backlog that was drained with no fault was not drained")
    return usual.rate(min(drain.timed, usual.timed))


def _allowed(drain: Drain, usual: float) -> float:
    """Return the seconds that a drain may take where as many records go at this rate when there is no fault."""
    return drain.timed / (RATE * usual) + SLACK


def _too_slow(history: History, heal: Phase, drain: Drain, usual: float, figures: Mapping[str, Figure]) -> Finding:
    """Return the finding that a backlog drained slowly, unless that may be for want of processor time.

    A drain takes a second or less of whoever is quick, so that the harness need not be starved to make it late.

    Raises:
        CannotJudgeError: The harness was starved, or late in the drain by as much as that was.
    """
    if (reason := harness.starved(history, heal)) is not None:
        raise CannotJudgeError(reason)
    slowest = max(drain.records, key=history.accepted_at)
    over = drain.accepted[-1] - drain.began - _allowed(drain, usual)
    late, late_with = harness.lateness(history, history.produced, Phase(heal.name, drain.began, drain.accepted[-1]))
    if late >= over:
        excuse = f"the harness was itself late then: {late_with} of {late:.2f} s"
        raise CannotJudgeError(f"the backlog of {drain.tenant} drained {over:.2f} s too late, and {excuse}")
    sentence = f"the backlog of {drain.tenant} drained at {drain.rate(drain.timed) / usual:.2f} of the undisturbed rate"
    return failure(history, REQUIREMENT, heal.name, sentence, slowest, figures=figures)
