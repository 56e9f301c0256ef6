"""ISO-1 to ISO-5: what the healthy tenants feel while others are sick, or loud.

Each fault phase is held against the phase ``control`` of the same history: the same load with no fault.
"""

from __future__ import annotations

from isolane.conformance.checkers import comparison, faults
from isolane.conformance.checkers.comparison import CannotJudgeError
from isolane.conformance.checkers.faults import FaultKind
from isolane.conformance.history import History
from isolane.conformance.history_values import Phase
from isolane.conformance.verdict import Finding


def check(history: History) -> list[Finding]:
    """Return a finding for each fault phase whose kind tries a requirement."""
    return [_judge(history, phase, kind) for phase in history.phases if (kind := faults.kind_of(phase)) is not None]


def _judge(history: History, phase: Phase, kind: FaultKind) -> Finding:
    try:
        sick, bites = faults.bitten(history, phase, kind)
        control = comparison.control_of(history)
        compared = comparison.compare(history, control, phase, comparison.healthy(history, sick))
    except CannotJudgeError as reason:
        return comparison.doubted(history, kind.requirement, phase.name, reason)
    passed = f"none of the healthy tenants ({len(compared)}) felt {phase.name} (bites: {bites.value})"
    more = {"fault bites": bites}
    return comparison.judged(history, kind.requirement, phase.name, compared, passed=passed, more=more)
