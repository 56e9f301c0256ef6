"""A run's result says in one sentence what it found, and how to see it again."""

from __future__ import annotations

import shlex
from dataclasses import replace

import pytest

from isolane.conformance.requirements import CATALOGUE
from isolane.conformance.result import Implementation
from isolane.conformance.selftest.conformance.results import DOUBTED, FAILED, STARVED, result
from isolane.conformance.verdict import ExitCode, Verdict


def test_there_is_an_outcome_for_every_requirement_of_the_catalogue() -> None:
    """What was not judged, and what is not claimed, is never hidden."""
    outcomes = result(FAILED, DOUBTED).outcomes
    assert [outcome.requirement.id for outcome in outcomes] == list(CATALOGUE.requirements)
    verdicts = {outcome.requirement.id: outcome.verdict for outcome in outcomes}
    assert verdicts["ISO-1"] is Verdict.FAIL
    assert verdicts["ISO-3"] is Verdict.INCONCLUSIVE
    assert verdicts["DEL-1"] is Verdict.PASS
    assert verdicts["ISO-5"] is Verdict.NOT_JUDGED
    assert verdicts["LIM-1"] is Verdict.NOT_CLAIMED


def test_a_scope_leaves_out_what_was_not_asked_for() -> None:
    """With --only the verdict is about those alone."""
    scoped = replace(result(FAILED), scope=("DEL-1",))
    assert [outcome.requirement.id for outcome in scoped.outcomes] == ["DEL-1"]
    assert scoped.exit_code is ExitCode.CONFORMS


def test_the_headline_counts_everything() -> None:
    """Who, what and how deep, in one sentence."""
    assert result().headline.startswith("reference 1.2.3 conforms at depth smoke: 3 passed, ")
    unclaimed = len(result().with_verdict(Verdict.NOT_CLAIMED))
    assert unclaimed
    assert result().headline.endswith(f", {unclaimed} not claimed")
    assert result(FAILED, DOUBTED).headline.startswith(
        "reference 1.2.3 does not conform at depth smoke: 1 passed, 1 failed, 1 inconclusive, "
    )


def test_what_real_nodes_cannot_have_is_said_in_the_headline() -> None:
    """A part of what the depth is made of was left out; the command that runs it again leaves out the same."""
    part = replace(result(), clusters="native", left_out=("isolation", "crash"))
    assert part.headline.startswith(
        "reference 1.2.3 conforms at depth smoke in part, without isolation, crash: 3 passed"
    )
    assert part.reproduce().endswith(" --seed 7 --services elasticsearch=native")


@pytest.mark.parametrize(
    ("failure", "harness_failed", "expected"),
    [("no canary came through", False, ExitCode.INCONCLUSIVE), ("the disk is full", True, ExitCode.HARNESS_FAILED)],
)
def test_a_scenario_that_was_not_completed_is_never_green(
    failure: str, expected: ExitCode, *, harness_failed: bool
) -> None:
    """Whose fault it was decides the exit code."""
    whole = result()
    broken = replace(whole.scenarios[1], failure=failure, harness_failed=harness_failed)
    assert replace(whole, scenarios=(whole.scenarios[0], broken)).exit_code is expected


def test_doubts_about_the_harness_colour_no_verdict_on_their_own() -> None:
    """Those that matter make the requirement concerned inconclusive themselves."""
    assert result(STARVED).exit_code is ExitCode.CONFORMS
    assert result(STARVED).harness == (STARVED,)


def test_the_reproduce_line_is_a_command_that_a_shell_understands() -> None:
    """Also when the descriptor's path has a space in it."""
    assert result().reproduce("ISO-1") == "isolane verify reference --depth smoke --seed 7 --only ISO-1"
    odd = replace(result(), implementation=Implementation("x", "1", "my files/x.toml", ""), scope=("DEL-1", "OFF-1"))
    assert shlex.split(odd.reproduce())[2:] == [
        *("my files/x.toml", "--depth", "smoke", "--seed", "7"),
        *("--only", "DEL-1", "--only", "OFF-1"),
    ]


def test_the_reproduce_line_names_the_scenarios_that_judge_it() -> None:
    """Of those that were asked for; with another one the command would be refused."""
    named = replace(result(FAILED), names=("isolation", "crash"))
    assert named.reproduce("ISO-1").endswith(" --only ISO-1 --scenario isolation")
    assert named.reproduce("DEL-1").endswith(" --only DEL-1 --scenario isolation --scenario crash")


def test_what_was_seen_by_the_way_is_reproduced_where_it_was_seen() -> None:
    """A violation counts in whatever scenario it was seen; alone, nothing of this depth judges it."""
    seen = replace(FAILED, requirement="DEL-2", scenario="crash")
    assert result(seen).reproduce("DEL-2") == "isolane verify reference --depth smoke --seed 7 --scenario crash"


def test_a_profile_that_was_asked_for_is_reproduced_as_one() -> None:
    """The scenarios of a profile are fewer than those that judge any of its requirements."""
    memory = tuple(each.id for each in CATALOGUE.of_profile("memory"))
    scoped = replace(result(), scope=(*memory, "TEN-2"))
    assert scoped.reproduce().endswith(" --seed 7 --profile memory --only TEN-2")


def test_what_fails_is_told_by_gravity() -> None:
    """Losses first, then what else is done to data, then what delays it; each profile in the catalogue's order."""
    ids = ["TEN-2", "ISO-1", "ISO-3", "DEL-1", "OFF-1", "REB-1"]
    found = result(*(replace(FAILED, requirement=identifier) for identifier in ids))
    expected = ["DEL-1", "TEN-2", "OFF-1", "ISO-1", "ISO-3", "REB-1"]
    assert [outcome.requirement.id for outcome in found.red] == expected
