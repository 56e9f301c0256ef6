"""Verdicts: what a checker found in one history, and what the histories of a run say together."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from enum import IntEnum, StrEnum

from isolane.conformance.requirements import Level, Requirement

HARNESS = "HARNESS"
"""Stands where a requirement's id would, in findings about the harness itself. They colour no verdict on their own."""


class Verdict(StrEnum):
    """What can be said of a requirement."""

    PASS = "pass"  # noqa: S105 - a verdict, not a password
    FAIL = "fail"
    INCONCLUSIVE = "inconclusive"
    NOT_JUDGED = "not judged"
    NOT_CLAIMED = "not claimed"


class ExitCode(IntEnum):
    """How the command ends."""

    CONFORMS = 0
    VIOLATES = 1
    INCONCLUSIVE = 2
    HARNESS_FAILED = 3
    WRONG_USAGE = 4


@dataclass(frozen=True, slots=True)
class Figure:
    """A measured value, its unit, and the bound that it was held against, as text (empty: there is none)."""

    value: float
    unit: str = ""
    bound: str = ""

    def __str__(self) -> str:
        """Return the figure for people, as in ``0.97 (≥ 0.9)`` and ``1,234 records``."""
        if self.value == math.inf:
            text = "endless"
        elif isinstance(self.value, int) or abs(self.value) >= 100:
            text = f"{self.value:,.0f} {self.unit}".rstrip()
        else:
            text = f"{self.value:.3g} {self.unit}".rstrip()
        return f"{text} ({self.bound})" if self.bound else text


@dataclass(frozen=True, slots=True)
class Finding:
    """What one checker says of one requirement in one scenario.

    Attributes:
        requirement: The id; `HARNESS` for a finding about the harness itself.
        scenario: The scenario's name.
        verdict: Pass, fail or inconclusive.
        summary: One sentence: what was seen, or what was missing to judge.
        case: Which of several cases of the scenario this is (a phase); empty when there is one.
        figures: What was measured, by name.
        evidence: Tokens of the records that show it.
        story: The lines of the first such record's story.
    """

    requirement: str
    scenario: str
    verdict: Verdict
    summary: str
    case: str = ""
    figures: Mapping[str, Figure] = field(default_factory=dict)
    evidence: tuple[str, ...] = ()
    story: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a run says of one requirement: the verdict, why, and the findings it rests on."""

    requirement: Requirement
    verdict: Verdict
    reason: str
    findings: tuple[Finding, ...] = ()

    @property
    def violates(self) -> bool:
        """Whether an implementation with this outcome does not conform; a SHOULD is reported, never required."""
        return self.verdict is Verdict.FAIL and self.requirement.level is not Level.SHOULD


def combine(
    requirement: Requirement,
    findings: Iterable[Finding],
    declared: Collection[str],
    claimed: Collection[str],
) -> Outcome:
    """Return what the findings of a run say of one requirement.

    A violation anywhere fails, in whatever scenario it was seen. A pass takes a passing finding in each scenario that
    declares to judge the requirement, and nothing inconclusive in any; what others happen to see proves nothing.

    Args:
        requirement: The requirement.
        findings: Findings of the run; those of other requirements are passed over.
        declared: The scenarios of the run's depth that declare to judge it.
        claimed: The features that the implementation claims.
    """
    own = tuple(finding for finding in findings if finding.requirement == requirement.id)
    if requirement.feature is not None and requirement.feature not in claimed:
        return Outcome(requirement, Verdict.NOT_CLAIMED, f"feature {requirement.feature} is not claimed", own)
    failures = tuple(finding for finding in own if finding.verdict is Verdict.FAIL)
    if failures:
        return Outcome(requirement, Verdict.FAIL, failures[0].summary, own)
    if not declared:
        return Outcome(requirement, Verdict.NOT_JUDGED, "no scenario of this depth judges it", own)
    return _of_declared(requirement, own, declared)


def _of_declared(requirement: Requirement, own: tuple[Finding, ...], declared: Collection[str]) -> Outcome:
    relevant = tuple(finding for finding in own if finding.scenario in declared)
    doubts = [finding for finding in relevant if finding.verdict is not Verdict.PASS]
    if doubts:
        return Outcome(requirement, Verdict.INCONCLUSIVE, doubts[0].summary, own)
    silent = sorted(set(declared) - {finding.scenario for finding in relevant})
    if silent:
        reason = f"{', '.join(silent)} declared to judge it, and did not see what it takes"
        return Outcome(requirement, Verdict.INCONCLUSIVE, reason, own)
    return Outcome(requirement, Verdict.PASS, relevant[0].summary, own)


def exit_code(
    outcomes: Collection[Outcome],
    *,
    harness_failed: bool = False,
    partial: bool = False,
    excused: Collection[str] = (),
    outdated: bool = False,
) -> ExitCode:
    """Return how a run with these outcomes ends.

    A violation that was seen stays one, whatever failed later. A run that judged nothing is wrong usage, never green.

    Args:
        outcomes: One for each requirement in the run's scope.
        harness_failed: The harness or a service failed.
        partial: Something that the depth declares was skipped.
        excused: The ids whose violations are known, and were said not to count.
        outdated: Something is said to be a known deviation, and is none.
    """
    verdicts = {outcome.verdict for outcome in outcomes}
    if any(outcome.violates and outcome.requirement.id not in excused for outcome in outcomes):
        return ExitCode.VIOLATES
    if harness_failed:
        return ExitCode.HARNESS_FAILED
    if outdated:
        return ExitCode.WRONG_USAGE
    if partial or Verdict.INCONCLUSIVE in verdicts:
        return ExitCode.INCONCLUSIVE
    if not verdicts & {Verdict.PASS, Verdict.FAIL}:
        return ExitCode.WRONG_USAGE
    return ExitCode.CONFORMS
