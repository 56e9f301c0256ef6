"""The terminal's report can be read anywhere: verdicts, figures, and the story of each violation."""

from __future__ import annotations

import io
from dataclasses import replace
from typing import Literal

import pytest
from rich.console import Console

from isolane.conformance.report import table
from isolane.conformance.report.printing import printer
from isolane.conformance.result import RunResult
from isolane.conformance.selftest.conformance.results import DOUBTED, FAILED, STARVED, STORY, result


def shown(run: RunResult, *, width: int = 100, terminal: bool = False) -> str:
    """What the console shows."""
    output = io.StringIO()
    colours: Literal["standard", "auto"] = "standard" if terminal else "auto"
    table.show(run, Console(file=output, width=width, force_terminal=terminal, color_system=colours))
    return output.getvalue()


def test_a_violation_opens_with_its_story_and_the_command_that_shows_it_again() -> None:
    """Before the table, so that the cause is read first."""
    text = shown(result(FAILED), width=200)
    assert text.startswith("ISO-1 violated in isolation, fault:slow: healthy tenant b")
    story = text.index(STORY[1])
    assert story < text.index("reproduce: isolane verify reference --depth smoke --seed 7 --only ISO-1")
    assert story < text.index("Requirement")


@pytest.mark.parametrize(("columns", "width"), [(None, 120), ("77", 77)])
def test_where_there_is_no_terminal_it_is_wide_enough(
    columns: str | None, width: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Piped into a file, or a CI's log, the table has room for sentences; who knows better says so."""
    monkeypatch.delenv("COLUMNS", raising=False)
    if columns is not None:
        monkeypatch.setenv("COLUMNS", columns)
    monkeypatch.setattr("sys.stdout", io.StringIO())
    assert printer().width == width


def test_every_judged_requirement_has_its_verdict_scenario_and_figures() -> None:
    """A line for each scenario that looked at it."""
    text = shown(result(FAILED, DOUBTED))
    row = next(line for line in text.splitlines() if line.startswith("ISO-1  "))
    assert "fail" in row
    assert "isolation fault:slow" in row
    assert "p99 delay: endless (≤ 0.6)" in text
    assert "the fault did not bite" in text
    assert "produced: 1,200" in text
    assert "inconclusive" in text
    assert "crash" in text


def test_what_was_not_judged_or_not_claimed_is_listed() -> None:
    """Never hidden."""
    text = shown(result(), width=400)
    assert "Not claimed: " in text
    not_judged = next(line for line in text.splitlines() if line.startswith("Not judged: "))
    assert "TEN-1" in not_judged
    assert "ISO-1," not in not_judged


def test_the_last_line_is_the_run_in_one_sentence() -> None:
    """Where the eye ends up."""
    assert shown(result(), width=200).splitlines()[-1] == result().headline


def test_notes_on_the_implementation_stand_before_the_last_line() -> None:
    """What results must not be read without is read with them."""
    noted = replace(result().implementation, notes=("its exporter is a stand-in", "nor is its router its own"))
    *_, first, second, headline = shown(replace(result(), implementation=noted), width=200).splitlines()
    assert [first, second] == [f"Note on reference: {note}" for note in noted.notes]
    assert headline == result().headline


def test_a_should_that_is_broken_is_not_called_a_violation() -> None:
    """It is reported, never required."""
    should = replace(FAILED, requirement="ISO-6")
    assert "ISO-6 not met (SHOULD) in isolation" in shown(replace(result(), findings=(should,)))


def test_bounds_harness_doubts_and_broken_scenarios_stand_beside_the_verdict() -> None:
    """A verdict is read with what it rests on."""
    whole = result(STARVED)
    broken = replace(whole.scenarios[1], failure="no canary came through")
    text = shown(replace(whole, scenarios=(whole.scenarios[0], broken)), width=200)
    assert "Bounds: workers 16, commit_interval 1.0" in text
    assert "Scenario isolation: the harness was starved in drain" in text
    assert "Scenario crash was not completed: no canary came through" in text


def test_a_requirement_that_nothing_was_found_on_has_its_reason() -> None:
    """Its scenario declared it and saw nothing."""
    text = shown(replace(result(), findings=()), width=200)
    row = next(line for line in text.splitlines() if line.startswith("DEL-1 "))
    assert "declared to judge it" in row


@pytest.mark.parametrize("width", [40, 80, 120])
def test_no_line_is_wider_than_the_terminal(width: int) -> None:
    """Long figures are folded."""
    assert max(len(line) for line in shown(result(FAILED, DOUBTED), width=width).splitlines()) <= width


def test_colour_is_only_for_terminals() -> None:
    """A log file gets plain text, and markup in messages is no markup."""
    marked = replace(FAILED, summary="[red]not markup[/red]")
    assert "\x1b[" in shown(result(marked), terminal=True)
    plain = shown(result(marked), width=200)
    assert "\x1b[" not in plain
    assert "[red]not markup[/red]" in plain
