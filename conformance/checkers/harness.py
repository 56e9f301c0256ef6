"""Self-distrust: whether the harness itself was starved, so that what it measured says little of the implementation."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise

from isolane.conformance.checkers.happenings import happenings
from isolane.conformance.checkers.rates import quantile
from isolane.conformance.history import History
from isolane.conformance.history_values import COMMIT_OBSERVER, GROUP_OBSERVER, LETTER_OBSERVER, Phase, Produced
from isolane.conformance.verdict import HARNESS, Figure, Finding, Verdict

LOAD_LAG = 0.25
"""Seconds by which load may leave after its time."""

SAMPLER_GAP = 1.0
"""Seconds by which an observer may miss its beat."""

CLUSTER_LAG = 0.5
"""Seconds that the scripted clusters may take for what costs them nothing."""

CLOCK_STEP = 1.0
"""Seconds by which the clock that measures and that of the day may drift apart at once."""

OFFERED = 0.95
"""The part of the scheduled records that must have reached Kafka."""

EXCUSABLE = 4.0
"""How many times its bound something may take for a starved harness to be the reason."""

NOTICEABLE = 0.1
"""Seconds from which on a record is late."""

_LIMITS = {
    "load_lag": LOAD_LAG,
    "sampler_gap": SAMPLER_GAP,
    "cluster_lag": CLUSTER_LAG,
    "clock_step": CLOCK_STEP,
}

ASKING_KAFKA = frozenset({COMMIT_OBSERVER, GROUP_OBSERVER, LETTER_OBSERVER})
"""Observers that wait while a broker is away: that it is says nothing of the harness when a timeline wants it so."""

FINDING_A_BROKER = 5.0
"""Seconds within which their clients try again to find one that is back."""

_UNTIMED = frozenset({"ready", "capacity", "end"})
"""Phases in which nothing is measured that depends on the harness keeping a schedule."""


def check(history: History) -> list[Finding]:
    """Return one finding about the harness in all phases with a schedule; none where there are none."""
    phases = [phase for phase in history.phases if phase.name not in _UNTIMED]
    if not phases:
        return []
    reasons = [reason for phase in phases if (reason := starved(history, phase)) is not None]
    worst = dict.fromkeys(_LIMITS, 0.0)
    for phase in phases:
        for name, seconds in _delays(history, phase):
            worst[name] = max(worst[name], seconds)
    figures = {name.replace("_", " "): Figure(worst[name], "s", f"≤ {limit:g}") for name, limit in _LIMITS.items()}
    verdict = Verdict.INCONCLUSIVE if reasons else Verdict.PASS
    summary = "; ".join(reasons) or "the harness kept its schedule"
    return [Finding(HARNESS, history.scenario, verdict, summary, figures=figures)]


def starved(history: History, phase: Phase, *, lag: float = LOAD_LAG) -> str | None:
    """Return why the harness cannot be trusted in this phase; None when it can.

    Args:
        history: Of the harness.
        phase: Of the history.
        lag: Seconds by which load may leave late; infinity where that is weighed against what was measured.
    """
    limits = _LIMITS | {"load_lag": lag}
    for name, seconds in _delays(history, phase):
        if seconds > limits[name]:
            what = name.replace("_", " ")
            return f"the harness was starved in {phase.name}: {what} of {seconds:.2f} s (allowed {limits[name]:g} s)"
    return _short(history, phase)


def lag(records: Sequence[Produced], phase: Phase) -> tuple[float, str]:
    """Return by how many seconds 1 % of the records that were due in the phase were late, and with what.

    They may have left late, or a Kafka that was itself held up acknowledged them late: no implementation can have had
    them before.
    """
    due = _due(records, phase)
    left = _nearly_most(record.sent - record.scheduled for record in due)
    acknowledged = _nearly_most(record.acked - record.sent for record in due)
    return max((left, "load lag"), (acknowledged, "Kafka's acknowledgement lag"))


def lateness(history: History, records: Sequence[Produced], phase: Phase) -> tuple[float, str]:
    """Return the most seconds that the harness was late by in a phase, and with what.

    That is with 1 % of the records at least, whose load, Kafka, or clusters were late; or with its own looks.
    """
    held = _nearly_most(_held(history, _due(records, phase)))
    return max(lag(records, phase), (held, "cluster lag"), (_sampler_gap(history, phase), "sampler gap"))


def hiccup(history: History, records: Sequence[Produced], moment: Phase, usual: float = 0.0) -> tuple[float, str]:
    """Return the most seconds that a moment in which records were due may lack because of the harness, and with what.

    As many as one of them was late by, but no more than were taken by all that were: one that is late lacks alone.

    Args:
        history: Of the harness.
        records: That are judged together.
        moment: When those of them were due that count.
        usual: Seconds within which they are accepted as a rule, so that the harness' own looks count for longer.
    """
    due = _due(records, moment)
    delays = {
        "load lag": [record.sent - record.scheduled for record in due],
        "Kafka's acknowledgement lag": [record.acked - record.sent for record in due],
        "cluster lag": _held(history, due),
    }
    lacks = [(_lacking(seconds, moment), what) for what, seconds in delays.items()]
    under_way = Phase(moment.name, moment.began, moment.ended + usual)
    return max(*lacks, (_sampler_gap(history, under_way), "sampler gap"))


def excuse(history: History, since: float, seconds: float, bound: float) -> str | None:
    """Return why something that took so long since then may be the harness' own fault; None when it cannot.

    What took several times as long as its bound, or is endless, no starved harness explains; unless it told of having
    stood still for all that is beyond the bound.
    """
    if seconds > EXCUSABLE * bound and seconds > bound + _stood_still(history, since, seconds):
        return None
    reasons = (
        starved(history, phase) for phase in history.phases if phase.began < since + seconds and phase.ended > since
    )
    return next(filter(None, reasons), None)


def _stood_still(history: History, since: float, seconds: float) -> float:
    """Return for how many seconds, at most, something of the harness was told to stand still in a stretch."""
    told = _delays(history, Phase("", since, since + seconds)) if seconds < math.inf else ()
    return max((lasted for name, lasted in told if name != "load_lag"), default=0.0)


def _delays(history: History, phase: Phase) -> Iterator[tuple[str, float]]:
    away = [each for each in happenings(history).values() if each.takes_a_broker]
    for event in history.events:
        if event.kind == "harness" and event.name in _LIMITS:
            seconds = float(event.detail["seconds"])
            began = event.at - seconds
            waited = any(each.meets(began - FINDING_A_BROKER, event.at) for each in away)
            excused = waited and event.detail.get("of") in ASKING_KAFKA
            if event.at >= phase.began and began <= phase.ended and not excused:
                yield event.name, seconds
    yield "load_lag", _nearly_most(record.sent - record.scheduled for record in _due(history.produced, phase))


def _held(history: History, records: Sequence[Produced]) -> list[float]:
    """Return for how many seconds the clusters stood still while each record was under way to them.

    They may have done so since they last answered, which is before somebody asked them again.
    """
    lags = [event for event in history.events if (event.kind, event.name) == ("harness", "cluster_lag")]
    stills = [(float(each.detail.get("since", each.at - float(each.detail["seconds"]))), each.at) for each in lags]
    ways = [(record.acked, history.accepted_at(record)) for record in records] if stills else []
    return [sum(max(0.0, min(at, ended) - max(acked, began)) for began, ended in stills) for acked, at in ways]


def _lacking(seconds: Sequence[float], moment: Phase) -> float:
    late = sum(each > NOTICEABLE for each in seconds)
    return min(max(seconds), moment.seconds * late / len(seconds)) if late else 0.0


def _sampler_gap(history: History, phase: Phase) -> float:
    """Return by how much the longest time between two looks at a process, that meets the phase, exceeds the usual."""
    looks = [two for two in pairwise(history.samples) if two[0].at < phase.ended and two[1].at >= phase.began]
    gaps = [after.at - before.at for before, after in looks if after.pid == before.pid]
    return max(gaps) - quantile(gaps, 0.5) if gaps else 0.0


def _due(records: Sequence[Produced], phase: Phase) -> list[Produced]:
    return [record for record in records if phase.began <= record.scheduled < phase.ended]


def _nearly_most(seconds: Iterable[float]) -> float:
    """Return what 1 % of them exceed; 0 where there are none."""
    known = list(seconds)
    return quantile(known, 0.99) if known else 0.0


def _short(history: History, phase: Phase) -> str | None:
    for event in history.events:
        if (event.kind, event.name, event.detail.get("phase")) != ("load", "offered", phase.name):
            continue
        tenant, offered = str(event.detail["tenant"]), int(event.detail["records"])
        sent = sum(record.phase == phase.name for record in history.by_tenant.get(tenant, ()))
        if sent < OFFERED * offered:
            return f"the load fell short in {phase.name}: {sent} of {tenant}'s {offered} records reached Kafka"
    return None
