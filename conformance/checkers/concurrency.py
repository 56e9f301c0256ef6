"""LIM-6 and LIM-7: how many requests are open at clusters while another is sick, and after its own sickness."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

from isolane.conformance.checkers import caps, cases, faults, harness, slots
from isolane.conformance.checkers.caps import Sample
from isolane.conformance.checkers.cases import Judge
from isolane.conformance.checkers.comparison import CONTROL
from isolane.conformance.history import History
from isolane.conformance.history_values import Fault, Phase
from isolane.conformance.verdict import Figure, Finding

KEPT = 0.8
"""The part of its concurrency that a tenant must keep, or find again."""

SETTLING = 1.0
"""Seconds at the begin of a phase that belong to the phase before."""

REQUESTS = 20
"""For each slot of the ceiling, the requests within which a cap must have grown again."""

FEWEST_BAD = 3
"""Requests, all of them refused, that make a spell of push-back."""


def check(history: History) -> list[Finding]:
    """Return the findings on LIM-6 and LIM-7 where the scenario declares them."""
    if not slots.single_life(history):
        return []
    found = []
    if "LIM-6" in history.meta.judges:
        found.append(_independence(history))
    if "LIM-7" in history.meta.judges:
        found += _regrowth(history)
    return found


@dataclass(frozen=True, slots=True)
class Share:
    """The median concurrency of a tenant in the control, and in a phase in which another one is sick."""

    tenant: str
    phase: Phase
    control: float
    fault: float

    @property
    def kept(self) -> float:
        """What it kept of it."""
        return self.fault / self.control


def _independence(history: History) -> Finding:
    judge = Judge(history, "LIM-6")
    shares = list(_shares(history))
    worst = min(shares, key=lambda share: share.kept, default=None)
    if worst is None:
        return judge.doubts("no saturated tenant beside a sick one", {})
    figures = {
        "concurrency in the control": Figure(worst.control),
        f"in {worst.phase.name}": Figure(worst.fault, "", f"≥ {KEPT * worst.control:.3g}"),
    }
    for phase in dict.fromkeys(share.phase for share in shares):
        if reason := harness.starved(history, phase):
            return judge.doubts(reason, figures)
    if worst.kept < KEPT:
        waited = [
            record
            for record in history.by_tenant[worst.tenant]
            if record.acked < worst.phase.ended and worst.phase.began + SETTLING <= slots.first_sent(history, record)
        ]
        return judge.fails(f"records of {worst.tenant} that waited while only another tenant was sick", waited, figures)
    return judge.passes("the concurrency of the others stayed what it was in the control", figures)


def _shares(history: History) -> Iterator[Share]:
    control = history.phase(CONTROL)
    if control is None:
        return
    for phase in history.phases:
        sick = faults.tenants_in(history, phase)
        for tenant in [each.name for each in history.meta.tenants if sick and each.name not in sick]:
            medians = [_median(history, tenant, each) for each in (control, phase)]
            if medians[0] and medians[1] and medians[0] > 1:
                yield Share(tenant, phase, medians[0], medians[1])


def _median(history: History, tenant: str, phase: Phase) -> float | None:
    """Return how many requests are open, by time; None where the tenant had too little to send to tell."""
    began = phase.began + SETTLING
    if not slots.saturated(history, tenant, began, phase.ended):
        return None
    return slots.percentile(slots.attempts_of(history, tenant), began, phase.ended, 0.5)


def _regrowth(history: History) -> list[Finding]:
    ceiling = slots.limit(history, "cap_ceiling")
    if ceiling is None:
        return [Judge(history, "LIM-7").doubts("no cap_ceiling is promised: nothing to grow to", {})]
    spells = [fault for fault in history.faults if is_spell(history, fault)]
    if not spells:
        return [Judge(history, "LIM-7").doubts("no tenant went through a spell in which everything was refused", {})]
    return [_regrown(history, spell, ceiling) for spell in spells]


def is_spell(history: History, fault: Fault) -> bool:
    """Return whether everything was refused from the first refusal in the fault to the last, and enough of it.

    What came at its very edges may have met the cluster as it was before, or after.
    """
    samples = [
        caps.sample_of(attempt, slots.seconds(history, "slow_after", 2.0))
        for attempt in cases.attempts(history, fault)
        if attempt.answered is not None
    ]
    refused = [number for number, sample in enumerate(samples) if sample is Sample.REFUSED]
    return len(refused) >= FEWEST_BAD and len(refused) == refused[-1] - refused[0] + 1


def _regrown(history: History, spell: Fault, ceiling: int) -> Finding:
    judge = Judge(history, "LIM-7", f"after {spell.name} at {spell.tenant}")
    if spell.ended == math.inf:
        return judge.doubts("the run ended before the spell did", {})
    admits = _admits(history, spell)
    attempts = slots.attempts_of(history, spell.tenant)
    window = [attempt for attempt in attempts if attempt.arrived >= spell.ended][: REQUESTS * ceiling]
    ended = window[-1].arrived if window else history.last
    busy = [each.name for each in history.meta.tenants if slots.saturated(history, each.name, spell.ended, ended)]
    reach = KEPT * min(admits or ceiling, slots.fair_part(history, ceiling, len(busy)))
    reached = slots.percentile(attempts, spell.ended, ended, 0.9)
    failed = sum(attempt.status == 503 for attempt in window)
    figures = {
        "requests after the spell": Figure(len(window), "", f"{REQUESTS * ceiling} count"),
        "of them failed (503)": Figure(failed),
        "the cluster admits": Figure(admits or ceiling, "at once"),
        "saturated tenants": Figure(len(busy)),
        "90th percentile of concurrency": Figure(reached, "", f"≥ {reach:.3g}"),
    }
    if reached >= reach:
        return judge.passes(f"the cap grew again within {len(window)} requests", figures)
    if len(window) < REQUESTS * ceiling:
        return judge.doubts(f"only {len(window)} requests came after the spell", figures)
    if spell.tenant not in busy:
        return judge.doubts(f"{spell.tenant} had too little to send after the spell to need its slots", figures)
    waited = [
        record
        for record in history.by_tenant[spell.tenant]
        if record.acked < ended and spell.ended <= slots.first_sent(history, record)
    ]
    return judge.fails("records that waited while the cap did not grow again", waited, figures)


def _admits(history: History, spell: Fault) -> int | None:
    """Return how many the cluster admits at once after a spell; None where it admits all."""
    for fault in history.faults:
        admits = cases.part(fault, "admit")
        if fault.tenant == spell.tenant and spell.ended <= fault.began <= spell.ended + 1.0 and isinstance(admits, int):
            return admits
    return None
