"""report.yaml holds the whole result, and is refused when it is not whole."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from importlib import resources
from pathlib import Path

import jsonschema
import pytest
import yaml

from isolane.conformance import report
from isolane.conformance.measured import Measured
from isolane.conformance.report import contents, yaml_report
from isolane.conformance.report.yaml_report import ReportError
from isolane.conformance.requirements import CATALOGUE
from isolane.conformance.selftest.conformance import builders
from isolane.conformance.selftest.conformance.results import DOUBTED, FAILED, STARVED, result


def written(folder: Path) -> Path:
    """A report with findings of every kind."""
    path = folder / "report.yaml"
    yaml_report.write(result(FAILED, DOUBTED, STARVED), path)
    return path


def test_a_report_is_read_back_as_it_was_written(tmp_path: Path) -> None:
    """Every figure, story and bound, endless delays included."""
    assert yaml_report.read(written(tmp_path)) == result(FAILED, DOUBTED, STARVED)


def test_a_report_says_what_was_judged_by_what_on_what(tmp_path: Path) -> None:
    """Whoever finds it in an archive needs nothing else."""
    content = yaml.safe_load(written(tmp_path).read_text())
    assert content["implementation"]["descriptor_hash"] == "abc123"
    assert content["catalogue"] == CATALOGUE.version
    assert content["reproduce"] == "isolane verify reference --depth smoke --seed 7"
    assert content["bounds"] == {"workers": 16, "commit_interval": 1.0}
    assert content["machine"] == {"system": "Linux", "cores": 2}
    assert content["exit_code"] == 1
    assert content["headline"] == result(FAILED, DOUBTED).headline


def test_a_report_has_the_notes_on_the_implementation(tmp_path: Path) -> None:
    """An archived result is not read without them, either."""
    noted = replace(result(), implementation=replace(result().implementation, notes=("its exporter is a stand-in",)))
    yaml_report.write(noted, tmp_path / "report.yaml")
    assert yaml_report.read(tmp_path / "report.yaml").implementation.notes == ("its exporter is a stand-in",)


def test_a_report_lists_every_requirement_once_by_profile_and_verdict(tmp_path: Path) -> None:
    """Not judged and not claimed are lists of their own; each profile has its conclusion and its counts."""
    profiles = {each["name"]: each for each in yaml.safe_load(written(tmp_path).read_text())["profiles"]}
    assert {name: each["result"] for name, each in profiles.items()} == {
        "delivery": "success",
        "isolation": "failure",
        "memory": "not judged",
        "membership": "not judged",
        "operation": "not judged",
    }
    assert profiles["isolation"]["failed"] == ["ISO-1"]
    assert profiles["isolation"]["inconclusive"] == ["ISO-3"]
    assert profiles["delivery"]["passed"] == ["DEL-1"]
    assert "LIM-1" in profiles["isolation"]["not_claimed"]
    lists = [
        (profile["statistics"][key], profile[key]) for profile in profiles.values() for key in profile["statistics"]
    ]
    assert all(count == len(ids) for count, ids in lists)
    assert sorted(identifier for _, ids in lists for identifier in ids) == sorted(CATALOGUE.requirements)


def test_a_report_lists_the_features_that_are_claimed_and_those_that_are_not(tmp_path: Path) -> None:
    """Together all that the catalogue knows: what is not claimed is never hidden."""
    features = yaml.safe_load(written(tmp_path).read_text())["features"]
    assert features["claimed"] == ["many_sick_tenants"]
    assert sorted(features["claimed"] + features["unclaimed"]) == sorted(CATALOGUE.features)


def test_the_schema_in_the_package_is_that_of_this_version() -> None:
    """After a change: `isolane report-schema > conformance/report/report.schema.json`."""
    stored = json.loads((resources.files(report) / "report.schema.json").read_text())
    assert stored == contents.schema()


def test_a_report_fits_its_schema_and_a_cut_one_does_not(tmp_path: Path) -> None:
    """So that other tools can rely on it."""
    content = yaml.safe_load(written(tmp_path).read_text())
    validator = jsonschema.Draft202012Validator(contents.schema())
    assert [error.message for error in validator.iter_errors(content)] == []
    del content["complete"]
    assert [error.message for error in validator.iter_errors(content)] == ["'complete' is a required property"]


def test_what_was_measured_is_taken_from_the_history(tmp_path: Path) -> None:
    """Capacity, the highest load that was offered, and the bites of each fault at each tenant, added up."""
    made = builders.story()
    made.event(1, "load", "capacity", records_per_second=1234.56, left=0)
    made.event(2, "load", "rates", rates={"0": 30.0, "1": 60.0})
    made.event(3, "load", "rates", rates={"0": 10.0})
    for at, tenant, bitten in ((4, "sick-1234", 7), (5, "sick-1234", 3), (6, "h0-1234", 1)):
        made.event(at, "heal", "slow", tenant=tenant, bitten=bitten)
    made.event(7, "heal", "node", tenant="h0-1234")
    measured = Measured.of(made.load(tmp_path))
    assert measured == Measured(capacity=1234.6, offered=90.0, bites={"slow at sick": 10, "slow at h0": 1})
    assert Measured.of(builders.story().load(tmp_path / "nothing")) == Measured()


def test_the_footer_comes_last(tmp_path: Path) -> None:
    """So that a report that was cut anywhere lacks it."""
    assert written(tmp_path).read_text().endswith("\ncomplete: true\n")


@pytest.mark.parametrize("lines", [1, -1, -2])
def test_a_report_that_was_cut_short_is_refused(tmp_path: Path, lines: int) -> None:
    """At any line: its figures would look like a whole run's."""
    path = written(tmp_path)
    path.write_text("".join(path.read_text().splitlines(keepends=True)[:lines]))
    with pytest.raises(ReportError, match="was cut short: it lacks its last line, complete: true"):
        yaml_report.read(path)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("[1, 2]", "is no report of isolane"),
        ("a: 1", "is no report of isolane"),
        ("schema: 9\ncomplete: true", "has schema 9; this version reads schema 1"),
        ("schema: [", "is no YAML: while parsing a flow node expected the node content"),
        ("schema: 1\ncomplete: true", "implementation"),
    ],
)
def test_what_is_no_report_is_refused_with_a_reason(tmp_path: Path, content: str, message: str) -> None:
    """One line that says why."""
    path = tmp_path / "report.yaml"
    path.write_text(content)
    with pytest.raises(ReportError, match=message):
        yaml_report.read(path)


