"""ISO-7: when a fault ends its backlog drains, at nearly the rate of the same backlog with no fault, and nobody minds.

Field bugs FB-23 and FB-32: pipelines that survive the fault and never come back, or only as each back-off runs out.
The rate is timed from the first request after the heal, so that how often a sick cluster is probed does not count.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from isolane.conformance.checkers import comparison, faults, harness
from isolane.conformance.checkers.comparison import GAP, CannotJudgeError
from isolane.conformance.checkers.failure import failure
from isolane.conformance.history import History
from isolane.conformance.history_values import Fault, Phase, Produced
from isolane.conformance.tokens import ITEM_BITS
from isolane.conformance.verdict import Figure, Finding, Verdict

REQUIREMENT = "ISO-7"

UNDISTURBED = "backlog"
"""The phase in which a backlog is drained with no fault: that of the tenant with most records in it."""

HEAL = "heal:"
"""What the name of the phase after a fault begins with; the fault's name follows."""

RATE = 0.8
"""The part of the undisturbed rate that a drain must reach."""

COMPARABLE = 0.5
"""The part of the undisturbed backlog that another must reach to be timed: small ones are gone in a moment."""


@dataclass(frozen=True, slots=True)
class Drain:
    """How a backlog went away.

    Attributes:
        records: What it was.
        timed: How many of them count for the rate.
        began: When the first request was made for the tenant.
        ended: When the last of those that count was accepted; infinity when any never was.
    """

    records: Sequence[Produced]
    timed: int
    began: float
    ended: float

    @property
    def rate(self) -> float:
        """Records a second."""
        return self.timed / (self.ended - self.began) if self.ended > self.began else math.inf


def check(history: History) -> list[Finding]:
    """Return a finding for each fault that was healed; drains are timed where one was timed with no fault."""
    undisturbed = history.phase(UNDISTURBED)
    usual = None if undisturbed is None else _undisturbed(history, undisturbed)
    healed = [(fault, heal) for fault in history.faults if (heal := _heal_of(history, fault)) is not None]
    findings = [_judge(history, fault, heal, usual) for fault, heal in healed]
    timed = any(finding.verdict is not Verdict.PASS or "drain rate" in finding.figures for finding in findings)
    if usual is not None and not timed:
        reason = f"no fault left a backlog worth timing ({COMPARABLE * usual.timed:.0f} records or more)"
        findings.append(comparison.doubted(history, REQUIREMENT, "", CannotJudgeError(reason)))
    return findings


def backlog(history: History, fault: Fault) -> Drain:
    """Return how what a fault left behind went away.

    Records in requests that were under way when it ended do not count for the rate: a cluster goes on with those as it
    began, and so does a client.
    """
    requests = [each for each in history.attempts if each.tenant == fault.tenant]
    under_way = (each for each in requests if each.arrived < fault.ended and (each.closed or math.inf) > fault.ended)
    held = {token >> ITEM_BITS for each in under_way for token in each.tokens() if token is not None}
    left = [
        record
        for record in history.by_tenant[fault.tenant]
        if record.scheduled < fault.ended <= history.accepted_at(record)
    ]
    free = [record for record in left if record.record not in held]
    began = next((each.arrived for each in requests if each.arrived >= fault.ended), math.inf)
    return Drain(left, len(free), began, max(map(history.accepted_at, free), default=began))


def _undisturbed(history: History, phase: Phase) -> Drain:
    """Return how the backlog of the phase went away: that of the tenant with most records in it."""
    of_phase = {
        tenant: [record for record in records if record.phase == phase.name]
        for tenant, records in history.by_tenant.items()
    }
    tenant = max(of_phase, key=lambda each: len(of_phase[each]))
    requests = (each.arrived for each in history.attempts if each.tenant == tenant)
    began = next((at for at in requests if at >= phase.began), math.inf)
    records = of_phase[tenant]
    return Drain(records, len(records), began, max(map(history.accepted_at, records), default=began))


def _heal_of(history: History, fault: Fault) -> Phase | None:
    phase = history.phase(f"{faults.PREFIX}{fault.name}")
    return history.phase(f"{HEAL}{fault.name}") if phase is not None and faults.kind_of(phase) is not None else None


def _judge(history: History, fault: Fault, heal: Phase, usual: Drain | None) -> Finding:
    drain = backlog(history, fault)
    left = [record for record in drain.records if history.accepted_at(record) == math.inf]
    gone = max(map(history.accepted_at, drain.records), default=fault.ended)
    figures = {
        "backlog": Figure(len(drain.records), "records"),
        "first request after the heal": Figure(drain.began - fault.ended, "s"),
        "recovery": Figure(gone - fault.ended, "s after the heal"),
    }
    try:
        if left:
            sentence = f"records of {fault.tenant} never accepted: {len(left)}"
            return failure(history, REQUIREMENT, heal.name, sentence, left[0], figures=figures)
        if usual is not None and drain.timed >= COMPARABLE * usual.timed:
            figures |= _timed(history, heal, drain, usual)
            if drain.rate < RATE * usual.rate:
                slowest = max(drain.records, key=history.accepted_at)
                part = drain.rate / usual.rate
                sentence = f"the backlog of {fault.tenant} drained at {part:.2f} of the undisturbed rate"
                return failure(history, REQUIREMENT, heal.name, sentence, slowest, figures=figures)
        if heal.seconds < GAP:
            summary = f"the backlog of {fault.tenant} was gone {gone - fault.ended:.1f} s after the heal"
            return Finding(REQUIREMENT, history.scenario, Verdict.PASS, summary, heal.name, figures)
        flows = comparison.healthy(history, frozenset({fault.tenant}))
        compared = comparison.compare(history, comparison.control_of(history), heal, flows)
    except CannotJudgeError as reason:
        return comparison.doubted(history, REQUIREMENT, heal.name, reason)
    passed = f"the backlog of {fault.tenant} was gone {gone - fault.ended:.1f} s after the heal, and nobody felt it go"
    return comparison.judged(history, REQUIREMENT, heal.name, compared, passed=passed, more=figures)


def _timed(history: History, heal: Phase, drain: Drain, usual: Drain) -> dict[str, Figure]:
    """Return the figures of a drain that is held against the usual one.

    Raises:
        CannotJudgeError: The harness was starved, or the usual drain never ended.
    """
    reason = harness.starved(history, heal)
    if usual.ended == math.inf:
        reason = "the backlog that was drained with no fault was not drained"
    if reason is not None:
        raise CannotJudgeError(reason)
    return {
        "undisturbed drain rate": Figure(usual.rate, "records/s"),
        "drain rate": Figure(drain.rate, "records/s", f"≥ {RATE * usual.rate:.0f}"),
    }
