"""Known-bad implementations: each fails what it is wrong about, passes what it is right about, and has its story."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from importlib import resources
from pathlib import Path

import pytest

from isolane.conformance import cli
from isolane.conformance.clusters import CLUSTER_KINDS, ClusterKind
from isolane.conformance.history import History
from isolane.conformance.report import yaml_report
from isolane.conformance.requirements import CATALOGUE as REQUIREMENTS
from isolane.conformance.requirements import requirement
from isolane.conformance.result import RunResult
from isolane.conformance.scenarios.catalogue import SCENARIOS
from isolane.conformance.scenarios.model import Scenario
from isolane.conformance.selftest.conformance.suffering import sufferings
from isolane.conformance.tokens import PATTERN, Token
from isolane.conformance.verdict import Finding, Verdict
from isolane.fixtures.implementations import descriptor
from isolane.fixtures.known_bad.catalogue import CATALOGUE, KnownBad

EVERY = list(CATALOGUE.items())
NAMES = list(CATALOGUE)
OF_PROCESSES = {"TEN-5", "LIM-8", "LIF-2", "LIF-4", "OPS-1", "OPS-2", "OPS-3"}
"""Requirements on what a process needs, does or says: no record need suffer when they are broken."""

COVERED = {
    each.id
    for profile in ("delivery", "isolation", "memory", "membership", "operation")
    for each in REQUIREMENTS.of_profile(profile)
    if not each.id.startswith("ISO")
}


@pytest.mark.parametrize(("name", "known"), EVERY, ids=NAMES)
def test_each_declares_what_there_is(name: str, known: KnownBad) -> None:
    """Requirements of the catalogue, scenarios that judge those at that depth, and nothing both failed and passed."""
    scenarios = [each for each in SCENARIOS if each.name in known.scenarios and known.depth in each.depths]
    assert {each.name for each in scenarios} == set(known.scenarios)
    judged = {judged for each in scenarios for judged in each.judges}
    assert {*known.fails, *known.passes} <= judged
    assert not set(known.fails) & set(known.passes)
    assert descriptor.find(f"known-bad/{name}").name == f"known-bad.{name}"


@pytest.mark.parametrize(("name", "known"), EVERY, ids=NAMES)
def test_each_says_which_field_bug_it_repeats(name: str, known: KnownBad) -> None:
    """The first words of its module are the numbers of the field bugs and a requirement that it fails; it is small."""
    source = (resources.files("isolane.fixtures.known_bad") / f"{name}.py").read_text()
    words, _, _ = (ast.get_docstring(ast.parse(source)) or "").partition(":")
    assert set(known.fb) == set(re.findall(r"FB-\d\d", words))
    assert set(known.fails) >= set(re.findall(r"[A-Z]{3}-\d+", words)) != set()


def test_each_finds_what_it_changes() -> None:
    """The reference still has every function that is replaced, with as many arguments, and each module is imported."""
    names = ", ".join(f"isolane.fixtures.known_bad.{name}" for name in NAMES)
    subprocess.run([sys.executable, "-c", f"import {names}"], check=True)


def test_there_is_one_for_each_must_that_is_judged() -> None:
    """No requirement that a scenario judges, but those on isolation and a few, is without one that fails it."""
    judged = {each for scenario in SCENARIOS for each in scenario.judges} & COVERED
    failed = {each for known in CATALOGUE.values() for each in known.fails}
    assert judged - failed == set()


def of_kind(known: KnownBad, clusters: ClusterKind) -> list[Scenario]:
    """The scenarios that it takes to see it which need such clusters."""
    return [each for each in SCENARIOS if each.name in known.scenarios and each.clusters == clusters]


@pytest.mark.known_bad
@pytest.mark.parametrize(
    ("name", "clusters"),
    [(name, kind) for name, known in EVERY for kind in CLUSTER_KINDS if of_kind(known, kind)],
)
def test_each_is_caught_as_declared(name: str, clusters: ClusterKind, tmp_path: Path) -> None:
    """It fails and passes what it declares, and each failure's story names a record that really suffered."""
    folder, known = tmp_path / "run", CATALOGUE[name]
    scenarios = of_kind(known, clusters)
    arguments = ["--depth", known.depth, "--services", f"elasticsearch={clusters}", "--out", str(folder)]
    cli.run(["verify", f"known-bad/{name}", *arguments, "--scenario", ",".join(each.name for each in scenarios)])
    result = yaml_report.read(folder / yaml_report.NAME)
    verdicts = {outcome.requirement.id: outcome.verdict for outcome in result.outcomes}
    judged = {judged for each in scenarios for judged in each.judges}
    fails, passes = judged & set(known.fails), judged & set(known.passes)
    expected = dict.fromkeys(fails, Verdict.FAIL) | dict.fromkeys(passes, Verdict.PASS)
    assert {each: verdicts[each] for each in expected} == expected
    for each in fails:
        if each not in OF_PROCESSES or first_failure(result, each).story:
            suffered(folder, result, each)


def suffered(folder: Path, result: RunResult, failed: str) -> None:
    """Hold the first failure of a requirement to its history: the record that its story names went through that."""
    finding = first_failure(result, failed)
    assert finding.story, f"{failed} has no story"
    named = PATTERN.search(finding.story[0].encode())
    assert named, f"{failed}: {finding.story[0]!r} names no record"
    history = History.load(folder / finding.scenario)
    record = history.find(Token.parse(named[0]).record)
    assert record is not None, f"{failed}: {finding.story[0]!r} was never produced"
    assert failed in sufferings(history, record), f"{failed}: nothing of the kind happened to {finding.story[0]!r}"


def first_failure(result: RunResult, failed: str) -> Finding:
    """The finding that an outcome's reason comes from."""
    return next(
        finding
        for finding in result.findings
        if finding.requirement == requirement(failed).id and finding.verdict is Verdict.FAIL
    )
