"""MEM-3: records larger than every allowance."""

from __future__ import annotations

from pathlib import Path

from isolane.conformance.checkers import oversized
from isolane.conformance.selftest.conformance.builders import Story, story
from isolane.conformance.verdict import Finding, Verdict


def large() -> Story:
    """Two records above all allowances, at once in two partitions, each followed by a small one; all accepted."""
    made = story(judges=("MEM-3",))
    made.meta["bounds"] |= {"in_flight_bytes": 1000, "process_bytes": 5000}
    for partition in (0, 1):
        token = made.produce("sick", 100, partition=partition)
        made.produced[-1]["bytes"] = 5001
        made.attempt("sick", [token], 102 + partition)
        made.deliver("sick", 101, partition=partition, delay=4)
    made.phase("drain", 110)
    made.phase("end", 120)
    return made


def judged(made: Story, folder: Path) -> Finding:
    """The finding on MEM-3."""
    (finding,) = oversized.check(made.load(folder))
    return finding


def test_records_that_go_through_pass(tmp_path: Path) -> None:
    """With what was tried as figures."""
    finding = judged(large(), tmp_path)
    assert finding.verdict is Verdict.PASS
    assert finding.figures["pairs of them at once, in different partitions"].value == 1
    assert finding.figures["records behind them"].value == 2


def test_a_record_that_never_goes_through_is_a_violation(tmp_path: Path) -> None:
    """It waits for room that there will never be; the story is its own."""
    made = large()
    made.attempts = [line for line in made.attempts if line["r"] != 3]
    finding = judged(made, tmp_path)
    assert finding.verdict is Verdict.FAIL
    assert "records larger than every allowance that never went through: 1" in finding.summary


def test_what_is_stuck_behind_one_is_a_violation(tmp_path: Path) -> None:
    """Its bytes were never released."""
    made = large()
    made.attempts = [line for line in made.attempts if line["r"] != 2]
    finding = judged(made, tmp_path)
    assert finding.verdict is Verdict.FAIL
    assert "that never followed: 1" in finding.summary


def test_records_that_were_not_at_once_prove_too_little(tmp_path: Path) -> None:
    """Two that wait for each other were never tried."""
    made = large()
    for line in made.produced[2:]:
        line["acked"] = line["sent"] = 102.5
    assert judged(made, tmp_path).verdict is Verdict.INCONCLUSIVE


def test_records_within_the_largest_allowance_prove_nothing(tmp_path: Path) -> None:
    """The process's budget is the larger one."""
    made = large()
    made.meta["bounds"]["process_bytes"] = 10_000
    assert judged(made, tmp_path).verdict is Verdict.INCONCLUSIVE


def test_a_run_that_was_broken_off_proves_nothing(tmp_path: Path) -> None:
    """There was no time for it."""
    made = large()
    made.events = []
    made.attempts = made.attempts[:3]
    assert judged(made, tmp_path).verdict is Verdict.INCONCLUSIVE
