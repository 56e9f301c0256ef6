"""What is different between a run and the same run, later."""

from __future__ import annotations

from collections.abc import Iterator

from isolane.conformance.result import RunResult


def lines(then: RunResult, now: RunResult) -> Iterator[str]:
    """Yield a line for each verdict that is another one now, and for what else was not the same."""
    if then.suite != now.suite:
        yield f"The suite was version {then.suite} then, and is {now.suite} now."
    hashes = then.implementation.descriptor_hash, now.implementation.descriptor_hash
    if all(hashes) and len(set(hashes)) > 1:
        yield f"The descriptor has changed since: its hash was {hashes[0][:12]}, and is {hashes[1][:12]}."
    before = {outcome.requirement.id: outcome.verdict for outcome in then.outcomes}
    both = [outcome for outcome in now.outcomes if outcome.requirement.id in before]
    changed = [outcome for outcome in both if before[outcome.requirement.id] is not outcome.verdict]
    for outcome in changed:
        identifier = outcome.requirement.id
        yield f"{identifier}: {before[identifier].value} then, {outcome.verdict.value} now: {outcome.reason}"
    if not changed:
        yield f"The verdicts on all {len(both)} requirements are the same as then."
