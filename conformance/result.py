"""What one run of the suite found: the value that every report is written from."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from importlib import metadata

from isolane.conformance.clusters import ClusterKind
from isolane.conformance.measured import Measured
from isolane.conformance.requirements import CATALOGUE
from isolane.conformance.verdict import HARNESS, ExitCode, Finding, Outcome, Verdict, combine, exit_code


def suite_version() -> str:
    """Return the version of this suite; ``uninstalled`` when it runs from a bare source tree."""
    try:
        return metadata.version("isolane")
    except metadata.PackageNotFoundError:
        return "uninstalled"


@dataclass(frozen=True, slots=True)
class Deviation:
    """A requirement that an implementation is known to break, why, and where that is followed up."""

    id: str
    reason: str
    issue: str = ""


@dataclass(frozen=True, slots=True)
class Implementation:
    """Who was judged: as its descriptor names it, by the hash of what the descriptor said, and what it claims.

    Attributes:
        name: Its name.
        version: Its version.
        descriptor: The name or path by which its descriptor was asked for.
        descriptor_hash: SHA-256 of what was judged.
        features: The features that it claims.
        notes: What results must not be read without, in its descriptor's words.
        deviations: The requirements that it is known to break.
        url: Where to find out more about it.
        language: What it is written in.
    """

    name: str
    version: str
    descriptor: str
    descriptor_hash: str
    features: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    deviations: tuple[Deviation, ...] = ()
    url: str = ""
    language: str = ""


@dataclass(frozen=True, slots=True)
class ScenarioRun:
    """One scenario of the run.

    Attributes:
        name: The scenario's name.
        folder: Where its history is, relative to the run's folder.
        judges: The requirements that it declares to judge.
        seconds: How long it took; 0 when it was not run.
        failure: Why it was not run, or not to its end; empty when it was.
        harness_failed: Whether that was the harness' or a service's fault.
        title: What is lived in it, for people.
        measured: The load it really offered, and how its faults bit.
    """

    name: str
    folder: str
    judges: tuple[str, ...]
    seconds: float = 0.0
    failure: str = ""
    harness_failed: bool = False
    title: str = ""
    measured: Measured = field(default_factory=Measured)


@dataclass(frozen=True)
class RunResult:
    """A run of the suite against one implementation.

    Attributes:
        implementation: Who was judged.
        depth: How long the run looked: smoke, standard or soak.
        seed: What its load and faults were drawn from.
        started: When, in UTC, as ISO 8601 text.
        seconds: How long it took.
        scenarios: Every scenario that the depth declares within the scope, run or not.
        findings: What the checkers found.
        scope: The ids that were asked for; empty for all.
        names: The scenarios that were asked for; empty for all.
        bounds: The effective bounds by name.
        services: What stood in for Kafka and the clusters, by name.
        machine: What the run was made on.
        clusters: What the tenants' clusters were.
        left_out: The scenarios of the depth, within the scope, that such clusters cannot have.
        suite: The version of the suite that made it.
        catalogue: The version of the catalogue that it was judged by.
        excused: Why violations of requirements, by id, do not count in the exit code: they were known.
    """

    implementation: Implementation
    depth: str
    seed: int
    started: str
    seconds: float
    scenarios: tuple[ScenarioRun, ...]
    findings: tuple[Finding, ...]
    scope: tuple[str, ...] = ()
    bounds: Mapping[str, float | int | str | bool | None] = field(default_factory=dict)
    services: Mapping[str, str] = field(default_factory=dict)
    machine: Mapping[str, str | int | float] = field(default_factory=dict)
    clusters: ClusterKind = "scripted"
    left_out: tuple[str, ...] = ()
    names: tuple[str, ...] = ()
    suite: str = field(default_factory=suite_version)
    catalogue: str = CATALOGUE.version
    excused: Mapping[str, str] = field(default_factory=dict)

    @property
    def outcomes(self) -> tuple[Outcome, ...]:
        """What the run says of each requirement in its scope, in the catalogue's order."""
        return tuple(
            combine(
                requirement,
                self.findings,
                declared=[each.name for each in self.scenarios if requirement.id in each.judges],
                claimed=self.implementation.features,
            )
            for requirement in CATALOGUE.requirements.values()
            if not self.scope or requirement.id in self.scope
        )

    @property
    def red(self) -> tuple[Outcome, ...]:
        """The outcomes that fail, the gravest first.

        Losses (DEL-1) come before everything. Then come the profiles in the catalogue's order: what is done to data
        (delivery) before what delays it (isolation), and each profile in the catalogue's order.
        """
        profiles = list(CATALOGUE.profiles)

        def gravity(outcome: Outcome) -> tuple[bool, int]:
            return outcome.requirement.id != _LOSS, profiles.index(CATALOGUE.profile_of(outcome.requirement))

        return tuple(sorted(self.with_verdict(Verdict.FAIL), key=gravity))

    @property
    def exit_code(self) -> ExitCode:
        """How the command ends."""
        return exit_code(
            self.outcomes,
            harness_failed=any(scenario.harness_failed for scenario in self.scenarios),
            partial=any(scenario.failure for scenario in self.scenarios),
            excused=self.excused,
            outdated=bool(self.outdated),
        )

    @property
    def outdated(self) -> tuple[Deviation, ...]:
        """The known deviations that are none: what they name has passed."""
        passed = {outcome.requirement.id for outcome in self.with_verdict(Verdict.PASS)}
        return tuple(deviation for deviation in self.implementation.deviations if deviation.id in passed)

    @property
    def known(self) -> tuple[Outcome, ...]:
        """The violations that do not count in the exit code."""
        return tuple(each for each in self.outcomes if each.violates and each.requirement.id in self.excused)

    @property
    def harness(self) -> tuple[Finding, ...]:
        """Findings about the harness itself that are not clean."""
        return tuple(
            finding
            for finding in self.findings
            if finding.requirement == HARNESS and finding.verdict is not Verdict.PASS
        )

    @property
    def headline(self) -> str:
        """The run in one sentence."""
        who = f"{self.implementation.name} {self.implementation.version}".strip()
        part = f" in part, without {', '.join(self.left_out)}" if self.left_out else ""
        known = ", ".join(outcome.requirement.id for outcome in self.known)
        ending = _ENDINGS[self.exit_code]
        if known and self.exit_code is ExitCode.CONFORMS:
            ending = f"violates only what is known ({known})"
        return f"{who} {ending} at depth {self.depth}{part}: {', '.join(_counts(self.outcomes))}"

    def with_verdict(self, verdict: Verdict) -> tuple[Outcome, ...]:
        """Return the outcomes with this verdict."""
        return tuple(outcome for outcome in self.outcomes if outcome.verdict is verdict)

    def reproduce(self, *ids: str) -> str:
        """Return the command line that runs this again; with ids, only what judges those, or saw them by the way."""
        if self.depth == CHAOS:
            return self._replay(ids)
        scope, names = self._narrowed(ids)
        profiles, single = CATALOGUE.split(scope)
        only = [part for name in profiles for part in ("--profile", name)]
        only += [part for identifier in single for part in ("--only", identifier)]
        only += [part for name in names for part in ("--scenario", name)]
        descriptor = self.implementation.descriptor
        command = ["isolane", "verify", descriptor, "--depth", self.depth, "--seed", str(self.seed), *only]
        if self.clusters != "scripted":
            command += ["--services", f"elasticsearch={self.clusters}"]
        return shlex.join(command)

    def _narrowed(self, ids: Sequence[str]) -> tuple[Sequence[str], Sequence[str]]:
        """Return the ids and the names of scenarios that bring what was found of these ids again."""
        if not ids:
            return self.scope, self.names
        declared = {each.name for each in self.scenarios if set(ids) & set(each.judges)}
        if declared:
            return ids, [name for name in self.names if name in declared]
        seen = dict.fromkeys(finding.scenario for finding in self.findings if finding.requirement in ids)
        return self.scope, list(seen) or self.names

    def _replay(self, ids: Sequence[str]) -> str:
        """Return the command line that lives through the timelines again; with ids, those that were seen to fail."""
        failed = {
            finding.scenario
            for finding in self.findings
            if finding.requirement in ids and finding.verdict is Verdict.FAIL
        }
        by_path = [name for name in self.names if name.endswith(".toml")] if failed - set(self.names) else []
        names = [name for name in self.names if name in failed or name in by_path or not failed] or sorted(failed)
        chosen = [part for name in names for part in ("--scenario", name)]
        command = ["isolane", "chaos", "--implementation", self.implementation.descriptor, "--seed", str(self.seed)]
        return shlex.join([*command, *chosen])


CHAOS = "chaos"
"""Stands where the depth would, for a run through timelines."""

_LOSS = "DEL-1"
"""The requirement that no record is lost."""

_ENDINGS = {
    ExitCode.CONFORMS: "conforms",
    ExitCode.VIOLATES: "does not conform",
    ExitCode.INCONCLUSIVE: "could not be judged completely",
    ExitCode.HARNESS_FAILED: "could not be judged, as the harness failed,",
    ExitCode.WRONG_USAGE: "was not judged",
}


def _counts(outcomes: tuple[Outcome, ...]) -> list[str]:
    counts = []
    for verdict in Verdict:
        number = sum(outcome.verdict is verdict for outcome in outcomes)
        if number or verdict is Verdict.PASS:
            counts.append(f"{number} {_COUNTED[verdict]}")
    return counts


_COUNTED = {
    Verdict.PASS: "passed",
    Verdict.FAIL: "failed",
    Verdict.INCONCLUSIVE: "inconclusive",
    Verdict.NOT_JUDGED: "not judged",
    Verdict.NOT_CLAIMED: "not claimed",
}
