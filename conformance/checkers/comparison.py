"""What somebody felt in one phase, held against another phase: the measures and bounds that "isolation holds" names.

Every measure is taken for each flow of records apart, and the worst one counts.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from operator import attrgetter
from types import MappingProxyType

from isolane.conformance.checkers import harness, rates
from isolane.conformance.checkers.failure import failure
from isolane.conformance.history import History
from isolane.conformance.history_values import Phase, Produced
from isolane.conformance.verdict import Figure, Finding, Verdict

CONTROL = "control"
WINDOW = 5.0
STEP = 0.1
RATE = 0.9
GAP = 2.0
FAIRNESS = 0.95
DELAY_FACTOR = 3.0
DELAY_ALLOWANCE = 0.5
"""The bounds of ISO (requirements): seconds, shares and factors."""

FEWEST = 20
"""Records a flow must be offered in a window: with fewer, one record more or less decides."""

STEADY = 0.5
"""The share that the worst window of a control must reach to be a measure for anything."""

CONTROL_LAG = DELAY_ALLOWANCE / 5
"""Seconds that count, in the control, of what load or its acknowledgement was late by: they widen the bounds."""


class CannotJudgeError(Exception):
    """Ends the judging of a phase: the message says what is missing."""


@dataclass(frozen=True, slots=True)
class Flow:
    """Records that are judged together: `who` they belong to, as the subject of a sentence, in order of schedule."""

    who: str
    records: Sequence[Produced]


@dataclass(frozen=True, slots=True)
class Reading:
    """What one flow felt in one phase.

    Attributes:
        who: Whose it is.
        rate: Records accepted a second, over the whole phase.
        share: Records accepted for each one scheduled, over the whole phase.
        windows: Each window in which it was offered enough, moved to when its records were due: what came within the
            control's p99 delay came in time.
        counted: The window, where it happened, with the fewest acceptances for what was scheduled in it.
        p99: The delay in seconds, from the scheduled time, that 1 % of the phase's records exceeded.
        gap: The longest time without an acceptance while records that Kafka had acknowledged were pending.
        slowest: The record of the phase that took longest.
    """

    who: str
    rate: float
    share: float
    windows: Sequence[rates.Window]
    counted: rates.Window
    p99: float
    gap: rates.Gap
    slowest: Produced

    @property
    def window(self) -> rates.Window:
        """Its worst window."""
        return min(self.windows, key=attrgetter("share"))


@dataclass(frozen=True, slots=True)
class Breach:
    """A bound that was broken: how, as the end of a sentence, by how many seconds, and when (None: the whole phase)."""

    how: str
    excess: float
    when: Phase | None = None


@dataclass(frozen=True, slots=True)
class Comparison:
    """One flow under a fault, beside its own control.

    Attributes:
        control: What it felt in the control.
        fault: What it felt under the fault.
        doubt: Why all that breaks a bound may be the harness' own doing; None when it is not.
    """

    control: Reading
    fault: Reading
    doubt: str | None = None

    @property
    def ratio(self) -> float:
        """The worst window's share, relative to the control's worst; a control that caught up counts as 1."""
        return self._ratio(self.fault.window)

    @property
    def retention(self) -> float:
        """The part of what it was offered that it kept over the whole phase, relative to the control."""
        return self.fault.share / min(1.0, self.control.share)

    @property
    def slowdown(self) -> float:
        """Its p99 delay as a multiple of the control's."""
        return self.fault.p99 / self.control.p99 if self.control.p99 > 0 else math.inf

    @property
    def delay_bound(self) -> float:
        """The p99 delay in seconds that is allowed."""
        return max(DELAY_FACTOR * self.control.p99, self.control.p99 + DELAY_ALLOWANCE)

    @property
    def rate_bound(self) -> float:
        """The least ratio that is allowed: half a second's records may be missing, from 5 s as from a shorter phase."""
        return 1 - (1 - RATE) * WINDOW / min(WINDOW, self.fault.window.seconds)

    def breaches(self) -> list[Breach]:
        """Return what breaks a bound, of the windows the worst."""
        slow = max(self._slow(), key=attrgetter("excess"), default=None)
        return ([] if slow is None else [slow]) + self._late()

    @property
    def undecided(self) -> bool:
        """Whether one record less would break the bound for the rate, in a phase that looks as if it were broken."""
        counted = self.fault.counted.share / min(1.0, self.control.counted.share)
        one_less = min((each.accepted - 1) / each.scheduled for each in self.fault.windows)
        return counted < self.rate_bound and one_less / min(1.0, self.control.window.share) < self.rate_bound

    def all_breaches(self) -> list[Breach]:
        """Return what breaks a bound, each window apart."""
        return self._slow() + self._late()

    def _ratio(self, window: rates.Window) -> float:
        return window.share / min(1.0, self.control.window.share)

    def _slow(self) -> list[Breach]:
        return [self._too_slow(window) for window in self.fault.windows if self._ratio(window) < self.rate_bound]

    def _too_slow(self, window: rates.Window) -> Breach:
        ratio, seconds = self._ratio(window), window.seconds
        how = f"its rate in the worst {seconds:.3g} s fell to {ratio:.2f} of the control's"
        return Breach(how, seconds * (self.rate_bound - ratio), Phase("", window.began, window.began + seconds))

    def _late(self) -> list[Breach]:
        found, gap = [], self.fault.gap
        if self.fault.p99 > self.delay_bound:
            how = f"its p99 delay was {_seconds(self.fault.p99)} (allowed {self.delay_bound:.2f} s)"
            found.append(Breach(how, self.fault.p99 - self.delay_bound))
        if gap.seconds >= GAP:
            how = f"it had nothing accepted for {gap.seconds:.1f} s while records were pending"
            found.append(Breach(how, gap.seconds - GAP, Phase("", gap.began, gap.began + gap.seconds)))
        return found


