"""The harness distrusts itself: what it could not do in time is said, and judges nobody."""

from __future__ import annotations

from pathlib import Path

import pytest

from isolane.conformance.checkers import harness
from isolane.conformance.selftest.conformance.builders import Story, story
from isolane.conformance.verdict import HARNESS, Finding, Verdict


def living() -> Story:
    """A phase of ten seconds under load."""
    made = story()
    made.phase("capacity", 0)
    made.phase("control", 10)
    made.flow("h0", 10, 20, rate=10)
    made.phase("end", 20)
    return made


def judged(made: Story, folder: Path) -> Finding:
    """The finding about the harness."""
    (finding,) = harness.check(made.load(folder))
    return finding


def test_a_harness_in_time_is_trusted(tmp_path: Path) -> None:
    """Small lags that events tell are within the bounds."""
    made = living()
    made.event(15, "harness", "load_lag", seconds=0.2)
    finding = judged(made, tmp_path)
    assert (finding.requirement, finding.verdict) == (HARNESS, Verdict.PASS)
    assert finding.figures["load lag"].value == 0.2


def test_load_that_left_late_is_seen_without_an_event_too(tmp_path: Path) -> None:
    """Each record has the time when it was due and when it was sent."""
    made = living()
    for line in made.produced[:5]:
        line["sent"] += 0.5
    finding = judged(made, tmp_path)
    assert finding.verdict is Verdict.INCONCLUSIVE
    assert "load lag of 0.50 s (allowed 0.25 s)" in finding.summary


def test_a_gap_counts_for_the_phase_that_it_reaches_into(tmp_path: Path) -> None:
    """An event comes at the gap's end, which may be in the next phase."""
    made = living()
    made.phase("drain", 20.5)
    made.event(21, "harness", "sampler_gap", seconds=3)
    history = made.load(tmp_path)
    control = history.phase("control")
    assert control is not None
    reason = harness.starved(history, control)
    assert reason is not None
    assert "sampler gap of 3.00 s" in reason


@pytest.mark.parametrize(
    ("name", "observer", "verdict"),
    [
        ("broker_kill", "commit-observer", Verdict.PASS),
        ("broker_freeze", "dead-letter-observer", Verdict.PASS),
        ("broker_kill", "process-sampler", Verdict.INCONCLUSIVE),
        ("node_kill", "commit-observer", Verdict.INCONCLUSIVE),
    ],
)
def test_who_asks_a_broker_that_is_away_is_not_starved(
    name: str, observer: str, verdict: Verdict, tmp_path: Path
) -> None:
    """The reading began before the broker could be found again; observers that need no broker kept their beat."""
    made = living()
    made.event(12, "chaos", name, number=0, part="begins")
    made.event(14, "chaos", name, number=0, part="over")
    made.event(18, "harness", "sampler_gap", seconds=1.1, of=observer)
    assert judged(made, tmp_path).verdict is verdict
    made.event(20.3, "harness", "sampler_gap", seconds=1.2, of=observer)
    assert judged(made, tmp_path / "later").verdict is Verdict.INCONCLUSIVE


def test_bursts_that_measure_capacity_may_leave_late(tmp_path: Path) -> None:
    """Nothing is judged there by the clock."""
    made = living()
    made.event(5, "harness", "load_lag", seconds=3)
    assert judged(made, tmp_path).verdict is Verdict.PASS


def test_load_that_fell_short_of_what_was_offered_is_told(tmp_path: Path) -> None:
    """Records that never reached Kafka cannot be missed by the tenant."""
    made = living()
    for line in made.produced:
        line["phase"] = "control"
    made.event(20, "load", "offered", phase="control", tenant="h0", records=103)
    assert judged(made, tmp_path / "near").verdict is Verdict.PASS
    made.event(20, "load", "offered", phase="control", tenant="h0", records=120)
    finding = judged(made, tmp_path / "short")
    assert finding.verdict is Verdict.INCONCLUSIVE
    assert "100 of h0's 120 records reached Kafka" in finding.summary


def test_what_the_harness_was_late_by_is_the_most_of_load_and_looks(tmp_path: Path) -> None:
    """A look at a process takes nothing by itself: when it comes late, so may everything else."""
    made = living()
    made.samples = [
        {"at": 10 + number / 10, "member": "0", "pid": 1, "rss": 1, "threads": 1, "fds": 1} for number in range(50)
    ]
    history = made.load(tmp_path / "looks")
    (control,) = (phase for phase in history.phases if phase.name == "control")
    assert harness.lateness(history, history.produced, control)[0] == pytest.approx(0.001)
    for line in made.samples[20:]:
        line["at"] += 0.3
    history = made.load(tmp_path / "late")
    late, what = harness.lateness(history, history.produced, control)
    assert late == pytest.approx(0.3)
    assert what == "sampler gap"
    for line in made.samples[20:]:
        line["pid"] = 2  # another process: between the two there was none to look at
    history = made.load(tmp_path / "restart")
    assert harness.lateness(history, history.produced, control)[1] == "load lag"


def test_a_history_without_phases_says_nothing_of_the_harness(tmp_path: Path) -> None:
    """There was no schedule to keep."""
    assert harness.check(story().load(tmp_path)) == []
