"""What a fault did to one tenant, in figures: before it, during it, and after the heal. All times are seconds."""

from __future__ import annotations

import math
from dataclasses import dataclass
from operator import attrgetter

from isolane.conformance.checkers import faults, rates
from isolane.conformance.checkers.comparison import CONTROL
from isolane.conformance.history import History
from isolane.conformance.history_values import Fault, Phase, Produced

WORST = 2.0
"""Seconds of the window in which the worst rate is looked for."""

STEP = 0.1
"""Seconds from the begin of one such window to the next."""


@dataclass(frozen=True, slots=True)
class Effect:
    """The figures of one tenant. Rates are records accepted a second, delays count from due to accepted.

    Attributes:
        calm_rate: Its rate before the fault.
        rate: Its rate during the fault.
        worst_rate: Its rate in the worst `WORST` seconds of the fault.
        stall: The longest time, from the fault's onset until the next fault or the load's end, in which records waited
            in Kafka and none was accepted.
        calm_p99: The delay that 1 % of the records due before the fault exceeded.
        p99: The delay that 1 % of the records due during the fault exceeded; infinity when those were never accepted.
        recovery: From the heal until all that was due before it was accepted; 0 when nothing was left then, infinity
            when it never was.
    """

    calm_rate: float
    rate: float
    worst_rate: float
    stall: float
    calm_p99: float
    p99: float
    recovery: float

    @property
    def kept(self) -> float:
        """The part of its calm rate that the tenant kept; 0 when it had none to keep."""
        return self.rate / self.calm_rate if self.calm_rate else 0.0


class NothingToMeasureError(Exception):
    """Raised for a history without a calm phase, or in which the tenant was offered nothing."""


def effect(history: History, tenant: str, fault: Fault) -> Effect:
    """Return what a fault that was healed did to the tenant, which may be the sick one itself.

    Raises:
        NothingToMeasureError: There was no calm before the fault, or no load before or during it.
    """
    calm = history.phase(CONTROL)
    during = Phase(fault.name, fault.began, min(fault.ended, history.last))
    if calm is None:
        raise NothingToMeasureError(f"{history.folder}: no phase {CONTROL!r} to compare with")
    records = history.by_tenant[tenant]
    times = [(record, history.accepted_at(record)) for record in records]
    accepted = sorted(at for _, at in times if at < math.inf)
    scheduled = [record.scheduled for record in records]
    windows = rates.windows(scheduled, accepted, during.began, during.ended, length=WORST, step=STEP, least=1)
    window = min(windows, key=attrgetter("share"), default=None)
    before, meanwhile = _delays(times, calm, until=calm.ended), _delays(times, during)
    if window is None or not before or not meanwhile:
        raise NothingToMeasureError(f"{history.folder}: {tenant} was not offered anything all the time")
    behind = [at for record, at in times if record.scheduled < during.ended]
    return Effect(
        calm_rate=_rate(accepted, calm),
        rate=_rate(accepted, during),
        worst_rate=window.accepted / window.seconds,
        stall=_stall(times, during.began, _aftermath_ended(history, during)),
        calm_p99=rates.quantile(before, 0.99),
        p99=rates.quantile(meanwhile, 0.99),
        recovery=max(0.0, max(behind) - during.ended),
    )


def _rate(accepted: list[float], phase: Phase) -> float:
    return rates.count(accepted, phase.began, phase.ended) / phase.seconds


def _delays(times: list[tuple[Produced, float]], phase: Phase, until: float = math.inf) -> list[float]:
    return [min(at, until) - record.scheduled for record, at in times if phase.began <= record.scheduled < phase.ended]


def _stall(times: list[tuple[Produced, float]], began: float, ended: float) -> float:
    return rates.longest_gap(((record.acked, at) for record, at in times), began, ended).seconds


def _aftermath_ended(history: History, during: Phase) -> float:
    """Return when the next fault began, or the load ended: what waits from then on is not this fault's doing."""
    ends = (
        phase.began
        for phase in history.phases
        if phase.began >= during.ended and (phase.name == "drain" or faults.kind_of(phase) is not None)
    )
    return next(ends, history.last)
