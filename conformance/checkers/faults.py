"""Faults: which requirement each kind of fault tries, and the proof that it bit.

A fault phase is called ``fault:KIND`` or ``fault:KIND-VARIANT``. A fault that did not reach the sick tenant's traffic
tries nothing, so each kind counts its bites from what the cluster saw, never from what it was told to do.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from isolane.conformance.history import History
from isolane.conformance.history_ledger import Attempt, is_retryable
from isolane.conformance.history_values import Phase

PREFIX = "fault:"

HELD = 1.0
"""Seconds that a request must be held to count as bitten by a slow cluster; a healthy one takes milliseconds."""


@dataclass(frozen=True, slots=True)
class FaultKind:
    """A kind of fault: the requirement it tries, how its bites are counted, and what one bite is, in words."""

    requirement: str
    bites: Callable[[History, Phase, str], int]
    bite: str


def kind_of(phase: Phase) -> FaultKind | None:
    """Return the kind of fault that a phase is about; None for a phase without one, or of a kind not known."""
    if not phase.name.startswith(PREFIX):
        return None
    return KINDS.get(phase.name.removeprefix(PREFIX).partition("-")[0])


def tenants_in(history: History, phase: Phase) -> frozenset[str]:
    """Return the tenants that a fault was injected for during the phase."""
    return frozenset(
        fault.tenant for fault in history.faults if fault.began < phase.ended and fault.ended > phase.began
    )


def _held(history: History, phase: Phase, tenant: str) -> int:
    return sum(
        min(_end(attempt), phase.ended) - max(attempt.arrived, phase.began) >= HELD
        for attempt in _seen(history, phase, tenant)
    )


def _pushed_back(history: History, phase: Phase, tenant: str) -> int:
    return sum(
        is_retryable(attempt.status) or any(is_retryable(status) for _, status in attempt.items())
        for attempt in _seen(history, phase, tenant)
        if attempt.answered is not None and phase.began <= attempt.answered < phase.ended
    )


def _refused(history: History, phase: Phase, tenant: str) -> int:
    if any(phase.began + HELD <= attempt.arrived < phase.ended for attempt in _seen(history, phase, tenant)):
        return 0
    return sum(phase.began <= record.acked < phase.ended for record in history.by_tenant.get(tenant, ()))


def _swallowed(history: History, phase: Phase, tenant: str) -> int:
    connections = sum(each.tenant == tenant and phase.began <= each.at < phase.ended for each in history.connections)
    return connections + _held(history, phase, tenant)


def _reset(history: History, phase: Phase, tenant: str) -> int:
    return sum(
        attempt.how == "reset" and phase.began <= _end(attempt) < phase.ended
        for attempt in _seen(history, phase, tenant)
    )


def _seen(history: History, phase: Phase, tenant: str) -> Iterator[Attempt]:
    for attempt in history.attempts:
        if attempt.arrived >= phase.ended:
            return
        if attempt.tenant == tenant and _end(attempt) > phase.began:
            yield attempt


def _end(attempt: Attempt) -> float:
    return math.inf if attempt.closed is None else attempt.closed


_HELD = f"requests held for {HELD:g} s or more"

KINDS = {
    "slow": FaultKind("ISO-1", _held, _HELD),
    "trickle": FaultKind("ISO-1", _held, _HELD),
    "refuse": FaultKind("ISO-2", _refused, "records that no request could be made for"),
    "blackhole": FaultKind("ISO-2", _swallowed, "connections swallowed and requests never answered"),
    "reset": FaultKind("ISO-2", _reset, "replies cut off by a reset"),
    "pushback": FaultKind("ISO-3", _pushed_back, "requests pushed back, as a whole or by item"),
}
"""The kinds of faults, by the first word of their names."""
