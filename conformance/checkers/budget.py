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
    try:
        phase, waiting = _tried(history)
        healthy = comparison.healthy(history, faults.tenants_in(history, phase))
        compared = comparison.compare(history, comparison.control_of(history), phase, healthy)
    except CannotJudgeError as reason:
        return [comparison.doubted(history, "MEM-6", CASE, reason)]
    more = {"waiting for the sick": waiting}
    passed = f"the healthy ({len(compared)}) felt nothing of what waited for the sick"
    return [comparison.judged(history, "MEM-6", CASE, compared, passed=passed, more=more)]


def _tried(history: History) -> tuple[Phase, Figure]:
    """Return the phase in which the sick could have filled the budget, and the bytes that waited for them."""
    phase, budget = history.phase(PACKED), slots.limit(history, "process_bytes")
    if phase is None or budget is None:
        raise CannotJudgeError("no budget was promised, or nothing was held against it")
    waiting = sum(
        record.size
        for tenant in faults.tenants_in(history, phase)
        for record in history.by_tenant[tenant]
        if record.acked < phase.ended <= history.accepted_at(record)
    )
    if waiting <= budget:
        raise CannotJudgeError(f"the sick had no more than the budget waiting: {waiting:,} of {budget:,} bytes")
    return phase, Figure(waiting, "bytes", f"> {budget:,}")
