"""`isolane explain` says what an id means to somebody who sees it for the first time."""

from __future__ import annotations

import pytest
from click.testing import CliRunner, Result

from isolane.conformance.commands import explain
from isolane.conformance.requirements import CATALOGUE, requirement
from isolane.conformance.scenarios.catalogue import SCENARIOS


def explained(identifier: str) -> Result:
    """Run the command on a wide terminal."""
    return CliRunner().invoke(explain.command, [identifier], env={"COLUMNS": "5000"})


@pytest.mark.parametrize("identifier", CATALOGUE.requirements)
def test_every_requirement_can_be_explained(identifier: str) -> None:
    """Statement, reason and way of judging."""
    outcome = explained(identifier)
    assert outcome.exit_code == 0
    known = requirement(identifier)
    for text in (known.statement, known.why, known.how, known.level.words):
        assert text in outcome.output


def test_the_bounds_of_isolation_are_said_with_each_requirement_that_uses_them() -> None:
    """Nobody should have to find them elsewhere."""
    assert "Jain's index over the healthy tenants is ≥ 0.95" in explained("ISO-1").output


def test_the_scenarios_that_judge_it_are_named() -> None:
    """From the scenarios themselves."""
    output = explained("del-1").output
    for scenario in SCENARIOS:
        assert (scenario.title in output) == ("DEL-1" in scenario.judges)


def test_what_a_scenario_needs_is_said_with_it() -> None:
    """Its depths, and real nodes where it takes those."""
    assert "nodes (smoke, standard, soak; --services elasticsearch=native): " in explained("TEN-3").output


def test_reports_of_others_are_links() -> None:
    """So that the reason can be read at its source."""
    assert "https://github.com/influxdata/telegraf/issues/19738" in explained("ISO-1").output


def test_a_feature_is_named_with_its_level() -> None:
    """It binds only who claims it."""
    assert "MUST where claimed: many_sick_tenants" in explained("ISO-5").output


def test_an_unknown_id_is_wrong_usage_and_names_near_ones() -> None:
    """Click's own way to say it, so the command line gives its exit code."""
    outcome = explained("ISO-12")
    assert outcome.exit_code == 2
    assert "Usage:" in outcome.output
    assert "did you mean" in outcome.output
