"""Whether what a drain has left may have been about to come: it was still going on, or the next probe was not due."""

from __future__ import annotations

import math
from collections.abc import Sequence

from isolane.conformance.checkers import slots
from isolane.conformance.history import History
from isolane.conformance.history_values import Phase, Produced

LATELY = 10.0
"""Seconds before the end of a drain in which something has come when it was still going on."""


def going_on(history: History, drain: Phase, left: Sequence[Produced]) -> str | None:
    """Return why these may have been about to come when a drain was given up; None where they were left.

    What is committed past nobody reads again. Everything else is waited for as long as anything comes at all, whose
    ever it is: who delivers one after the other is as right as who delivers everybody's at once.
    """
    if any(history.committed_past(record) < math.inf for record in left):
        return None
    latest = _latest(history, drain)
    if latest > drain.ended - LATELY:
        return (
            "the drain was still going on when it was given up: "
            f"something came {drain.ended - latest:.1f} s before that"
        )
    if left and all(_is_early(history, drain, record) for record in left):
        well = drain.ended - _healed(history, left[0])
        return (
            f"the next attempt was not due: its cluster was well for {well:.0f} s, "
            f"and is tried again within {_longest(history):.0f} s"
        )
    return None


def _latest(history: History, drain: Phase) -> float:
    """Return when something was finished in a drain at last; before everything when nothing was."""
    finished = (history.finished_at(record) for records in history.by_tenant.values() for record in records)
    return max((at for at in finished if drain.began <= at <= drain.ended), default=-math.inf)


def _is_early(history: History, drain: Phase, record: Produced) -> bool:
    """Return whether a record waits for the first attempt after its cluster was well again, which is not due."""
    healed = _healed(history, record)
    return (
        history.finished_at(record) == math.inf
        and drain.ended < healed + _longest(history)
        and slots.last_sent(history, record) < healed
    )


def _healed(history: History, record: Produced) -> float:
    """Return when the last fault of the record's cluster ended that did."""
    owner = history.meta.owners.get(record.topic)
    ends = (fault.ended for fault in history.faults if fault.tenant == owner)
    return max((ended for ended in ends if ended < math.inf), default=-math.inf)


def _longest(history: History) -> float:
    """Return the seconds after a heal within which a cluster is tried again, as published: an attempt may be open."""
    interval = slots.seconds(history, "probe_interval", -math.inf)
    return interval + slots.seconds(history, "request_timeout", 0.0)
