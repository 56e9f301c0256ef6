"""Checkers: pure functions from a history to findings, one module a subject.

Every checker runs on every history and says something only where the history has what it takes.
"""

from __future__ import annotations

from collections.abc import Callable

from isolane.conformance.checkers import (
    backoff,
    culprits,
    deadlines,
    decay,
    delivery,
    destination,
    environment,
    harness,
    herd,
    isolation,
    items,
    offsets,
    recovery,
    replay,
    retries,
    siblings,
    tenancy,
)
from isolane.conformance.history import History
from isolane.conformance.verdict import Finding

CHECKERS: tuple[Callable[[History], list[Finding]], ...] = (
    tenancy.check,
    isolation.check,
    decay.check,
    recovery.check,
    siblings.check,
    herd.check,
    delivery.check,
    retries.check,
    items.check,
    culprits.check,
    environment.check,
    deadlines.check,
    backoff.check,
    replay.check,
    destination.check,
    offsets.check,
    harness.check,
)
"""Every checker there is."""


def judge(history: History) -> list[Finding]:
    """Return what all checkers find in a history."""
    return [finding for checker in CHECKERS for finding in checker(history)]
