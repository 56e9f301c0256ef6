"""ISO-10: after an outage of all clusters everybody comes back, and nobody is trampled."""

from __future__ import annotations

from pathlib import Path

import pytest

from isolane.conformance.checkers import herd
from isolane.conformance.selftest.conformance.builders import Story, story
from isolane.conformance.selftest.conformance.test_checkers_isolation import drop
from isolane.conformance.verdict import Finding, Verdict

TENANTS = ("sick", "h0", "h1")


def healed() -> Story:
    """Ten seconds of control, ten in which every cluster refuses, and a return one after the other."""
    made = story(judges=("ISO-10",))
    made.phase("control", 100)
    made.phase("fault:all", 110)
    made.phase("heal:all", 120)
    made.phase("drain", 125)
    made.phase("end", 126)
    for place, name in enumerate(TENANTS):
        made.event(110, "fault", "all", tenant=name)
        made.event(120, "heal", "all", tenant=name)
        made.flow(name, 100, 110, rate=10)
        waiting = [made.produce(name, 110 + number / 10) for number in range(100)]
        for second in range(110, 120):
            made.attempt(name, waiting[:10], second, status=503, items=None)
        made.attempt(name, waiting, 120.5 + place)
    return made


def judged(made: Story, folder: Path) -> Finding:
    """The one finding."""
    (finding,) = herd.check(made.load(folder))
    assert finding.requirement == "ISO-10"
    return finding


def test_tenants_that_come_back_one_after_the_other(tmp_path: Path) -> None:
    """How far apart they came is told."""
    finding = judged(healed(), tmp_path)
    assert (finding.verdict, finding.case) == (Verdict.PASS, "fault:all")
    assert finding.figures["first request after the heal"].value == pytest.approx(0.5)
    assert finding.figures["time between the first requests to the first and the last cluster"].value == 2
    assert finding.figures["requests open at once at a cluster"].value == 1


def test_a_tenant_that_does_not_come_back_is_a_violation(tmp_path: Path) -> None:
    """The story is that of a record left behind."""
    made = healed()
    drop(made, "h1", 121, 125)
    finding = judged(made, tmp_path)
    assert finding.verdict is Verdict.FAIL
    assert "records never accepted after the heal: 100" in finding.summary
    assert "tenant h1" in finding.story[0]


@pytest.mark.parametrize(("usual", "verdict"), [(1, Verdict.FAIL), (5, Verdict.PASS)])
def test_a_herd_is_more_than_the_cluster_was_used_to(tmp_path: Path, usual: int, verdict: Verdict) -> None:
    """Ten requests at once are one for a cluster that had one at a time, and none for one that had five."""
    made = healed()
    for line in made.attempts:
        if line["e"] == "arrived" and line["tenant"] == "h0":
            line["open"] = usual if line["at"] < 110 else 10
    finding = judged(made, tmp_path)
    assert finding.verdict is verdict
    assert finding.figures["requests open at once at a cluster"].value == 10
    if verdict is Verdict.FAIL:
        assert "h0's cluster was met by 10 requests at once (no fault: 1)" in finding.summary


@pytest.mark.parametrize(("answers", "verdict"), [(8, Verdict.FAIL), (9, Verdict.PASS)])
def test_requests_that_become_more_one_by_one_are_no_herd(tmp_path: Path, answers: int, verdict: Verdict) -> None:
    """One more with each success is how a limiter finds back; ten at once after eight of them is more than that."""
    made = healed()
    for number in range(answers - 1):  # one was accepted by then
        made.deliver("h0", 122 + number / 10)
    made.attempt("h0", [made.produce("h0", 123)], 124)
    made.attempts[-3]["open"] = 10
    assert judged(made, tmp_path).verdict is verdict


def test_an_outage_that_spared_a_cluster_is_none(tmp_path: Path) -> None:
    """Each must have refused something."""
    made = healed()
    drop(made, "h0", 110, 120)
    assert "did not bite" in judged(made, tmp_path).summary


def test_a_starved_harness_judges_nobody(tmp_path: Path) -> None:
    """What returned late may have been the machine."""
    made = healed()
    made.event(121, "harness", "sampler_gap", seconds=2.0)
    assert judged(made, tmp_path).verdict is Verdict.INCONCLUSIVE


def test_an_outage_of_one_tenant_is_left_to_others(tmp_path: Path) -> None:
    """Only the kind in which all fail is judged here."""
    made = healed()
    made.events[1]["name"] = "fault:pushback"
    assert herd.check(made.load(tmp_path)) == []
