"""The conformance tests: one for each requirement and scenario that declares to judge it."""

from __future__ import annotations

import pytest

from isolane.conformance.pytest_live import Declared, LiveRun
from isolane.conformance.verdict import Verdict


def test_requirement(declared: Declared, live_run: LiveRun) -> None:
    """The implementation meets the requirement in this scenario."""
    outcome = live_run.outcome(declared)
    match outcome.verdict:
        case Verdict.PASS:
            return
        case Verdict.NOT_CLAIMED | Verdict.NOT_JUDGED:
            pytest.skip(outcome.reason)
        case Verdict.FAIL if not outcome.violates:
            pytest.skip(f"should, and does not: {outcome.reason}")
        case verdict:
            stories = ["\n".join(finding.story) for finding in outcome.findings if finding.story]
            pytest.fail("\n".join([f"{declared.requirement} {verdict}: {outcome.reason}", *stories[:1]]), pytrace=False)
