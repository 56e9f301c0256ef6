"""Checkers: pure functions from a history to findings, one module a subject.

Every checker runs on every history and says something only where the history has what it takes.
"""

from __future__ import annotations

from collections.abc import Callable

from isolane.conformance.checkers import (
    backoff,
    bites,
    budget,
    caps,
    commits,
    concurrency,
    culprits,
    deadlines,
    decay,
    delivery,
    destination,
    discovery,
    documents,
    duplicates,
    environment,
    fetching,
    flow,
    harness,
    herd,
    idle,
    in_flight,
    isolation,
    items,
    nothing,
    offsets,
    order,
    oversized,
    overtaking,
    ownership,
    plateau,
    poison,
    probes,
    recovery,
    replay,
    retries,
    siblings,
    signals,
    span,
    tenancy,
    unowned,
)
from isolane.conformance.history import History
from isolane.conformance.verdict import Finding

CHECKERS: tuple[Callable[[History], list[Finding]], ...] = (
    tenancy.check,
    discovery.check,
    signals.check,
    unowned.check,
    idle.check,
    isolation.check,
    flow.check,
    decay.check,
    recovery.check,
    siblings.check,
    herd.check,
    caps.check,
    probes.check,
    overtaking.check,
    concurrency.check,
    in_flight.check,
    oversized.check,
    plateau.check,
    budget.check,
    fetching.check,
    span.check,
    delivery.check,
    retries.check,
    items.check,
    culprits.check,
    environment.check,
    deadlines.check,
    backoff.check,
    duplicates.check,
    replay.check,
    documents.check,
    order.check,
    destination.check,
    offsets.check,
    commits.check,
    ownership.check,
    poison.check,
    nothing.check,
    bites.check,
    harness.check,
)
"""Every checker there is."""


def judge(history: History) -> list[Finding]:
    """Return what all checkers find in a history."""
    return [finding for checker in CHECKERS for finding in checker(history)]
