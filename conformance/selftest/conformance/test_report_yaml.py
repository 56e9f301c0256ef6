"""report.yaml holds the whole result, and is refused when it is not whole."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
import yaml

from isolane.conformance.report import yaml_report
from isolane.conformance.report.yaml_report import ReportError
from isolane.conformance.requirements import CATALOGUE
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
    """Not judged and not claimed are lists of their own."""
    results = yaml.safe_load(written(tmp_path).read_text())["results"]
    assert results["isolation"]["fail"] == ["ISO-1"]
    assert results["isolation"]["inconclusive"] == ["ISO-3"]
    assert results["delivery"]["pass"] == ["DEL-1"]
    assert "LIM-1" in results["isolation"]["not_claimed"]
    listed = [identifier for verdicts in results.values() for ids in verdicts.values() for identifier in ids]
    assert sorted(listed) == sorted(CATALOGUE.requirements)


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
        ("schema: [", "is no YAML"),
        ("schema: 1\ncomplete: true", "implementation"),
    ],
)
def test_what_is_no_report_is_refused_with_a_reason(tmp_path: Path, content: str, message: str) -> None:
    """One line that says why."""
    path = tmp_path / "report.yaml"
    path.write_text(content)
    with pytest.raises(ReportError, match=message):
        yaml_report.read(path)


def test_a_missing_report_is_named(tmp_path: Path) -> None:
    """With its path."""
    with pytest.raises(ReportError, match=r"report\.yaml cannot be read: No such file"):
        yaml_report.read(tmp_path / "report.yaml")
