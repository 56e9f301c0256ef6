"""Faults: which requirement each kind of fault tries, and the proof that it bit.

A fault phase is called ``fault:KIND`` or ``fault:KIND-VARIANT``. A fault that did not reach the sick tenants' traffic
tries nothing, so each kind counts its bites from what the clusters saw, never from what they were told to do.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from isolane.conformance.checkers.comparison import GAP, CannotJudgeError
from isolane.conformance.history import History
from isolane.conformance.history_ledger import Attempt
from isolane.conformance.history_values import Phase
from isolane.conformance.verdict import Figure

PREFIX = "fault:"

HELD = 1.0
"""Seconds that a request must be held to count as bitten by a slow cluster; a healthy one takes milliseconds."""

FLOOD = 0.5
"""The part of the volume that was asked for which a flood must have reached."""

_RETRYABLE = frozenset({408, 425, 429})

Tenants = frozenset[str]


@dataclass(frozen=True, slots=True)
class FaultKind:
    """A kind of fault.

    Attributes:
        requirement: The one that it tries.
        bites: How often it bit in a phase those tenants that it was injected for.
        bite: What one bite is, in words, as a plural.
        least: How many bites it takes to try anything.
    """

    requirement: str
    bites: Callable[[History, Phase, Tenants], int]
    bite: str
    least: Callable[[History, Phase], int] = lambda _history, _phase: 1


def kind_of(phase: Phase, kinds: Mapping[str, FaultKind] | None = None) -> FaultKind | None:
    """Return the kind of fault that a phase is about, of `KINDS` or of others; None for one that is about none."""
    if not phase.name.startswith(PREFIX):
        return None
    return (KINDS if kinds is None else kinds).get(phase.name.removeprefix(PREFIX).partition("-")[0])


def tenants_in(history: History, phase: Phase) -> Tenants:
    """Return the tenants that a fault was injected for during the phase."""
    return frozenset(
        fault.tenant for fault in history.faults if fault.began < phase.ended and fault.ended > phase.began
    )


def bitten(history: History, phase: Phase, kind: FaultKind, sick: Tenants | None = None) -> tuple[Tenants, Figure]:
    """Return who was sick in a phase, or in a part of one, and how often the fault bit; `sick` says who, if known.

    Raises:
        CannotJudgeError: It did not, or not enough to try anything.
    """
    if not phase.complete:
        raise CannotJudgeError(f"the run ended in {phase.name}")
    if phase.seconds < GAP:
        raise CannotJudgeError(f"{phase.name} lasted {phase.seconds:.1f} s; {GAP:g} s are the least")
    sick = tenants_in(history, phase) if sick is None else sick
    if not sick:
        raise CannotJudgeError(f"no fault was injected in {phase.name}")
    bites, least = kind.bites(history, phase, sick), kind.least(history, phase)
    if not bites:
        raise CannotJudgeError(f"the fault of {phase.name} did not bite: no {kind.bite}")
    if bites < least:
        raise CannotJudgeError(f"the fault of {phase.name} hardly bit: {bites} {kind.bite}, and {least} are the least")
    return sick, Figure(bites, kind.bite, f"≥ {least}")


def requests(history: History, phase: Phase, tenant: str) -> Iterator[Attempt]:
    """Yield the requests to a tenant's cluster that were open at any time of the phase, in order of arrival."""
    for attempt in history.attempts:
        if attempt.arrived >= phase.ended:
            return
        if attempt.tenant == tenant and _end(attempt) > phase.began:
            yield attempt


def is_refusal(status: int | None) -> bool:
    """Return whether a status says: not now."""
    return status is not None and (status in _RETRYABLE or status >= 500)


def answered_items(history: History, phase: Phase, tenant: str, chosen: Callable[[int | None], bool]) -> list[int]:
    """Return the token numbers of the items that a tenant's cluster answered in a phase with a chosen status."""
    return [
        token
        for attempt in requests(history, phase, tenant)
        if attempt.answered is not None and phase.began <= attempt.answered < phase.ended
        for token, status in attempt.items()
        if token is not None and chosen(status)
    ]


