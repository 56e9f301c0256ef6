"""ISO-1 to ISO-3: what the healthy tenants feel while one tenant's cluster is sick.

Each fault phase is held against the phase ``control`` of the same history: the same load with no fault. Every measure
is taken for each healthy tenant, and the worst one counts.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from isolane.conformance.checkers import faults, harness, rates
from isolane.conformance.checkers.faults import FaultKind
from isolane.conformance.checkers.story import story
from isolane.conformance.history import History
from isolane.conformance.history_values import Phase, Produced
from isolane.conformance.verdict import Figure, Finding, Verdict

CONTROL = "control"
WINDOW = 5.0
STEP = 0.1
RATE = 0.9
GAP = 2.0
FAIRNESS = 0.95
DELAY_FACTOR = 3.0
DELAY_ALLOWANCE = 0.5
"""The bounds of ISO (requirements): seconds, shares and factors."""

FEWEST = 20
"""Records a tenant must be offered in a window: with fewer, one record more or less decides."""

STEADY = 0.5
"""The share that the control's own worst window must reach to be a measure for anything."""


@dataclass(frozen=True, slots=True)
class Reading:
    """What one healthy tenant felt in one phase.

    Attributes:
        tenant: Its name.
        rate: Records accepted a second, over the whole phase.
        share: Records accepted for each one scheduled, over the whole phase.
        window: Its worst window.
        p99: The delay in seconds, from the scheduled time, that 1 % of the phase's records exceeded.
        gap: The longest time without an acceptance while records that Kafka had acknowledged were pending.
        slowest: The record of the phase that took longest.
    """

    tenant: str
    rate: float
    share: float
    window: rates.Window
    p99: float
    gap: rates.Gap
    slowest: Produced


@dataclass(frozen=True, slots=True)
class Comparison:
    """One healthy tenant under a fault, beside its own control."""

    control: Reading
    fault: Reading

    @property
    def ratio(self) -> float:
        """The worst window's share, relative to the control's worst; a control that caught up counts as 1."""
        return self.fault.window.share / min(1.0, self.control.window.share)

    @property
    def delay_bound(self) -> float:
        """The p99 delay in seconds that is allowed."""
        return max(DELAY_FACTOR * self.control.p99, self.control.p99 + DELAY_ALLOWANCE)

    def breaches(self) -> list[str]:
        """Return what breaks a bound, in words."""
        found = []
        if self.ratio < RATE:
            found.append(
                f"its rate in the worst {self.fault.window.seconds:g} s fell to {self.ratio:.2f} of the control's"
            )
        if self.fault.p99 > self.delay_bound:
            found.append(f"its p99 delay was {_seconds(self.fault.p99)} (allowed {self.delay_bound:.2f} s)")
        if self.fault.gap.seconds >= GAP:
            found.append(f"it had nothing accepted for {self.fault.gap.seconds:.1f} s while records were pending")
        return found


class _CannotJudgeError(Exception):
    """Ends the judging of a phase: the message says what is missing."""


def check(history: History) -> list[Finding]:
    """Return a finding for each fault phase whose kind tries a requirement."""
    return [_judge(history, phase, kind) for phase in history.phases if (kind := faults.kind_of(phase)) is not None]


def read(history: History, phase: Phase, tenant: str) -> Reading | None:
    """Return what a tenant felt in a phase; None when too little was scheduled for it to say.

    A record counts with its true delay where it was *scheduled*, even when accepted long after the phase, and with an
    infinite one when it never was; in the control only with what passed of its delay before the control's end, since
    the fault that follows must not set the bound that it is held against. For windows acceptances count where they
    *happened*.
    """
    until = phase.ended if phase.name == CONTROL else math.inf
    records = history.by_tenant[tenant]
    times = [(record, history.accepted_at(record)) for record in records]
    scheduled = [record.scheduled for record in records]
    accepted = sorted(at for _, at in times if at < math.inf)
    window = rates.worst_window(scheduled, accepted, phase.began, phase.ended, length=WINDOW, step=STEP, least=FEWEST)
    if window is None:
        return None
    delays = [
        (min(at, until) - record.scheduled, record)
        for record, at in times
        if phase.began <= record.scheduled < phase.ended
    ]
    done = rates.count(accepted, phase.began, phase.ended)
    return Reading(
        tenant=tenant,
        rate=done / phase.seconds,
        share=done / len(delays),
        window=window,
        p99=rates.quantile((delay for delay, _ in delays), 0.99),
        gap=rates.longest_gap(((record.acked, at) for record, at in times), phase.began, phase.ended),
        slowest=max(delays, key=lambda each: each[0])[1],
    )


