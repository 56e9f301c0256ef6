"""Findings add up to a verdict for each requirement, and to one exit code."""

from __future__ import annotations

import pytest

from isolane.conformance.requirements import requirement
from isolane.conformance.verdict import ExitCode, Figure, Finding, Outcome, Verdict, combine, exit_code

PASS, FAIL, DOUBT = Verdict.PASS, Verdict.FAIL, Verdict.INCONCLUSIVE


def finding(verdict: Verdict, scenario: str = "one", identifier: str = "DEL-1") -> Finding:
    """A finding that says which verdict it has, and where."""
    return Finding(identifier, scenario, verdict, f"{verdict} in {scenario}")


def combined(*findings: Finding, declared: tuple[str, ...] = ("one", "two")) -> Outcome:
    """The outcome for DEL-1."""
    return combine(requirement("DEL-1"), findings, declared, claimed=())


def outcome(verdict: Verdict, identifier: str = "DEL-1") -> Outcome:
    """An outcome of a requirement."""
    return Outcome(requirement(identifier), verdict, "because")


@pytest.mark.parametrize(
    ("findings", "expected"),
    [
        ([finding(PASS, "one"), finding(PASS, "two")], PASS),
        ([finding(PASS, "one"), finding(FAIL, "two")], FAIL),
        ([finding(PASS, "one"), finding(DOUBT, "two")], DOUBT),
        ([finding(DOUBT, "one"), finding(FAIL, "two")], FAIL),
        ([finding(PASS, "one"), finding(PASS, "one")], DOUBT),
        ([finding(PASS, "one"), finding(PASS, "two"), finding(FAIL, "undeclared")], FAIL),
        ([finding(PASS, "one"), finding(PASS, "two"), finding(DOUBT, "undeclared")], PASS),
        ([finding(PASS, "undeclared")], DOUBT),
        ([finding(PASS, "one"), finding(PASS, "two"), finding(FAIL, "one", "OFF-1")], PASS),
        ([], DOUBT),
    ],
)
def test_a_pass_takes_every_declared_scenario_and_a_violation_anywhere_fails(
    findings: list[Finding], expected: Verdict
) -> None:
    """What an undeclared scenario happens to see can only accuse."""
    assert combined(*findings).verdict is expected


def test_the_reason_is_that_of_the_deciding_finding() -> None:
    """The first one which has the verdict."""
    assert combined(finding(PASS, "one"), finding(FAIL, "two")).reason == "fail in two"
    assert combined(finding(DOUBT, "two"), finding(PASS, "one")).reason == "inconclusive in two"
    assert combined(finding(PASS, "one")).reason == "two declared to judge it, and did not see what it takes"


def test_without_a_declaring_scenario_a_requirement_is_not_judged() -> None:
    """A pass that nobody set out to prove is none."""
    result = combined(finding(PASS), declared=())
    assert (result.verdict, result.reason) == (Verdict.NOT_JUDGED, "no scenario of this depth judges it")


def test_a_feature_that_is_not_claimed_binds_nobody() -> None:
    """It is shown as not claimed, and judged once it is."""
    limiter = requirement("LIM-3")
    seen = [finding(FAIL, "one", "LIM-3")]
    unclaimed = combine(limiter, seen, ["one"], claimed=["dead_letter"])
    assert (unclaimed.verdict, unclaimed.reason) == (Verdict.NOT_CLAIMED, "feature adaptive_limiter is not claimed")
    assert combine(limiter, seen, ["one"], claimed=["adaptive_limiter"]).verdict is FAIL


@pytest.mark.parametrize(
    ("verdicts", "expected"),
    [
        ([PASS, Verdict.NOT_JUDGED, Verdict.NOT_CLAIMED], ExitCode.CONFORMS),
        ([PASS, FAIL, DOUBT], ExitCode.VIOLATES),
        ([PASS, DOUBT], ExitCode.INCONCLUSIVE),
        ([Verdict.NOT_JUDGED, Verdict.NOT_CLAIMED], ExitCode.WRONG_USAGE),
        ([], ExitCode.WRONG_USAGE),
    ],
)
def test_exit_codes(verdicts: list[Verdict], expected: ExitCode) -> None:
    """0 conforms, 1 violates, 2 inconclusive, 4 nothing judged."""
    assert exit_code([outcome(verdict) for verdict in verdicts]) is expected


def test_a_partial_run_is_never_green() -> None:
    """Something that the depth declares was skipped."""
    assert exit_code([outcome(PASS)], partial=True) is ExitCode.INCONCLUSIVE


def test_a_failed_harness_is_told_apart_from_doubt_but_takes_back_no_violation() -> None:
    """What was seen stays seen."""
    assert exit_code([outcome(PASS), outcome(DOUBT)], harness_failed=True, partial=True) is ExitCode.HARNESS_FAILED
    assert exit_code([outcome(FAIL)], harness_failed=True) is ExitCode.VIOLATES
    assert exit_code([], harness_failed=True) is ExitCode.HARNESS_FAILED


def test_a_should_is_reported_and_never_required() -> None:
    """Its violation does not make an implementation fail."""
    assert not outcome(FAIL, "DEL-8").violates
    assert outcome(FAIL, "DEL-1").violates
    assert exit_code([outcome(FAIL, "DEL-8"), outcome(PASS)]) is ExitCode.CONFORMS


@pytest.mark.parametrize(
    ("figure", "text"),
    [
        (Figure(12345, "records"), "12,345 records"),
        (Figure(0.98765, "", "≥ 0.9"), "0.988 (≥ 0.9)"),
        (Figure(float("inf"), "s", "≤ 1"), "endless (≤ 1)"),
        (Figure(1234.5, "records/s"), "1,234 records/s"),
        (Figure(0.0, "s"), "0 s"),
    ],
)
def test_figures_are_written_for_people(figure: Figure, text: str) -> None:
    """Value, unit and bound, in as many digits as mean something."""
    assert str(figure) == text
