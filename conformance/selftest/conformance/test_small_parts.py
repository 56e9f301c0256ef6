"""Bounds, choices of services, expectations: small pure parts of a run."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest

from isolane.conformance import bounds
from isolane.conformance.expectation import Expectation
from isolane.conformance.requests import request
from isolane.conformance.requirements import CATALOGUE
from isolane.conformance.result import Implementation, RunResult, ScenarioRun
from isolane.conformance.scenarios.catalogue import SCENARIOS, judging
from isolane.conformance.scenarios.model import Scenario
from isolane.conformance.services import ServiceChoice, ServiceChoiceError
from isolane.conformance.verdict import Finding, Verdict
from isolane.fixtures.implementations import descriptor


def test_a_lax_descriptor_buys_nothing() -> None:
    """A claimed bound beyond the suite's cap counts as the cap; a modest one counts as claimed."""
    known = descriptor.find("reference")
    lax = known.model_copy(update={"timing": known.timing.model_copy(update={"commit_interval": 3000.0})})
    assert bounds.effective(lax)["commit_interval"] == 5
    assert bounds.effective(known)["commit_interval"] == 0.5


def test_services_are_native_unless_an_address_is_given() -> None:
    """`kafka=external:HOST:PORT` names a broker that runs already."""
    assert ServiceChoice.parse([]).kafka == "native"
    assert ServiceChoice.parse(["kafka=external:127.0.0.1:9092"]).kafka == "127.0.0.1:9092"


def test_clusters_are_scripted_unless_real_ones_are_asked_for() -> None:
    """`elasticsearch=native` brings real nodes, and reports say what they are and what they lack."""
    assert ServiceChoice.parse([]).described["elasticsearch"] == "scripted clusters"
    choice = ServiceChoice.parse(["elasticsearch=native", "kafka=native"])
    assert choice.elasticsearch == "native"
    assert "Elasticsearch 9.2.0: real nodes" in choice.described["elasticsearch"]


@pytest.mark.parametrize(
    ("choice", "message"),
    [
        ("elasticsearch=docker", "allowed here: elasticsearch=scripted, elasticsearch=native"),
        ("elasticsearch", "allowed here: elasticsearch=scripted, elasticsearch=native"),
        ("kafka=external:", "allowed: kafka=native, kafka=external:HOST:PORT"),
        ("kafka", "allowed: kafka=native, kafka=external:HOST:PORT"),
        ("redis=native", "no such service; allowed: kafka=native, kafka=external:HOST:PORT, elasticsearch=scripted"),
    ],
)
def test_a_wrong_choice_says_what_is_allowed(choice: str, message: str) -> None:
    """With what was typed."""
    with pytest.raises(ServiceChoiceError, match=f"--services: '{choice}': {re.escape(message)}"):
        ServiceChoice.parse([choice])


def test_what_needs_scripts_takes_no_real_nodes() -> None:
    """The demo, and the doctor."""
    with pytest.raises(ServiceChoiceError, match=r"allowed here: elasticsearch=scripted$"):
        ServiceChoice.parse(["elasticsearch=native"], only_scripted=True)


def test_on_real_nodes_some_scenarios_are_run_and_the_others_are_left_out(tmp_path: Path) -> None:
    """A depth is made for scripted clusters: what real ones cannot have is named; without them nothing is missing."""
    real = request("reference", out=tmp_path / "real", clusters="native")
    assert {each.clusters for each in real.scenarios} == {"native"}
    assert {"isolation", "crash"} <= {each.name for each in real.left_out}
    scripted = request("reference", out=tmp_path / "scripted")
    assert {each.clusters for each in scripted.scenarios} == {"scripted"}
    assert scripted.left_out == ()


def test_a_profile_takes_the_scenarios_that_are_for_it() -> None:
    """Delivery is judged in every one, and a scenario is for it when it judges nothing else; all of it is judged."""
    delivery = tuple(each.id for each in CATALOGUE.of_profile("delivery"))
    scenarios = judging(delivery)
    assert {"crash", "outcomes", "records", "ownership", "idle-tenants", "nodes"} <= {each.name for each in scenarios}
    assert all(set(each.judges) <= set(delivery) for each in scenarios)
    assert {judged for each in scenarios for judged in each.judges} == set(delivery)
    assert "isolation" in {each.name for each in judging(("DEL-1",))}
    memory = tuple(each.id for each in CATALOGUE.of_profile("memory"))
    assert {each.profiles for each in judging(memory)} == {frozenset({"memory"})}


