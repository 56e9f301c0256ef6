"""The account of a demo: what each mode, and so each change, brought, computed from what was measured."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

from isolane.conformance.demo import JUDGED, Lived, Mode
from isolane.conformance.history import History
from isolane.conformance.history_values import Fault
from isolane.conformance.report.effect import Effect, effect
from isolane.conformance.report.series import short
from isolane.conformance.verdict import Finding, Verdict

RATE_CHANGED = 0.1
"""From which difference on, as a part of the calm rate, a rate has changed."""

STALL_CHANGED = 0.25
"""From which difference on, as a part of what it was before, a stall has changed."""


@dataclass(frozen=True, slots=True)
class Account:
    """What is to be told of one mode.

    Attributes:
        mode: The mode.
        history: What it lived through.
        fault: The fault in it.
        healthy: The full name of the tenant that was healthy.
        sick: The full name of the other.
        effects: What the fault did to each, by full name.
        finding: Whether the healthy tenant felt it, as the suite judges.
        sentence: What the mode brought, compared with the one before it.
        warnings: What else the suite found wrong.
    """

    mode: Mode
    history: History
    fault: Fault
    healthy: str
    sick: str
    effects: dict[str, Effect]
    finding: Finding
    sentence: str
    warnings: tuple[str, ...]

    @property
    def effect(self) -> Effect:
        """What the fault did to the healthy tenant."""
        return self.effects[self.healthy]


def accounts(modes: Iterable[Lived]) -> list[Account]:
    """Tell of the modes in order, each compared with the one before.

    Raises:
        NothingToMeasureError: A history lacks what a comparison takes.
    """
    told: list[Account] = []
    for lived in modes:
        told.append(_account(lived, told[-1] if told else None))
    return told


def seconds(value: float) -> str:
    """Return seconds for people; "never" for infinity."""
    if value == math.inf:
        return "never"
    return f"{value:.2f} s" if value < 1 else f"{value:.1f} s"


def percent(part: float) -> str:
    """Return a part of something for people."""
    return f"{part:.0%}".replace("%", " %")


def _account(lived: Lived, before: Account | None) -> Account:
    history = lived.history
    fault = history.faults[0]
    healthy = next(tenant.name for tenant in history.meta.tenants if tenant.role == "healthy")
    effects = {tenant.name: effect(history, tenant.name, fault) for tenant in history.meta.tenants}
    finding = next(each for each in lived.result.findings if each.requirement == JUDGED)
    names = short(history, healthy), short(history, fault.tenant)
    brought = f"{lived.mode.name} {_verb(finding, effects[healthy], before, names)}"
    return Account(
        mode=lived.mode,
        history=history,
        fault=fault,
        healthy=healthy,
        sick=fault.tenant,
        effects=effects,
        finding=finding,
        sentence=f"{brought}: {_figures(effects, healthy, before, names[0])}.",
        warnings=tuple(
            f"{each.requirement}: {each.summary}"
            for each in lived.result.findings
            if each.requirement != JUDGED and each.verdict is not Verdict.PASS
        ),
    )


def _verb(finding: Finding, effect: Effect, before: Account | None, names: tuple[str, str]) -> str:
    healthy, sick = names
    if finding.verdict is Verdict.INCONCLUSIVE:
        return f"cannot be judged by this run ({finding.summary})"
    if finding.verdict is Verdict.PASS:
        still = "still " if before is not None and before.finding.verdict is Verdict.PASS else ""
        return f"{still}isolates {healthy} from {sick}"
    if before is None or before.finding.verdict is not Verdict.FAIL:
        return f"drags {healthy} down with {sick}"
    return _compared(effect, before.effect)


def _compared(now: Effect, before: Effect) -> str:
    gains = [now.kept - before.kept >= RATE_CHANGED, now.stall <= (1 - STALL_CHANGED) * before.stall]
    losses = [before.kept - now.kept >= RATE_CHANGED, before.stall <= (1 - STALL_CHANGED) * now.stall]
    if any(gains) and any(losses):
        return "shifts the harm"
    if any(gains):
        return "helps, and not enough"
    return "makes it worse" if any(losses) else "alone changes little"


def _figures(effects: dict[str, Effect], healthy: str, before: Account | None, name: str) -> str:
    now, recovery = effects[healthy], max(each.recovery for each in effects.values())
    was = ("", "", "")
    if before is not None:
        old = before.effect
        was = (
            f" (before: {percent(old.kept)})",
            f" ({seconds(old.stall)})",
            f" ({seconds(old.p99)})",
        )
    backlog = "was never delivered" if recovery == math.inf else f"was gone {seconds(recovery)} after the heal"
    return (
        f"{name} kept {percent(now.kept)} of its calm rate{was[0]}, its longest stall was {seconds(now.stall)}"
        f"{was[1]}, its p99 delay {seconds(now.p99)}{was[2]}, and all backlog {backlog}"
    )
