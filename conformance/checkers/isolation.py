"""ISO-1 to ISO-5: what the healthy tenants feel while others are sick, or loud.

Each fault phase is held against the phase ``control`` of the same history: the same load with no fault.
"""

from __future__ import annotations

from isolane.conformance.checkers import comparison, faults
from isolane.conformance.checkers.comparison import GAP, CannotJudgeError
from isolane.conformance.checkers.faults import FaultKind
from isolane.conformance.history import History
from isolane.conformance.history_values import Phase
from isolane.conformance.verdict import Figure, Finding


def check(history: History) -> list[Finding]:
    """Return a finding for each fault phase whose kind tries a requirement."""
    return [_judge(history, phase, kind) for phase in history.phases if (kind := faults.kind_of(phase)) is not None]


def _judge(history: History, phase: Phase, kind: FaultKind) -> Finding:
    try:
        sick = faults.tenants_in(history, phase)
        bites, least = _bites(history, phase, kind, sick)
        control = comparison.control_of(history)
        compared = comparison.compare(history, control, phase, comparison.healthy(history, sick))
    except CannotJudgeError as reason:
        return comparison.doubted(history, kind.requirement, phase.name, reason)
    passed = f"none of the healthy tenants ({len(compared)}) felt {phase.name} (bites: {bites})"
    bitten = {"fault bites": Figure(bites, kind.bite, f"≥ {least}")}
    return comparison.judged(history, kind.requirement, phase.name, compared, passed=passed, more=bitten)


def _bites(history: History, phase: Phase, kind: FaultKind, sick: frozenset[str]) -> tuple[int, int]:
    """Return how often the fault bit, and how often it had to."""
    if not phase.complete:
        raise CannotJudgeError(f"the run ended in {phase.name}")
    if phase.seconds < GAP:
        raise CannotJudgeError(f"{phase.name} lasted {phase.seconds:.1f} s; {GAP:g} s are the least")
    if not sick:
        raise CannotJudgeError(f"no fault was injected in {phase.name}")
    bites, least = kind.bites(history, phase, sick), kind.least(history, phase)
    if not bites:
        raise CannotJudgeError(f"the fault of {phase.name} did not bite: no {kind.bite}")
    if bites < least:
        raise CannotJudgeError(f"the fault of {phase.name} hardly bit: {bites} {kind.bite}, and {least} are the least")
    return bites, least
