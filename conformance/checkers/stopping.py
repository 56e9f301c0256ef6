"""LIF-2: SIGTERM ends a member in time, whatever goes on, and nothing is marked that is not finished."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from isolane.conformance.checkers import membership, slots
from isolane.conformance.checkers.cases import Judge, Late
from isolane.conformance.checkers.faults import KINDS
from isolane.conformance.checkers.membership import JOINED
from isolane.conformance.checkers.offsets import breaches
from isolane.conformance.checkers.services_away import BROKER, absences
from isolane.conformance.history import History
from isolane.conformance.history_values import Event, Produced
from isolane.conformance.verdict import Figure, Finding

GRACE = 15.0
"""Seconds where nothing is promised."""

MARGIN = 0.5
"""Seconds that the harness may take to notice."""

YOUNG = 3.0
"""Seconds for which a member is starting up."""

NOTICED = 0.3
"""Seconds after which it is seen that the group changes."""

START_UP, REBALANCE, NO_BROKER = "start-up", "rebalance", "no broker"
"""The cases beside kinds of faults: before the member has done anything, while the group changes, and without Kafka."""


@dataclass(frozen=True, slots=True)
class Stop:
    """A member that was told to stop: when, in which cases, how many seconds it took, and its exit code."""

    at: float
    member: object
    cases: frozenset[str]
    seconds: float
    code: int | None


def check(history: History) -> list[Finding]:
    """Return the findings on LIF-2, a case each, where the scenario declares it."""
    if "LIF-2" not in history.meta.judges:
        return []
    grace = slots.seconds(history, "stop_grace", GRACE)
    stops = list(stops_of(history))
    found = [_in_time(history, stop, grace) for stop in stops if stop.cases]
    if not found:
        return [Judge(history, "LIF-2").doubts("no member was told to stop while anything went on", {})]
    return [*found, _marked(history, stops)]


def stops_of(history: History) -> Iterator[Stop]:
    """Yield each member that was told to stop before the end."""
    until = membership.end(history)
    for event in history.events:
        if (event.kind, event.name) != ("signal", "terminated") or event.at >= until:
            continue
        ended = _ended(history, event)
        code = ended.detail.get("code") if ended else None
        seconds = math.inf if ended is None else ended.at - event.at
        yield Stop(event.at, event.detail["member"], frozenset(_cases(history, event)), seconds, code)


def _ended(history: History, asked: Event) -> Event | None:
    return next(
        (
            event
            for event in membership.processes(history)
            if event.at >= asked.at and event.name != JOINED and event.detail["member"] == asked.detail["member"]
        ),
        None,
    )


def _cases(history: History, asked: Event) -> Iterator[str]:
    """Yield what went on when a member was told to stop."""
    born = max(
        (
            event.at
            for event in membership.processes(history)
            if event.name == JOINED and event.at <= asked.at and event.detail["member"] == asked.detail["member"]
        ),
        default=-math.inf,
    )
    if asked.at - born < YOUNG:
        yield START_UP
    if any(began - NOTICED <= asked.at < ended for began, ended in membership.unrest(history)):
        yield REBALANCE
    if any(absence.what == BROKER and absence.began <= asked.at < absence.ended for absence in absences(history)):
        yield NO_BROKER
    for fault in history.faults:
        kind = fault.name.partition("-")[0]
        if fault.began <= asked.at < fault.ended and kind in KINDS:
            yield kind


def _in_time(history: History, stop: Stop, grace: float) -> Finding:
    judge = Judge(history, "LIF-2", f"member {stop.member}: {', '.join(sorted(stop.cases))}")
    figures: Mapping[str, Figure] = {
        "seconds from SIGTERM to the end": Figure(stop.seconds, "s", f"≤ {grace:g}"),
        "exit code": Figure(math.nan if stop.code is None else stop.code),
    }
    if stop.seconds == math.inf and history.last <= stop.at + grace + MARGIN:
        return judge.doubts("the run ended before the member had to", figures)
    if stop.seconds > grace + MARGIN or stop.code == -9:
        # One that is killed is so when the grace is over: before that it was something else.
        late = [Late(stop.at, stop.seconds, grace)] if stop.seconds >= grace else []
        return judge.violates(f"a member that was told to stop had not ended {grace:g} s later", figures, late)
    return judge.passes(f"the member ended {stop.seconds:.1f} s after it was told to", figures)


def _marked(history: History, stops: list[Stop]) -> Finding:
    """Hold what was committed from each stop on against what was finished."""
    judge = Judge(history, "LIF-2", "what was committed")
    since = min(stop.at for stop in stops)
    early: list[Produced] = [breach.record for breach in breaches(history) if breach.seen.ended >= since]
    figures = {"records committed past and not finished": Figure(len(early), "", "= 0")}
    if early:
        return judge.fails("records committed past as a member was told to stop", early, figures)
    return judge.passes("nothing was marked that was not finished", figures)
