"""MEM-6: the sick cannot eat the healthy tenants' part of the process's budget."""

from __future__ import annotations

from isolane.conformance.checkers import comparison, faults, slots
from isolane.conformance.checkers.comparison import CannotJudgeError
from isolane.conformance.checkers.plateau import PACKED
from isolane.conformance.history import History
from isolane.conformance.history_values import Phase
from isolane.conformance.verdict import Figure, Finding

CASE = "beside the sick"


def check(history: History) -> list[Finding]:
    """Return the finding on MEM-6 for the healthy where the scenario declares it."""
    if "MEM-6" not in history.meta.judges:
        return []
    phase, budget = history.phase(PACKED), slots.limit(history, "process_bytes")
    try:
        if phase is None or budget is None:
            raise CannotJudgeError("no budget was promised, or nothing was held against it")
        sick = faults.tenants_in(history, phase)
        waited = _waiting(history, phase, sick)
        if waited <= budget:
            raise CannotJudgeError(f"the sick had no more than the budget waiting: {waited:,} of {budget:,} bytes")
        control = comparison.control_of(history)
        compared = comparison.compare(history, control, phase, comparison.healthy(history, sick))
    except CannotJudgeError as reason:
        return [comparison.doubted(history, "MEM-6", CASE, reason)]
    more = {"waiting for the sick": Figure(waited, "bytes", f"> {budget:,}")}
    passed = f"the healthy ({len(compared)}) felt nothing of what waited for the sick"
    return [comparison.judged(history, "MEM-6", CASE, compared, passed=passed, more=more)]


def _waiting(history: History, phase: Phase, sick: frozenset[str]) -> int:
    return sum(
        record.size
        for tenant in sick
        for record in history.by_tenant[tenant]
        if record.acked < phase.ended <= history.accepted_at(record)
    )
