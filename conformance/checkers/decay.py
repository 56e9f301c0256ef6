"""ISO-8: isolation does not decay while a fault lasts.

Isolation that holds for a few seconds may only be a queue that has not filled yet (FB-17).
"""

from __future__ import annotations

from collections.abc import Sequence

from isolane.conformance.checkers import comparison, faults
from isolane.conformance.checkers.comparison import CannotJudgeError, Comparison
from isolane.conformance.checkers.faults import FaultKind
from isolane.conformance.history import History
from isolane.conformance.history_values import Phase
from isolane.conformance.verdict import Finding

REQUIREMENT = "ISO-8"

LONG = 45.0
"""Seconds from which on a fault is a long one: its thirds are long enough for windows."""


def check(history: History) -> list[Finding]:
    """Return a finding for each long fault: its last third is held against its first."""
    long = [(phase, kind) for phase in history.phases if phase.seconds >= LONG and (kind := faults.kind_of(phase))]
    return [_judge(history, phase, kind) for phase, kind in long]


def _judge(history: History, phase: Phase, kind: FaultKind) -> Finding:
    first, last = _thirds(phase)
    try:
        sick, bites = faults.bitten(history, last, kind)
        compared = _compare(history, first, last, comparison.healthy(history, sick))
    except CannotJudgeError as reason:
        return comparison.doubted(history, REQUIREMENT, phase.name, reason)
    passed = f"the last third of {phase.name} ({last.seconds:.0f} s) was as good as its first"
    more = {"fault bites in the last third": bites}
    return comparison.judged(history, REQUIREMENT, phase.name, compared, passed=passed, more=more)


def _thirds(phase: Phase) -> tuple[Phase, Phase]:
    third = phase.seconds / 3
    first = Phase(f"{phase.name} (first third)", phase.began, phase.began + third)
    return first, Phase(f"{phase.name} (last third)", phase.ended - third, phase.ended, phase.complete)


def _compare(history: History, first: Phase, last: Phase, flows: Sequence[comparison.Flow]) -> list[Comparison]:
    """Hold the last third against the first; or against the control, where the first is no measure."""
    control = comparison.control_of(history)
    if comparison.broken(comparison.compare(history, control, first, flows)):
        return comparison.compare(history, control, last, flows)
    return comparison.compare(history, first, last, flows)
