"""The known-bad matrix: each implementation that is wrong on purpose, what it must fail and pass, and what it did."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from isolane.conformance.clusters import CLUSTER_KINDS
from isolane.conformance.engine import Request
from isolane.conformance.requests import request
from isolane.conformance.result import RunResult
from isolane.conformance.scenarios.catalogue import SCENARIOS
from isolane.conformance.verdict import Outcome, Verdict
from isolane.fixtures.known_bad.catalogue import KnownBad

PREFIX = "known-bad/"
"""What stands before a known-bad implementation's name where an implementation is asked for."""

SEED = 1
"""What load is drawn from: the matrix is the same each time, but for what threads make of it."""


@dataclass(frozen=True, slots=True)
class Row:
    """What one known-bad implementation did.

    Attributes:
        name: Its name.
        sentence: What is wrong with it.
        caught: The ids that it must fail, and did.
        missed: Those that it must fail, that were tried, and that it did not fail; each with the verdict instead.
        passed: The ids that it must pass all the same, and did.
        accused: Those that it did not pass, each with the verdict instead.
        scenarios: Those in which it was tried.
        seconds: How long that took.
    """

    name: str
    sentence: str
    caught: tuple[str, ...]
    missed: Mapping[str, Verdict]
    passed: tuple[str, ...]
    accused: Mapping[str, Verdict]
    scenarios: tuple[str, ...]
    seconds: float

    @property
    def survived(self) -> bool:
        """Whether the suite did not see what is wrong with it: it failed nothing that it must fail."""
        return not self.caught

    @property
    def as_declared(self) -> bool:
        """Whether every verdict is the one that its table declares."""
        return not self.missed and not self.accused


def plan(name: str, known: KnownBad, folder: Path, *, full: bool) -> list[Request]:
    """Return the runs that it takes to hold a known-bad implementation to what it declares, one a kind of clusters.

    All that its scenarios judge; or, not in full, what it must fail, in the one scenario that judges most of that.

    Args:
        name: Its name.
        known: What it is held to.
        folder: Where evidence goes, in folders of its own.
        full: See above.
    """
    tried = [each for each in SCENARIOS if each.name in known.scenarios]
    if not full:
        tried = [max(tried, key=lambda scenario: len(set(known.fails) & set(scenario.judges)))]
    runs = []
    for kind in CLUSTER_KINDS:
        scenarios = [each for each in tried if each.clusters == kind]
        if scenarios:
            targets = [each for each in known.fails if any(each in scenario.judges for scenario in scenarios)]
            runs.append(
                request(
                    f"{PREFIX}{name}",
                    depth_name=known.depth,
                    seed=SEED,
                    out=folder / name / kind,
                    ids=() if full else targets,
                    names=[each.name for each in scenarios],
                    clusters=kind,
                )
            )
    return runs


def row(name: str, known: KnownBad, results: Sequence[RunResult], *, full: bool) -> Row:
    """Return what a known-bad implementation did in its runs; what it must pass is only looked at in full."""
    outcomes = [outcome for result in results for outcome in result.outcomes]
    judged = {each for result in results for scenario in result.scenarios for each in scenario.judges}
    targets = {each: _worst(each, outcomes) for each in known.fails if each in judged}
    spared = {each: _worst(each, outcomes) for each in known.passes} if full else {}
    return Row(
        name=name,
        sentence=known.sentence,
        caught=tuple(each for each, verdict in targets.items() if verdict is Verdict.FAIL),
        missed={each: verdict for each, verdict in targets.items() if verdict is not Verdict.FAIL},
        passed=tuple(each for each, verdict in spared.items() if verdict is Verdict.PASS),
        accused={each: verdict for each, verdict in spared.items() if verdict is not Verdict.PASS},
        scenarios=tuple(scenario.name for result in results for scenario in result.scenarios),
        seconds=sum(result.seconds for result in results),
    )


_SEVEREST_FIRST = (Verdict.FAIL, Verdict.INCONCLUSIVE, Verdict.PASS, Verdict.NOT_CLAIMED, Verdict.NOT_JUDGED)


def _worst(identifier: str, outcomes: Sequence[Outcome]) -> Verdict:
    verdicts = {outcome.verdict for outcome in outcomes if outcome.requirement.id == identifier}
    return next((verdict for verdict in _SEVEREST_FIRST if verdict in verdicts), Verdict.NOT_JUDGED)
