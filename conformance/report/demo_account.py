"""The account of a demo: what each mode, and so each change, brought, computed from what was measured."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import repeat

from isolane.conformance.checkers.faults import PREFIX
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
class Trial:
    """What is to be told of one fault that a mode lived through.

    Attributes:
        fault: The fault, and so the tenant that was sick.
        effects: What it did to each tenant, by full name.
        felt: What it did to the healthy one.
        finding: Whether the healthy one felt it, as the suite judges.
        sentence: What the mode brought, compared with the one before it.
    """

    fault: Fault
    effects: dict[str, Effect]
    felt: Effect
    finding: Finding
    sentence: str


@dataclass(frozen=True, slots=True)
class Account:
    """What is to be told of one mode.

    Attributes:
        mode: The mode.
        history: What it lived through.
        healthy: The full name of the tenant that was healthy throughout.
        trials: Its faults, in order.
        warnings: What else the suite found wrong.
    """

    mode: Mode
    history: History
    healthy: str
    trials: tuple[Trial, ...]
    warnings: tuple[str, ...]

    @property
    def sentences(self) -> tuple[str, ...]:
        """What the mode brought, a sentence for each fault."""
        return tuple(trial.sentence for trial in self.trials)


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
    healthy = next(tenant.name for tenant in history.meta.tenants if tenant.role == "healthy")
    told: Iterable[Trial | None] = before.trials if before else repeat(None)
    return Account(
        mode=lived.mode,
        history=history,
        healthy=healthy,
        trials=tuple(_trial(lived, fault, healthy, old) for fault, old in zip(history.faults, told, strict=False)),
        warnings=tuple(
            f"{each.requirement}: {each.summary}"
            for each in lived.result.findings
            if each.requirement != JUDGED and each.verdict is not Verdict.PASS
        ),
    )


def _trial(lived: Lived, fault: Fault, healthy: str, before: Trial | None) -> Trial:
    history, judged = lived.history, (JUDGED, PREFIX + fault.name)
    finding = next(each for each in lived.result.findings if (each.requirement, each.case) == judged)
    effects = {tenant.name: effect(history, tenant.name, fault) for tenant in history.meta.tenants}
    felt, recovery = effects[healthy], max(each.recovery for each in effects.values())
    names = short(history, healthy), short(history, fault.tenant)
    subject = lived.mode.name if fault is history.faults[0] else "It"
    brought = f"{subject} {_verb(finding, felt, before, names)}"
    return Trial(fault, effects, felt, finding, f"{brought}: {_figures(felt, recovery, before, names[0])}.")


def _verb(finding: Finding, felt: Effect, before: Trial | None, names: tuple[str, str]) -> str:
    healthy, sick = names
    if finding.verdict is Verdict.INCONCLUSIVE:
        return f"cannot be judged with {sick} slow ({finding.summary})"
    isolates = finding.verdict is Verdict.PASS
    verb = f"isolates {healthy} from {sick}" if isolates else f"drags {healthy} down with {sick}"
    if before is None or before.finding.verdict is not finding.verdict:
        return verb
    return f"still {verb}" if isolates else f"still {verb}, {_compared(felt, before.felt)}"


def _compared(now: Effect, before: Effect) -> str:
    gains = [now.kept - before.kept >= RATE_CHANGED, now.stall <= (1 - STALL_CHANGED) * before.stall]
    losses = [before.kept - now.kept >= RATE_CHANGED, before.stall <= (1 - STALL_CHANGED) * now.stall]
    if any(gains) and any(losses):
        return "in another way"
    if any(gains):
        return "though less"
    return "and more" if any(losses) else "as much as before"


def _figures(now: Effect, recovery: float, before: Trial | None, name: str) -> str:
    was = ("", "", "")
    if before is not None:
        old = before.felt
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
