"""The known-bad matrix: what is run, what counts as caught, and how it is told."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from isolane.conformance import cli, matrix
from isolane.conformance.report import matrix_table
from isolane.conformance.result import RunResult
from isolane.conformance.selftest.conformance.results import FAILED, PASSED, result
from isolane.conformance.verdict import ExitCode, Finding, Verdict
from isolane.fixtures.known_bad.catalogue import CATALOGUE, KnownBad

KNOWN = KnownBad(
    sentence="One queue for all.",
    scenarios=("isolation",),
    fails=("ISO-1", "ISO-3"),
    passes=("DEL-1", "TEN-2", "OFF-1", "DEL-2", "DEL-3"),
)
LOST = replace(PASSED, verdict=Verdict.FAIL, summary="records lost: 3")


def row(*findings: Finding, full: bool = False) -> matrix.Row:
    """The row of a known-bad implementation with these findings."""
    return matrix.row("one_queue", KNOWN, [result(*findings)], full=full)


def test_one_that_fails_what_it_must_is_caught() -> None:
    """What else it must fail, and was tried, is told when it did not."""
    found = row(FAILED)
    assert (found.caught, dict(found.missed)) == (("ISO-1",), {"ISO-3": Verdict.PASS})
    assert not found.survived
    assert not found.as_declared
    assert matrix_table.line(found) == "caught   one_queue: failed ISO-1; not failed: ISO-3 (pass) (42 s)"


def test_one_that_fails_nothing_that_it_must_survives() -> None:
    """Whatever else it failed."""
    found = row(LOST)
    assert found.survived
    assert matrix_table.line(found).startswith("SURVIVED one_queue: ISO-1 (pass), ISO-3 (pass)")


def test_what_it_must_pass_is_held_against_it_in_full_only() -> None:
    """A suite that calls everything broken proves nothing."""
    assert row(FAILED).accused == {}
    found = row(FAILED, LOST, full=True)
    assert found.accused["DEL-1"] is Verdict.FAIL
    assert row(FAILED, full=True).passed == ("DEL-1",)


def test_runs_on_several_kinds_of_clusters_count_together() -> None:
    """Failed in one is failed."""
    runs: list[RunResult] = [result(), result(FAILED)]
    assert matrix.row("one_queue", KNOWN, runs, full=False).caught == ("ISO-1",)


@pytest.mark.parametrize("name", list(CATALOGUE))
def test_the_short_way_tries_what_each_must_fail(name: str, tmp_path: Path) -> None:
    """In one run of one scenario, which judges one of its targets at least, and nothing else."""
    known = CATALOGUE[name]
    (asked,) = matrix.plan(name, known, tmp_path, full=False)
    (scenario,) = asked.scenarios
    assert set(asked.scope) == set(known.fails) & set(scenario.judges) != set()
    assert asked.descriptor.name == f"known-bad.{name}"


def test_in_full_everything_that_is_declared_is_run(tmp_path: Path) -> None:
    """On real nodes, too, where one of its scenarios takes them."""
    name = next(name for name, known in CATALOGUE.items() if "nodes" in known.scenarios)
    runs = matrix.plan(name, CATALOGUE[name], tmp_path, full=True)
    assert {each.clusters for each in runs} == {"scripted", "native"}
    assert {scenario.name for each in runs for scenario in each.scenarios} == set(CATALOGUE[name].scenarios)
    assert all(each.scope == () for each in runs)


def test_the_matrix_is_markdown() -> None:
    """Headed by what it says; a row each."""
    text = matrix_table.markdown([row(FAILED), row()])
    assert text.startswith(
        "1 of 2 known-bad implementations were caught; survivors: one_queue; not all as declared: one_queue."
    )
    assert "| `one_queue` | One queue for all. | ISO-1 | ISO-3 (pass) |  |  |" in text


def test_an_unknown_name_is_wrong_usage(capsys: pytest.CaptureFixture[str]) -> None:
    """With those that there are."""
    assert cli.run(["known-bad", "nobody"]) == ExitCode.WRONG_USAGE
    assert "'nobody': there is no such; allowed: drop_on_4xx" in capsys.readouterr().err
