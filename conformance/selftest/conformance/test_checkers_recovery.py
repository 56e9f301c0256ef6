"""ISO-7: a backlog that a fault has left drains at nearly the rate of one that no fault has made."""

from __future__ import annotations

from pathlib import Path

import pytest

from isolane.conformance.checkers import recovery
from isolane.conformance.selftest.conformance.builders import Story, story
from isolane.conformance.selftest.conformance.test_checkers_isolation import drop, shift
from isolane.conformance.tokens import Token
from isolane.conformance.verdict import Finding, Verdict

BACKLOG = 200


def drained(made: Story, tokens: list[Token], began: float, *, rate: float) -> None:
    """Requests of ten records each, so that the last one is answered after so many seconds as the rate says."""
    for place in range(0, len(tokens), 10):
        made.attempt("sick", tokens[place : place + 10], began + place / rate, took=10 / rate)


def recovered(*, rate: float = 200, left: int = BACKLOG, probed: float = 1.5, at_first: float = 200) -> Story:
    """A backlog drained at 200 records a second with no fault, its first fifth at another rate; a control, a fault."""
    made = story(judges=("ISO-7",))
    made.phase("backlog", 90)
    burst = [made.produce("sick", 90, phase="backlog") for _ in range(BACKLOG)]
    made.event(90.1, "process", "thawed", member=0)
    first, rest = burst[: BACKLOG // 5], burst[BACKLOG // 5 :]
    drained(made, first, 90.2, rate=at_first)
    drained(made, rest, 90.2 + len(first) / at_first, rate=200)
    made.phase("control", 100)
    made.fault("slow", "sick", 110, 120)
    made.phase("heal:slow", 120)
    made.phase("drain", 130)
    made.phase("end", 131)
    for name in ("h0", "h1"):
        made.flow(name, 100, 130, rate=20)
    waiting = [made.produce("sick", 110 + 10 * number / left) for number in range(left)]
    drained(made, waiting, 120 + probed, rate=rate)
    return made


def judged(made: Story, folder: Path) -> Finding:
    """The one finding."""
    (finding,) = recovery.check(made.load(folder))
    assert finding.requirement == "ISO-7"
    return finding


@pytest.mark.parametrize("rate", [115, 200, 400])
def test_a_drain_at_four_fifths_of_the_undisturbed_rate_is_quick_enough(tmp_path: Path, rate: float) -> None:
    """Or half a second later; the clock starts with the first request after the heal, however long that takes."""
    finding = judged(recovered(rate=rate), tmp_path)
    assert (finding.verdict, finding.case) == (Verdict.PASS, "heal:slow")
    assert finding.figures["undisturbed drain rate"].value == pytest.approx(200)
    assert finding.figures["drain rate"].value == pytest.approx(rate)
    assert finding.figures["first request after the heal"].value == pytest.approx(1.5)
    assert finding.figures["recovery"].value == pytest.approx(1.5 + BACKLOG / rate)


def test_a_slower_drain_is_a_violation(tmp_path: Path) -> None:
    """The story is that of the record that waited longest."""
    finding = judged(recovered(rate=100), tmp_path)
    assert finding.verdict is Verdict.FAIL
    assert "drained at 0.50 of the undisturbed rate" in finding.summary
    assert finding.evidence[0] in finding.story[0]


def test_a_backlog_that_stays_is_a_violation(tmp_path: Path) -> None:
    """Nothing was drained to nothing while any record is left."""
    made = recovered()
    drop(made, "sick", 122, 130)
    finding = judged(made, tmp_path)
    assert finding.verdict is Verdict.FAIL
    assert "never accepted" in finding.summary


def test_a_drain_that_the_healthy_feel_is_a_violation(tmp_path: Path) -> None:
    """They must not drown in the backlog of another."""
    made = recovered()
    shift(made, "h1", 121, 124, 124)
    finding = judged(made, tmp_path)
    assert finding.verdict is Verdict.FAIL
    assert "healthy tenant h1: " in finding.summary


def test_what_waits_behind_requests_that_were_under_way_at_the_heal_does_not_count_for_the_rate(tmp_path: Path) -> None:
    """The cluster goes on with them as it began; what their partition has left must be accepted all the same."""
    made = recovered()
    held, *behind = [[made.produce("sick", 119 + number / 100, partition=1)] for number in range(10)]
    made.attempt("sick", held, 119.5, took=7.0)
    for records in behind:
        made.attempt("sick", records, 126.5)
    finding = judged(made, tmp_path)
    assert finding.verdict is Verdict.PASS
    assert finding.figures["drain rate"].value == pytest.approx(200)
    assert finding.figures["recovery"].value == pytest.approx(6.505)


def test_the_backlog_of_another_tenant_is_not_timed(tmp_path: Path) -> None:
    """It may be of records of another size, as that of a flood is."""
    made = recovered()
    made.fault("flood", "h1", 132, 134)
    made.phase("heal:flood", 134)
    made.phase("end", 150)
    drained(made, [made.produce("h1", 133) for _ in range(BACKLOG)], 134.5, rate=20)
    _, finding = recovery.check(made.load(tmp_path))
    assert finding.case == "heal:flood"
    assert "drain rate" not in finding.figures


def test_small_backlogs_are_not_timed(tmp_path: Path) -> None:
    """They only have to go away, and at least one must be large enough for the requirement to be judged."""
    finding, doubt = recovery.check(recovered(rate=10, left=15).load(tmp_path))
    assert finding.verdict is Verdict.PASS
    assert "drain rate" not in finding.figures
    assert doubt.verdict is Verdict.INCONCLUSIVE
    assert "no fault left a backlog worth timing" in doubt.summary


@pytest.mark.parametrize(("rate", "verdict"), [(45, Verdict.PASS), (35, Verdict.FAIL)])
def test_a_backlog_is_held_against_the_undisturbed_rate_of_as_many_records(
    tmp_path: Path, rate: float, verdict: Verdict
) -> None:
    """The rate at which a fifth of it went is not that of all."""
    finding = judged(recovered(rate=rate, left=BACKLOG // 5, at_first=100), tmp_path)
    assert finding.verdict is verdict
    assert finding.figures["undisturbed drain rate"].value == pytest.approx(100)


def test_the_whole_of_a_larger_backlog_counts(tmp_path: Path) -> None:
    """What comes last of it is not let off because no drain with no fault was as long."""
    finding = judged(recovered(rate=130, left=2 * BACKLOG), tmp_path)
    assert finding.verdict is Verdict.FAIL
    assert finding.figures["undisturbed drain rate"].value == pytest.approx(200)


def test_a_drain_is_not_slow_by_what_the_harness_was_late(tmp_path: Path) -> None:
    """It missed its bound by 0.17 s; an observer of the member, which beats every tenth, was away for 0.3 s then."""
    made = recovered(rate=104)
    looked = {"member": 0, "pid": 1, "rss": 1, "threads": 1, "fds": 1}
    made.samples = [{"at": 121.5 + beat / 10, **looked} for beat in range(20) if beat not in (3, 4, 5)]
    finding = judged(made, tmp_path / "late")
    assert finding.verdict is Verdict.INCONCLUSIVE
    assert finding.summary == (
        "the backlog of sick drained 0.17 s too late, and the harness was itself late then: sampler gap of 0.30 s"
    )
    made.samples = [{"at": 121.5 + beat / 10, **looked} for beat in range(20) if beat != 3]
    assert judged(made, tmp_path / "slow").verdict is Verdict.FAIL


def test_a_starved_harness_times_nobody(tmp_path: Path) -> None:
    """Neither quick nor slow."""
    made = recovered(rate=100)
    made.event(122, "harness", "load_lag", seconds=2.0)
    assert judged(made, tmp_path).verdict is Verdict.INCONCLUSIVE


def test_faults_that_are_healed_together_are_judged_together(tmp_path: Path) -> None:
    """By the last backlog to go."""
    made = recovered()
    made.event(110, "fault", "slow", tenant="h1", script={})
    made.event(120, "heal", "slow", tenant="h1")
    shift(made, "h1", 119, 120, 125)
    finding = judged(made, tmp_path)
    assert finding.verdict is Verdict.PASS
    assert "the last backlog (2 tenants) was gone 5.0 s after the heal" in finding.summary


def test_without_an_undisturbed_drain_a_backlog_has_only_to_go_away(tmp_path: Path) -> None:
    """Where nothing was timed before, nothing is timed after."""
    made = recovered(rate=10, left=15)
    made.events = [event for event in made.events if event["name"] != "backlog"]
    assert judged(made, tmp_path / "gone").verdict is Verdict.PASS
    drop(made, "sick", 122, 130)
    assert judged(made, tmp_path / "left").verdict is Verdict.FAIL