def tenant(history: History, name: str) -> Flow:
    """Return all records of a healthy tenant."""
    return Flow(f"healthy tenant {name}", history.by_tenant[name])


def healthy(history: History, sick: frozenset[str]) -> list[Flow]:
    """Return the flows of the healthy tenants, without those that are sick now.

    Raises:
        CannotJudgeError: There are none.
    """
    names = [each.name for each in history.meta.tenants if each.role == "healthy" and each.name not in sick]
    if not names:
        raise CannotJudgeError("the scenario has no healthy tenant")
    return [tenant(history, name) for name in names]


def read(history: History, phase: Phase, flow: Flow, usual: float | None = None) -> Reading | None:
    """Return what a flow felt in a phase; None when too little was scheduled for it to say.

    A record counts with its true delay where it was *scheduled*, even when accepted long after the phase, and with an
    infinite one when it never was; in the control only with what passed of its delay before the control's end, and
    without what the harness was late by beyond a tenth of a second, since neither the fault that follows nor a moment
    in which Kafka stood still must set the bound that it is held against. For windows acceptances count where they
    *happened*, or where they would have at the usual delay, if that is later: else a batch more or less, which the
    control has as well, would decide about a window of few records.

    Args:
        history: In which it was felt.
        phase: In which it was felt.
        flow: Which felt it.
        usual: The control's p99 delay; None where the phase is itself what others are held against.
    """
    times = [(record, history.accepted_at(record)) for record in flow.records]
    scheduled = [record.scheduled for record in flow.records]
    accepted = sorted(at for _, at in times if at < math.inf)
    due = [each for each in times if phase.began <= each[0].scheduled < phase.ended]
    delays = [(_delay(record, at, phase), record) for record, at in due]
    counted = _windows(scheduled, accepted, phase)
    if not counted:
        return None
    p99 = rates.quantile((delay for delay, _ in delays), 0.99)
    usual = p99 if usual is None else usual
    in_time = sorted(max(at - usual, record.scheduled) for record, at in times if at < math.inf)
    windows = _windows(scheduled, in_time, Phase(phase.name, phase.began - usual, phase.ended - usual))
    if not windows:
        return None
    done = rates.count(accepted, phase.began, phase.ended)
    return Reading(
        who=flow.who,
        rate=done / phase.seconds,
        share=done / len(delays),
        windows=windows,
        counted=min(counted, key=attrgetter("share")),
        p99=p99,
        gap=rates.longest_gap(((record.acked, at) for record, at in times), phase.began, phase.ended),
        slowest=max(delays, key=lambda each: each[0])[1],
    )