@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda scenario: scenario.name)
def test_no_tenant_has_a_name_that_the_pattern_of_topics_does_not_match(scenario: Scenario) -> None:
    """Nobody would read its topics."""
    assert all(
        re.fullmatch("[a-z0-9]+", tenant.name) for tenant in scenario.shape(descriptor.find("reference")).tenants
    )


def test_every_scenario_judges_known_requirements() -> None:
    """What a scenario declares to judge is in the catalogue, and is found by it."""
    for scenario in SCENARIOS:
        assert set(scenario.judges) <= set(CATALOGUE.requirements)
        assert scenario in judging(frozenset(scenario.judges[:1]))


def test_every_requirement_is_judged_by_a_scenario() -> None:
    """None is only written down."""
    assert {judged for scenario in SCENARIOS for judged in scenario.judges} == set(CATALOGUE.requirements)


def finding(name: str, verdict: Verdict) -> Finding:
    """A finding of the scenario `crash`."""
    return Finding(name, "crash", verdict, "seen")


RESULT = RunResult(
    implementation=Implementation("x", "1", "x", ""),
    depth="smoke",
    seed=1,
    started="",
    seconds=1.0,
    scenarios=(ScenarioRun("crash", "crash", ("DEL-1", "OFF-1")),),
    findings=(finding("DEL-1", Verdict.PASS), finding("OFF-1", Verdict.FAIL)),
)
EXPECTED = Expectation.model_validate(
    {"implementation": "x", "depth": "smoke", "exit_code": 1, "pass": ["DEL-1"], "fail": ["OFF-1"]}
)


def test_an_expected_verdict_file_says_which_run_it_is_about(tmp_path: Path) -> None:
    """Its name begins with the implementation's; there may be one for each depth and profile."""
    smoke, deep = tmp_path / "x.toml", tmp_path / "x.delivery.toml"
    smoke.write_text('depth = "smoke"\nexit_code = 0\npass = []\nfail = []')
    deep.write_text('depth = "standard"\nprofile = "delivery"\nexit_code = 0\npass = []\nfail = []')
    assert Expectation.load(smoke).arguments == ("x", "--depth", "smoke")
    assert Expectation.load(deep).arguments == ("x", "--depth", "standard", "--profile", "delivery")


def test_a_run_that_says_what_is_expected_has_no_differences() -> None:
    """The same verdicts, and the same exit code."""
    assert EXPECTED.differences(RESULT) == []


@pytest.mark.parametrize(
    ("findings", "difference"),
    [
        ((finding("DEL-1", Verdict.PASS), finding("OFF-1", Verdict.PASS)), "OFF-1: expected fail, was pass: seen"),
        ((finding("DEL-1", Verdict.FAIL), finding("OFF-1", Verdict.FAIL)), "DEL-1: expected pass, was fail: seen"),
        ((*RESULT.findings, finding("TEN-2", Verdict.FAIL)), "TEN-2: expected not judged, was fail: seen"),
    ],
)
def test_a_difference_either_way_is_told(findings: tuple[Finding, ...], difference: str) -> None:
    """A failure that does not come is as much a difference as one that was not expected."""
    assert difference in EXPECTED.differences(replace(RESULT, findings=findings))


@pytest.mark.parametrize(("verdict", "told"), [(Verdict.PASS, 0), (Verdict.INCONCLUSIVE, 0), (Verdict.FAIL, 1)])
def test_what_may_be_left_undecided_must_not_fail(verdict: Verdict, told: int) -> None:
    """A run may have too little of what a verdict takes: it may pass then, or stay inconclusive."""
    lenient = EXPECTED.model_copy(update={"undecided": ("DEL-3",)})
    run = replace(RESULT, findings=(*RESULT.findings, finding("DEL-3", verdict)))
    assert len(lenient.differences(run)) == told


def test_an_expected_verdict_that_is_missing_is_told() -> None:
    """What was expected and never judged is a difference, and so is the exit code that follows."""
    silent = replace(RESULT, findings=(), scenarios=())
    assert EXPECTED.differences(silent) == [
        "DEL-1: expected pass, was not judged",
        "OFF-1: expected fail, was not judged",
        "exit code: expected 1, was 4",
    ]
