"""What a run is forgiven: violations that its descriptor names, and those that a baseline had before it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from isolane.conformance.result import RunResult
from isolane.conformance.verdict import Verdict


def excused(result: RunResult, *, allow_known: bool = False, baseline: RunResult | None = None) -> RunResult:
    """Return the result, its violations excused where they are known; each with the reason.

    Args:
        result: What a run has found.
        allow_known: Whether the known deviations of the descriptor do not count.
        baseline: An earlier result: what failed there does not count. What was not judged there does.
    """
    failed = {outcome.requirement.id for outcome in baseline.with_verdict(Verdict.FAIL)} if baseline else set()
    reasons = dict.fromkeys(sorted(failed), "failed in the baseline, too")
    if allow_known:
        reasons |= {each.id: f"known deviation: {each.reason}" for each in result.implementation.deviations}
    violated = {outcome.requirement.id for outcome in result.outcomes if outcome.violates}
    return replace(result, excused={name: reason for name, reason in reasons.items() if name in violated})


def lines(result: RunResult, baseline: RunResult | None) -> Iterator[str]:
    """Yield what is to be said of what is known, and of what has changed since the baseline."""
    for name, reason in result.excused.items():
        yield f"{name} is violated, and does not count: {reason}"
    for deviation in result.outdated:
        yield f"{deviation.id} is a known deviation in the descriptor ({deviation.reason}), and passed: take it out"
    if baseline is None:
        return
    before = {outcome.requirement.id: outcome.verdict for outcome in baseline.outcomes}
    for outcome in result.outcomes:
        was = before.get(outcome.requirement.id, Verdict.NOT_JUDGED)
        if outcome.violates and was is not Verdict.FAIL:
            yield f"{outcome.requirement.id} is a regression: {was.value} in the baseline, {outcome.verdict.value} now"
        elif was is Verdict.FAIL and outcome.verdict is Verdict.PASS:
            yield f"{outcome.requirement.id} failed in the baseline, and passes now: renew the baseline"
        elif was is Verdict.PASS and outcome.verdict in {Verdict.NOT_JUDGED, Verdict.NOT_CLAIMED}:
            yield f"{outcome.requirement.id} passed in the baseline, and is {outcome.verdict.value} now"