def _delay(record: Produced, at: float, phase: Phase) -> float:
    """Return the delay that counts of a record of a phase, accepted then."""
    if phase.name != CONTROL:
        return at - record.scheduled
    late = min(record.acked, at) - record.scheduled
    return min(at, phase.ended) - record.scheduled - max(0.0, late - CONTROL_LAG)


def _windows(scheduled: Sequence[float], accepted: Sequence[float], phase: Phase) -> list[rates.Window]:
    return rates.windows(scheduled, accepted, phase.began, phase.ended, length=WINDOW, step=STEP, least=FEWEST)


def control_of(history: History) -> Phase:
    """Return the control.

    Raises:
        CannotJudgeError: There is none, or it is too short.
    """
    control = history.phase(CONTROL)
    if control is None or control.seconds < GAP:
        raise CannotJudgeError(f"there is no control of {GAP:g} s or more to compare with")
    return control


def compare(history: History, control: Phase, phase: Phase, flows: Sequence[Flow]) -> list[Comparison]:
    """Return what each flow felt in a phase beside what it felt in the control.

    Load that leaves late, or that Kafka takes late, adds to the delays, which count from when it was due: who holds its
    bounds all the same has held them, and who does not is judged by how much of that it can explain
    (`Comparison.doubt`).

    Raises:
        CannotJudgeError: The harness was starved, a flow was offered too little, or the control was not steady.
    """
    for stretch in (control, phase):
        reason = harness.starved(history, stretch, lag=math.inf)
        if reason is not None:
            raise CannotJudgeError(reason)
    return [_compare(history, control, phase, flow) for flow in flows]


def figures(comparisons: Sequence[Comparison]) -> dict[str, Figure]:
    """Return the figures that stand beside a verdict on isolation."""
    rate = min(comparisons, key=lambda each: each.ratio)
    delay = max(comparisons, key=lambda each: each.fault.p99 - each.delay_bound)
    gap = max(comparisons, key=lambda each: each.fault.gap.seconds)
    seconds = min(rate.fault.window.seconds, rate.control.window.seconds)
    return {
        "control rate": Figure(sum(each.control.rate for each in comparisons), "records/s over the whole phase"),
        "rate": Figure(sum(each.fault.rate for each in comparisons), "records/s over the whole phase"),
        "retention": Figure(min(each.retention for each in comparisons), "of what was offered over the whole phase"),
        f"worst {seconds:.3g} s window / control's": Figure(rate.ratio, "", f"≥ {rate.rate_bound:.3g}"),
        "control p99 delay": Figure(delay.control.p99, "s"),
        "p99 delay": Figure(delay.fault.p99, "s", f"≤ {delay.delay_bound:.2f}"),
        "p99 delay / control's": Figure(delay.slowdown),
        "longest gap": Figure(gap.fault.gap.seconds, "s", f"< {GAP:g}"),
        "Jain's index": Figure(_fairness(comparisons), "", f"≥ {FAIRNESS:g}"),
    }


def broken(comparisons: Sequence[Comparison]) -> bool:
    """Return whether isolation did not hold."""
    return bool(_broken(comparisons)[1])


def judged(
    history: History,
    requirement: str,
    case: str,
    comparisons: Sequence[Comparison],
    *,
    passed: str,
    more: Mapping[str, Figure] = MappingProxyType({}),
) -> Finding:
    """Return the finding that isolation held, or that it did not, with the story of a record that felt it.

    Args:
        history: In which it was felt.
        requirement: Whose bounds these are.
        case: Which case of it this is.
        comparisons: What each flow felt; one at least.
        passed: What to say when isolation held.
        more: Figures to stand after those of the comparisons.
    """
    all_figures = {**figures(comparisons), **more}
    worst, found = _broken(comparisons)
    if not found and (few := [each for each in comparisons if each.undecided]):
        one = f"one record more or less decides whether the rate of {few[0].fault.who} held"
        return Finding(requirement, history.scenario, Verdict.INCONCLUSIVE, one, case=case, figures=all_figures)
    if not found:
        return Finding(requirement, history.scenario, Verdict.PASS, passed, case=case, figures=all_figures)
    broken_by = [each for each in comparisons if each.breaches()]
    if broken_by and all(each.doubt for each in broken_by):
        return Finding(requirement, history.scenario, Verdict.INCONCLUSIVE, str(worst.doubt), case, all_figures)
    sentence = f"{worst.fault.who}: {'; '.join(found)}"
    return failure(history, requirement, case, sentence, worst.fault.slowest, figures=all_figures)