def _judge(history: History, phase: Phase, kind: FaultKind) -> Finding:
    try:
        bites = _bites(history, phase, kind)
        comparisons = _compare(history, phase)
    except _CannotJudgeError as reason:
        return Finding(kind.requirement, history.scenario, Verdict.INCONCLUSIVE, str(reason), case=phase.name)
    fairness = rates.jain([each.fault.share for each in comparisons])
    figures = _figures(comparisons, fairness) | {"fault bites": Figure(bites, kind.bite, "≥ 1")}
    worst = max(comparisons, key=lambda each: (len(each.breaches()), each.fault.p99, -each.ratio))
    breaches = worst.breaches()
    if breaches or fairness < FAIRNESS:
        unfair = [f"Jain's index over the healthy tenants was {fairness:.2f}"] if fairness < FAIRNESS else []
        slowest = worst.fault.slowest
        return Finding(
            kind.requirement,
            history.scenario,
            Verdict.FAIL,
            f"healthy tenant {worst.fault.tenant}: {'; '.join(breaches + unfair)}",
            case=phase.name,
            figures=figures,
            evidence=(slowest.token,),
            story=story(history, slowest),
        )
    summary = f"none of the healthy tenants ({len(comparisons)}) felt {phase.name} (bites: {bites})"
    return Finding(kind.requirement, history.scenario, Verdict.PASS, summary, case=phase.name, figures=figures)


def _bites(history: History, phase: Phase, kind: FaultKind) -> int:
    if not phase.complete:
        raise _CannotJudgeError(f"the run ended in {phase.name}")
    if phase.seconds < GAP:
        raise _CannotJudgeError(f"{phase.name} lasted {phase.seconds:.1f} s; {GAP:g} s are the least")
    sick = faults.tenants_in(history, phase)
    if not sick:
        raise _CannotJudgeError(f"no fault was injected in {phase.name}")
    bites = min(kind.bites(history, phase, tenant) for tenant in sick)
    if not bites:
        raise _CannotJudgeError(f"the fault of {phase.name} did not bite: no {kind.bite}")
    return bites


def _compare(history: History, phase: Phase) -> list[Comparison]:
    control = history.phase(CONTROL)
    if control is None or control.seconds < GAP:
        raise _CannotJudgeError(f"there is no control of {GAP:g} s or more to compare with")
    for stretch in (control, phase):
        reason = harness.starved(history, stretch)
        if reason is not None:
            raise _CannotJudgeError(reason)
    sick = faults.tenants_in(history, phase)
    healthy = [tenant.name for tenant in history.meta.tenants if tenant.role == "healthy" and tenant.name not in sick]
    if not healthy:
        raise _CannotJudgeError("the scenario has no healthy tenant")
    return [_compare_tenant(history, control, phase, tenant) for tenant in healthy]


def _compare_tenant(history: History, control: Phase, phase: Phase, tenant: str) -> Comparison:
    readings = []
    for stretch in (control, phase):
        reading = read(history, stretch, tenant)
        if reading is None:
            raise _CannotJudgeError(
                f"tenant {tenant} was offered fewer than {FEWEST} records in any {WINDOW:g} s of {stretch.name}"
            )
        readings.append(reading)
    before, during = readings
    if before.window.share < STEADY or before.gap.seconds >= GAP:
        raise _CannotJudgeError(
            f"tenant {tenant} was not steady in the control: in its worst {before.window.seconds:g} s "
            f"{before.window.share:.2f} of the offered records were accepted, "
            f"p99 delay {_seconds(before.p99)}, longest gap {before.gap.seconds:.1f} s"
        )
    return Comparison(before, during)


def _figures(comparisons: Sequence[Comparison], fairness: float) -> dict[str, Figure]:
    rate = min(comparisons, key=lambda each: each.ratio)
    delay = max(comparisons, key=lambda each: each.fault.p99 - each.delay_bound)
    gap = max(comparisons, key=lambda each: each.fault.gap.seconds)
    seconds = min(rate.fault.window.seconds, rate.control.window.seconds)
    return {
        "control rate": Figure(sum(each.control.rate for each in comparisons), "records/s"),
        "rate": Figure(sum(each.fault.rate for each in comparisons), "records/s"),
        f"worst {seconds:.3g} s window / control's": Figure(rate.ratio, "", f"≥ {RATE:g}"),
        "control p99 delay": Figure(delay.control.p99, "s"),
        "p99 delay": Figure(delay.fault.p99, "s", f"≤ {delay.delay_bound:.2f}"),
        "longest gap": Figure(gap.fault.gap.seconds, "s", f"< {GAP:g}"),
        "Jain's index": Figure(fairness, "", f"≥ {FAIRNESS:g}"),
    }


def _seconds(delay: float) -> str:
    return "endless: records were never accepted" if delay == math.inf else f"{delay:.2f} s"
