"""ISO-8: the last third of a long fault is held against its first."""

from __future__ import annotations

from pathlib import Path

import pytest

from isolane.conformance.checkers import decay
from isolane.conformance.selftest.conformance.builders import Story, story
from isolane.conformance.selftest.conformance.test_checkers_isolation import shift
from isolane.conformance.verdict import Finding, Verdict


def long(*, seconds: float = 60, stuck_until: float | None = None) -> Story:
    """Ten seconds of control, and a fault that lasts, in which a request is held each second that nobody else feels."""
    made = story(judges=("ISO-8",))
    made.phase("control", 100)
    made.fault("slow", "sick", 110, 110 + seconds)
    made.phase("drain", 110 + seconds)
    for name in ("h0", "h1"):
        made.flow(name, 100, 110 + seconds, rate=20)
    for second in range(110, round(min(110 + seconds, stuck_until or 1000)) - 5):
        made.attempt("sick", [made.produce("sick", second)], second, took=5.0)
    return made


def judged(made: Story, folder: Path) -> Finding:
    """The one finding."""
    (finding,) = decay.check(made.load(folder))
    assert finding.requirement == "ISO-8"
    return finding


def test_a_fault_whose_end_is_as_good_as_its_begin(tmp_path: Path) -> None:
    """The figures are those of isolation, with the first third in the control's place."""
    finding = judged(long(), tmp_path)
    assert (finding.verdict, finding.case) == (Verdict.PASS, "fault:slow")
    assert "the last third of fault:slow (20 s)" in finding.summary
    assert finding.figures["worst 5 s window / control's"].value == pytest.approx(1, abs=0.02)
    assert finding.figures["fault bites in the last third"].value >= 15


def test_isolation_that_held_at_first_only_has_decayed(tmp_path: Path) -> None:
    """A queue that was full after half of the fault delays everybody from then on."""
    made = long()
    shift(made, "h1", 155, 158, 158)
    finding = judged(made, tmp_path)
    assert finding.verdict is Verdict.FAIL
    assert "healthy tenant h1: " in finding.summary
    assert "nothing accepted for 3.0 s" in finding.summary
    assert finding.evidence[0] in finding.story[0]


def test_isolation_that_never_held_has_not_come_to_hold(tmp_path: Path) -> None:
    """As bad as a bad first third is not good: the last one is held against the control then."""
    made = long()
    shift(made, "h1", 112, 130, 130)
    shift(made, "h1", 150, 168, 168)
    assert judged(made, tmp_path).verdict is Verdict.FAIL


def test_isolation_that_came_to_hold_has_not_decayed(tmp_path: Path) -> None:
    """What the onset broke is another requirement's."""
    made = long()
    shift(made, "h1", 112, 118, 118)
    assert judged(made, tmp_path).verdict is Verdict.PASS


def test_a_fault_that_ceased_to_bite_says_nothing_of_decay(tmp_path: Path) -> None:
    """The sick tenant's requests have to be held in the last third, too."""
    finding = judged(long(stuck_until=150), tmp_path)
    assert finding.verdict is Verdict.INCONCLUSIVE
    assert "did not bite" in finding.summary


def test_a_fault_that_was_cut_short_says_nothing(tmp_path: Path) -> None:
    """Its last third is not known."""
    made = long()
    made.events = [event for event in made.events if event["at"] < 170]
    assert judged(made, tmp_path).verdict is Verdict.INCONCLUSIVE


def test_short_faults_are_left_to_others(tmp_path: Path) -> None:
    """Thirds of a few seconds have no windows."""
    assert decay.check(long(seconds=20).load(tmp_path)) == []
