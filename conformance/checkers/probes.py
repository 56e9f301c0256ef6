"""LIM-4: a sick tenant is probed again within a published bound."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from isolane.conformance.checkers import cases, slots
from isolane.conformance.checkers.cases import Judge, Late
from isolane.conformance.history import History
from isolane.conformance.history_values import Fault, Produced
from isolane.conformance.verdict import Figure, Finding

LONGEST = 60.0
"""Seconds that are believed where no bound is published."""

MARGIN = 1.0
"""Seconds for a probe to be made and to arrive."""


@dataclass(frozen=True, slots=True)
class Rest:
    """A time in which nothing was open at a sick tenant's cluster though work waited; `ended` by the next probe."""

    fault: Fault
    began: float
    ended: float
    waiting: Produced

    @property
    def seconds(self) -> float:
        """How long it lasted."""
        return self.ended - self.began


def check(history: History) -> list[Finding]:
    """Return the finding on LIM-4 where the scenario declares it."""
    if "LIM-4" not in history.meta.judges or not slots.single_life(history):
        return []
    judge = Judge(history, "LIM-4")
    rests = [rest for fault in _visible(history) for rest in rests_of(history, fault)]
    late = [rest for rest in rests if rest.seconds > bound(history, rest)]
    worst = max(rests, key=lambda rest: rest.seconds - bound(history, rest), default=None)
    figures = {"probes": Figure(sum(rest.ended < math.inf for rest in rests), "", "≥ 2")}
    if worst is not None:
        allowed = f"≤ {bound(history, worst):g}"
        figures["longest time between the end of an attempt and the next"] = Figure(worst.seconds, "s", allowed)
    if late:
        waited = [each.waiting for each in late]
        slow = [Late(each.began, each.seconds, bound(history, each)) for each in late]
        return [judge.fails("records that waited while their cluster was not probed", waited, figures, slow)]
    if figures["probes"].value < 2:
        return [judge.doubts("no sick tenant's cluster was seen to be probed twice", figures)]
    return [judge.passes("a sick tenant's cluster was probed again in time, each time", figures)]


def bound(history: History, rest: Rest) -> float:
    """Return the seconds that a rest may last: the published interval, and a turn of those probed before it.

    Where more are sick than are probed at once, each waits for others' probes, which last as long as a request may.
    """
    interval = slots.seconds(history, "probe_interval", LONGEST)
    together = slots.limit(history, "probe_slots") or 1
    sick = {each.tenant for each in history.faults if each.began < rest.ended and each.ended > rest.began}
    turns = math.ceil(len(sick) / together) - 1
    return interval + turns * slots.seconds(history, "request_timeout", LONGEST) + MARGIN


def rests_of(history: History, fault: Fault) -> Iterator[Rest]:
    """Yield the rests of a fault's tenant that began in it; one that nothing ended lasts to the end of the history."""
    attempts = slots.attempts_of(history, fault.tenant)
    began = -math.inf
    for position, attempt in enumerate(attempts):
        began = max(began, slots.end(attempt))
        following = attempts[position + 1].arrived if position + 1 < len(attempts) else history.last
        if fault.began <= began < min(fault.ended, following):
            waiting = _waiting(history, fault.tenant, began)
            if waiting is not None:
                yield Rest(fault, began, following, waiting)


def _visible(history: History) -> Sequence[Fault]:
    """Return the faults in which each probe is a request that arrives."""
    return [each for each in history.faults if not cases.part(each, "refuse") and not cases.part(each, "black_hole")]


def _waiting(history: History, tenant: str, at: float) -> Produced | None:
    """Return a record that waits at this moment to be accepted."""
    records = reversed(history.by_tenant[tenant])
    return next((each for each in records if each.acked <= at < history.accepted_at(each)), None)
