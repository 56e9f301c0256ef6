"""`isolane compare` puts runs side by side, and says first what makes them hard to compare."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from isolane.conformance.checkers import judge
from isolane.conformance.commands import compare
from isolane.conformance.report import comparing, page, yaml_report
from isolane.conformance.result import RunResult, ScenarioRun
from isolane.conformance.selftest.conformance.builders import Story, isolated
from isolane.conformance.selftest.conformance.results import DOUBTED, FAILED, STARVED, result
from isolane.conformance.stored import StoredRun


def named(name: str, found: RunResult, version: str = "1") -> RunResult:
    """A result of an implementation with this name."""
    return replace(found, implementation=replace(found.implementation, name=name, version=version))


def run(folder: Path, name: str, made: Story) -> Path:
    """The folder of a run with one scenario."""
    findings = tuple(judge(made.load(folder / "handmade")))
    scenario = ScenarioRun("handmade", "handmade", ("ISO-1", "DEL-1", "OFF-1", "TEN-2"))
    yaml_report.write(named(name, replace(result(), scenarios=(scenario,), findings=findings)), folder / "report.yaml")
    return folder


def compared(*arguments: str) -> Result:
    """Run the command."""
    return CliRunner().invoke(compare.command, [*arguments])


def test_verdicts_stand_side_by_side_in_markdown() -> None:
    """A row for each requirement that any has judged; what is red stands out; what nobody judged is left out."""
    table = comparing.markdown([named("good", result()), named("bad", result(FAILED, DOUBTED))])
    assert "|   | good | bad |" in table
    assert "| ISO-1 | pass | **fail** |" in table
    assert "| ISO-3 | pass | inconclusive |" in table
    assert "| isolation | holds | **fail** |" in table
    assert "ISO-5" not in table


def test_two_of_one_name_are_told_apart() -> None:
    """By version, and by number where that is the same, too."""
    assert comparing.headings([named("a", result(), "1"), named("a", result(), "2")]) == ["a 1", "a 2"]
    assert comparing.headings([named("a", result()), named("a", result())]) == ["a 1 (1)", "a 1 (2)"]


def test_what_was_not_the_same_is_said_first() -> None:
    """Depth, versions, machine, clusters, and what was asked for."""
    one = named("a", result())
    other = named("b", replace(result(), depth="standard", suite="9", scope=("DEL-1",), machine={"cores": 64}))
    told = list(comparing.differences([one, other]))
    assert [line.partition(" was")[0] for line in told] == ["the depth", "the suite", "the machine", "what"]
    assert comparing.markdown([one, other]).startswith("> the depth was not the same (a: smoke; b: standard)")
    assert list(comparing.differences([one, named("b", result())])) == []
    unknown = named("b", replace(result(), machine={}))
    assert list(comparing.differences([one, unknown])) == ["the machine was not the same (a: Linux, 2; b: not known)"]


def test_the_command_leaves_a_page_with_every_runs_plot(tmp_path: Path) -> None:
    """On one page: verdicts, figures against their bounds, and for each scenario one plot a run."""
    lossy = isolated()
    lossy.produce("h0", 119)
    folders = [str(run(tmp_path / "a", "good", isolated())), str(run(tmp_path / "b", "lossy", lossy))]
    outcome = compared(*folders, "--out", str(tmp_path / "out"))
    assert outcome.exit_code == 0, outcome.output
    assert "| DEL-1 | pass | **fail** |" in (tmp_path / "out" / "compare.md").read_text()
    assert "| DEL-1 | pass | **fail** |" in outcome.output
    text = (tmp_path / "out" / "compare.html").read_text()
    made = comparing.page([StoredRun.open(Path(folder)) for folder in folders])
    assert page.render(made) == text
    titles = [plot.title for section in made.sections for plot in section.plots]
    assert [title.partition(":")[0] for title in titles] == ["good", "lossy"]
    rows = [str(row[0]) for table in made.sections[1].tables for row in table.rows]
    assert any("lost (committed past, never finished)" in row for row in rows)


def test_scenarios_by_themselves_are_judged_to_be_compared(tmp_path: Path) -> None:
    """Their folders hold no report: what the checkers find in their histories is what they are compared by."""
    lossy = isolated()
    lossy.produce("h0", 119)
    for name, made in (("whole", isolated()), ("lossy", lossy)):
        run(tmp_path / name, name, made)
    folders = [str(tmp_path / name / "handmade") for name in ("whole", "lossy")]
    outcome = compared(*folders, "--out", str(tmp_path / "out"))
    assert "| DEL-1 | pass | **fail** |" in outcome.output
    assert "DEL-1" in (tmp_path / "out" / "compare.html").read_text()


def test_plots_that_are_compared_have_the_same_axes_and_their_faults_are_told(tmp_path: Path) -> None:
    """A run that accepted more at a time looks so; the numbers of faults are explained for each run."""
    slow, quick = isolated(rate=10), isolated(rate=40)
    runs = [StoredRun.open(run(tmp_path / name, name, made)) for name, made in (("slow", slow), ("quick", quick))]
    section = next(each for each in comparing.page(runs).sections if each.plots)
    first, second = (plot.figure["layout"] for plot in section.plots)
    assert (first["xaxis"]["range"], first["yaxis"]["range"]) == (second["xaxis"]["range"], second["yaxis"]["range"])
    assert [table.caption for table in section.tables] == [
        f"{name}: faults, as they are numbered in its plot" for name in ("slow", "quick")
    ]


def test_runs_without_figures_in_common_have_no_section_for_them(tmp_path: Path) -> None:
    """A heading with nothing below it looks like something that was lost."""
    runs = [StoredRun(tmp_path, replace(named(name, result(FAILED)), scenarios=())) for name in ("a", "b")]
    runs = [replace(each, result=replace(each.result, findings=(STARVED,))) for each in runs]
    assert [section.title for section in comparing.page(runs).sections] == ["Verdicts"]


@pytest.mark.parametrize("number", [0, 1])
def test_one_run_is_nothing_to_compare(number: int, tmp_path: Path) -> None:
    """Two are the least."""
    outcome = compared(*[str(run(tmp_path / "a", "good", isolated()))] * number)
    assert outcome.exit_code == 2