@pytest.mark.parametrize(
    ("there", "instead", "message"),
    [
        ("scope: []", "scope: [ISO-1, FOO-1]", "scope.1: 'FOO-1' is unknown to this version"),
        ("depth: smoke", "depth: bottom", "depth: 'bottom' is unknown to this version"),
        ("requirement: ISO-1", "requirement: ISO-77", "findings.0.requirement: 'ISO-77' is unknown to this version"),
        ("  - LIM-1\n  seconds", "  - LIM-77\n  seconds", "scenarios.0.judges: 'LIM-77' is unknown to this version"),
    ],
)
def test_a_name_that_means_nothing_is_refused(tmp_path: Path, there: str, instead: str, message: str) -> None:
    """A violation of a requirement that this version does not know would count for nothing, in silence."""
    path = written(tmp_path)
    text = path.read_text()
    assert there in text
    path.write_text(text.replace(there, instead))
    with pytest.raises(ReportError, match=re.escape(f"{path}: {message}")):
        yaml_report.read(path)


def test_a_footer_that_is_not_last_is_none(tmp_path: Path) -> None:
    """What comes after it was not written by this suite."""
    path = written(tmp_path)
    path.write_text(path.read_text() + "more: 1\n")
    with pytest.raises(ReportError, match="was cut short"):
        yaml_report.read(path)


def test_a_missing_report_is_named(tmp_path: Path) -> None:
    """With its path."""
    with pytest.raises(ReportError, match=r"report\.yaml cannot be read: No such file"):
        yaml_report.read(tmp_path / "report.yaml")