def each(bites: Callable[[History, Phase, str], int]) -> Callable[[History, Phase, Tenants], int]:
    """Return what counts the bites at the tenant that was bitten least: none that was spared hides behind another."""
    return lambda history, phase, tenants: min(bites(history, phase, tenant) for tenant in tenants)


def _held(history: History, phase: Phase, tenant: str) -> int:
    return sum(
        min(_end(attempt), phase.ended) - max(attempt.arrived, phase.began) >= HELD
        for attempt in requests(history, phase, tenant)
    )


def _pushed_back(history: History, phase: Phase, tenant: str) -> int:
    return sum(
        is_refusal(attempt.status) or any(is_refusal(status) for _, status in attempt.items())
        for attempt in requests(history, phase, tenant)
        if attempt.answered is not None and phase.began <= attempt.answered < phase.ended
    )


def _refused(history: History, phase: Phase, tenant: str) -> int:
    if any(phase.began + HELD <= attempt.arrived < phase.ended for attempt in requests(history, phase, tenant)):
        return 0
    return sum(phase.began <= record.acked < phase.ended for record in history.by_tenant.get(tenant, ()))


def _swallowed(history: History, phase: Phase, tenant: str) -> int:
    connections = sum(each.tenant == tenant and phase.began <= each.at < phase.ended for each in history.connections)
    return connections + _held(history, phase, tenant)


def _reset(history: History, phase: Phase, tenant: str) -> int:
    return sum(
        attempt.how == "reset" and phase.began <= _end(attempt) < phase.ended
        for attempt in requests(history, phase, tenant)
    )


def _volume(history: History, phase: Phase, tenant: str) -> int:
    others = [each.name for each in history.meta.tenants if each.role == "healthy" and each.name != tenant]
    most = max((_bytes(history, phase, other) for other in others), default=0)
    return _bytes(history, phase, tenant) // most if most else 0


def _bytes(history: History, phase: Phase, tenant: str) -> int:
    return sum(each.size for each in history.by_tenant.get(tenant, ()) if phase.began <= each.acked < phase.ended)


def _asked(history: History, phase: Phase) -> int:
    asked = [int(fault.script.get("times", 1)) for fault in history.faults if phase.began <= fault.began < phase.ended]
    return max(1, math.floor(FLOOD * max(asked, default=1)))


def _outnumbering(history: History, phase: Phase, tenants: Tenants) -> int:
    """Count the tenants with records left for a while; not all of them can have had a request held."""
    if not any(_held(history, phase, tenant) for tenant in tenants):
        return 0
    until = phase.ended - HELD
    return sum(
        any(
            phase.began <= record.scheduled < until and history.accepted_at(record) > record.scheduled + HELD
            for record in history.by_tenant.get(tenant, ())
        )
        for tenant in tenants
    )


def _more_than_workers(history: History, _phase: Phase) -> int:
    workers = history.meta.bounds.get("workers")
    return int(workers) + 1 if isinstance(workers, (int, float)) else 1


def _end(attempt: Attempt) -> float:
    return math.inf if attempt.closed is None else attempt.closed


_HELD = f"requests held for {HELD:g} s or more"

KINDS = {
    "slow": FaultKind("ISO-1", each(_held), _HELD),
    "trickle": FaultKind("ISO-1", each(_held), _HELD),
    "refuse": FaultKind("ISO-2", each(_refused), "records that no request could be made for"),
    "blackhole": FaultKind("ISO-2", each(_swallowed), "connections swallowed and requests never answered"),
    "reset": FaultKind("ISO-2", each(_reset), "replies cut off by a reset"),
    "pushback": FaultKind("ISO-3", each(_pushed_back), "requests pushed back, as a whole or by item"),
    "flood": FaultKind("ISO-4", each(_volume), "times the volume of any other tenant", _asked),
    "many": FaultKind("ISO-5", _outnumbering, "sick tenants with records left behind", _more_than_workers),
}
"""The kinds of faults, by the first word of their names."""
