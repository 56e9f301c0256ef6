"""`isolane check` judges what a run left behind, without running anything."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from click.testing import CliRunner, Result

from isolane.conformance.commands import check
from isolane.conformance.history_files import DamagedHistoryError
from isolane.conformance.report import yaml_report
from isolane.conformance.result import ScenarioRun
from isolane.conformance.selftest.conformance.builders import Story, isolated
from isolane.conformance.selftest.conformance.results import FAILED, result


def checked(folder: Path) -> Result:
    """Run the command."""
    return CliRunner().invoke(check.command, [str(folder)], env={"COLUMNS": "200"})


def stored(folder: Path, made: Story, *, failure: str = "") -> Path:
    """A run's folder with one scenario, and a report that says something else than its history."""
    made.write(folder / "handmade")
    scenario = ScenarioRun("handmade", "handmade", ("ISO-1", "DEL-1", "OFF-1", "TEN-2"), failure=failure)
    yaml_report.write(replace(result(FAILED), scenarios=(scenario,)), folder / "report.yaml")
    return folder


def broken() -> Story:
    """A history with one record that no cluster accepted."""
    made = isolated()
    made.produce("h0", 119)
    return made


def test_a_stored_run_is_judged_by_its_histories(tmp_path: Path) -> None:
    """Not by what its report says: that one claims a violation."""
    outcome = checked(stored(tmp_path, isolated()))
    assert outcome.exit_code == 0, outcome.output
    assert "reference 1.2.3 conforms at depth smoke: 4 passed" in outcome.output


def test_a_violation_is_found_again(tmp_path: Path) -> None:
    """With the story of its record, and exit code 1."""
    outcome = checked(stored(tmp_path, broken()))
    assert outcome.exit_code == 1
    assert "DEL-1 violated in handmade" in outcome.output
    assert "never accepted" in outcome.output


def test_a_scenario_can_be_judged_by_itself(tmp_path: Path) -> None:
    """Its folder says what it declared to judge; ISO-3 was declared and not tried."""
    assert checked(broken().write(tmp_path / "bad")).exit_code == 1
    outcome = checked(isolated().write(tmp_path / "good"))
    assert outcome.exit_code == 2
    assert "handmade declared to judge it, and did not see what it takes" in outcome.output


def test_a_scenario_that_left_no_history_stays_what_it_was(tmp_path: Path) -> None:
    """Nothing is made up for one that was not run."""
    stored(tmp_path, isolated())
    report = yaml_report.read(tmp_path / "report.yaml")
    missing = ScenarioRun("crash", "crash", ("DEL-1",), failure="not run: no canary came through")
    yaml_report.write(replace(report, scenarios=(*report.scenarios, missing)), tmp_path / "report.yaml")
    outcome = checked(tmp_path)
    assert outcome.exit_code == 2
    assert "Scenario crash was not completed: not run" in outcome.output


def test_a_folder_without_a_run_is_wrong_usage(tmp_path: Path) -> None:
    """The message says what is missing."""
    outcome = checked(tmp_path)
    assert outcome.exit_code == 2
    assert "Usage:" in outcome.output
    assert "report.yaml cannot be read" in outcome.output


def test_a_report_that_was_cut_short_is_refused_with_a_way_out(tmp_path: Path) -> None:
    """Scenarios can still be checked one by one."""
    stored(tmp_path, isolated())
    report = tmp_path / "report.yaml"
    report.write_text(report.read_text().removesuffix("complete: true\n"))
    outcome = checked(tmp_path)
    assert "was cut short" in outcome.output
    assert "can be given by itself" in outcome.output


def test_a_damaged_history_is_named(tmp_path: Path) -> None:
    """The command line turns this into one line and an exit code."""
    folder = isolated().write(tmp_path / "handmade")
    (folder / "commits.ndjson").write_text("oops\n{}\n")
    outcome = checked(folder)
    assert isinstance(outcome.exception, DamagedHistoryError)
    assert "commits.ndjson, line 1" in str(outcome.exception)