def doubted(history: History, requirement: str, case: str, reason: CannotJudgeError) -> Finding:
    """Return the finding that nothing can be said, and why."""
    return Finding(requirement, history.scenario, Verdict.INCONCLUSIVE, str(reason), case=case)


def _compare(history: History, control: Phase, phase: Phase, flow: Flow) -> Comparison:
    before = _read(history, control, flow)
    during = _read(history, phase, flow, before.p99)
    lag, what = harness.lag(flow.records, control)
    if lag > harness.LOAD_LAG:
        raise CannotJudgeError(
            f"the harness was starved in {control.name}: {what} of {lag:.2f} s (allowed {harness.LOAD_LAG:g} s)"
        )
    if before.window.share < STEADY or before.gap.seconds >= GAP:
        raise CannotJudgeError(
            f"{flow.who} was not steady in the {control.name}: in its worst {before.window.seconds:.3g} s "
            f"{before.window.share:.2f} of the offered records were accepted, "
            f"p99 delay {_seconds(before.p99)}, longest gap {before.gap.seconds:.1f} s"
        )
    compared = Comparison(before, during)
    if during.p99 == math.inf and len(compared.breaches()) == 1 and history.last < phase.ended + compared.delay_bound:
        raise CannotJudgeError(f"the run ended before all of {flow.who} in {phase.name} was due")
    return replace(compared, doubt=_doubt(history, phase, flow, compared))


def _read(history: History, phase: Phase, flow: Flow, usual: float | None = None) -> Reading:
    reading = read(history, phase, flow, usual)
    if reading is None:
        few = f"{flow.who} was offered fewer than {FEWEST} records in any {WINDOW:g} s of {phase.name}"
        raise CannotJudgeError(few)
    return reading


def _doubt(history: History, phase: Phase, flow: Flow, compared: Comparison) -> str | None:
    """Return why all that breaks a bound may be the harness' own doing: it was late then by more than it is broken by.

    Each window is asked about by itself, so that a moment in which Kafka stood still excuses no other.
    """
    reason = None
    for breach in sorted(compared.all_breaches(), key=attrgetter("excess"), reverse=True):
        if breach.when is None:
            late, what = harness.lateness(history, flow.records, phase)
        else:
            late, what = harness.hiccup(history, flow.records, breach.when, compared.control.p99)
        if breach.excess >= late:
            return None
        beyond = f"{flow.who} was only {breach.excess:.2f} s beyond its bounds"
        reason = reason or f"the harness was starved: {what} of {late:.2f} s, and {beyond}"
    return reason


def _broken(comparisons: Sequence[Comparison]) -> tuple[Comparison, list[str]]:
    """Return the flow that fared worst, and what broke a bound, in words."""
    worst = max(comparisons, key=lambda each: (len(each.breaches()), each.fault.p99, -each.ratio))
    return worst, [*(breach.how for breach in worst.breaches()), *_unfair(comparisons)]


def _unfair(comparisons: Sequence[Comparison]) -> list[str]:
    """Return what is unequal among the flows, in words; where nobody got anything there is nothing to be fair with."""
    fairness = _fairness(comparisons)
    if fairness >= FAIRNESS:
        return []
    if not fairness:
        return ["nothing of any of them was accepted in the phase"]
    return [f"Jain's index over all of them was {fairness:.2f}"]


def _fairness(comparisons: Sequence[Comparison]) -> float:
    return rates.jain([each.fault.share for each in comparisons])


def _seconds(delay: float) -> str:
    return "endless: records were never accepted" if delay == math.inf else f"{delay:.2f} s"
