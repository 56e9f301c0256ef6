"""OFF-1: an offset that was seen committed has nothing unfinished below it."""

from __future__ import annotations

from pathlib import Path

import pytest

from isolane.conformance.checkers import offsets
from isolane.conformance.checkers.offsets import count_advances
from isolane.conformance.history_values import Observation
from isolane.conformance.selftest.conformance.builders import Story, story
from isolane.conformance.verdict import Finding, Verdict


def committed() -> Story:
    """Ten records a second, each accepted 50 ms after it was due, and commits half a second behind them."""
    made = story()
    made.flow("h0", 0, 5, rate=10)
    for at in range(1, 6):
        made.commit(at + 0.5, {"1/0": at * 10})
    return made


def judged(made: Story, folder: Path) -> Finding:
    """The finding on OFF-1."""
    (finding,) = offsets.check(made.load(folder))
    return finding


def answered(made: Story, record: int) -> float:
    """When the n-th record was accepted."""
    return float(next(line["at"] for line in made.attempts if line["e"] == "answered" and line["r"] == record + 1))


def test_commits_that_follow_acceptance_pass(tmp_path: Path) -> None:
    """With the number of advances beside it."""
    finding = judged(committed(), tmp_path)
    assert finding.verdict is Verdict.PASS
    assert finding.figures["advances seen"].value == 5


def test_a_commit_past_a_record_that_is_accepted_only_later_is_a_violation(tmp_path: Path) -> None:
    """It names the record, the commit and both times, although nothing was lost."""
    made = committed()
    for line in made.attempts:
        if line["r"] == 20 and line["e"] != "arrived":
            line["at"] = 4.0
    finding = judged(made, tmp_path)
    assert finding.verdict is Verdict.FAIL
    assert "offset 20 was committed" in finding.summary
    assert "past managed_otlp.logs.h0/0@19, which was finished only 1.500 s later" in finding.summary
    assert "committed offset 20 observed: past this record" in "\n".join(finding.story)


@pytest.mark.parametrize(
    ("began", "error", "verdict"),
    [(5.0, None, Verdict.INCONCLUSIVE), (6.0, "frozen", Verdict.INCONCLUSIVE), (6.0, None, Verdict.FAIL)],
)
def test_what_nobody_looked_for_any_more_may_be_in_a_real_cluster(
    began: float, error: str | None, verdict: Verdict, tmp_path: Path
) -> None:
    """A run that was broken off: a record counts as never finished when a whole search after the commit has not it."""
    made = story()
    for number in range(6):
        made.produce("h0", number)
        made.search("h0", number + 0.4)
    made.commit(5.5, {"1/0": 6})
    made.search("h0", began, error=error)
    finding = judged(made, tmp_path)
    assert finding.verdict is verdict


def test_a_commit_past_a_record_that_is_never_accepted_is_a_violation(tmp_path: Path) -> None:
    """Every reading that is past it counts, the first one is told."""
    made = committed()
    made.attempts = [line for line in made.attempts if line["r"] != 35]
    finding = judged(made, tmp_path)
    assert finding.verdict is Verdict.FAIL
    assert "which never was finished" in finding.summary
    assert finding.figures["readings past an unfinished record"].value == 2


def test_the_offset_itself_is_not_covered_by_the_commit(tmp_path: Path) -> None:
    """Committed means: everything below."""
    made = committed()
    made.produce("h0", 5)
    made.commit(6, {"1/0": 50})
    assert judged(made, tmp_path).verdict is Verdict.PASS


def test_an_acceptance_at_the_very_end_of_a_reading_is_early_enough(tmp_path: Path) -> None:
    """The reading cannot have been before it for certain."""
    made = committed()
    made.commit(6.0, {"1/0": 50})
    for line in made.attempts:
        if line["r"] == 50 and line["e"] != "arrived":
            line["at"] = 5.5
    assert judged(made, tmp_path).verdict is Verdict.PASS


def test_offsets_with_gaps_are_no_obstacle(tmp_path: Path) -> None:
    """Transaction markers take offsets that no record has."""
    made = committed()
    for line in made.produced:
        line["offset"] *= 2
    for line in made.commits:
        line["offsets"] = {"1/0": line["offsets"]["1/0"] * 2}
    assert judged(made, tmp_path).verdict is Verdict.PASS


def test_a_group_that_commits_nothing_proves_nothing(tmp_path: Path) -> None:
    """Breaking no rule is easy without commits."""
    made = committed()
    made.commits = made.commits[:1] * 5
    finding = judged(made, tmp_path)
    assert finding.verdict is Verdict.INCONCLUSIVE
    assert "too few advances of committed offsets were seen: 1" in finding.summary


def test_readings_that_failed_are_counted_and_prove_nothing(tmp_path: Path) -> None:
    """They say neither that something was committed nor that it was not."""
    made = committed()
    made.commits.append({"began": 7, "ended": 8, "error": "no coordinator"})
    finding = judged(made, tmp_path)
    assert finding.verdict is Verdict.PASS
    assert finding.figures["readings that failed"].value == 1


def blinded(made: Story, began: float, ended: float) -> Story:
    """The same, in a phase, and no reading between these times succeeded."""
    made.phase("load", 0)
    made.phase("drain", 6)
    made.phase("end", 7)
    made.commits = [line for line in made.commits if not began < line["ended"] < ended]
    made.commits.append({"began": began, "ended": ended, "error": "no coordinator"})
    return made


def test_what_is_not_read_for_seconds_proves_nothing(tmp_path: Path) -> None:
    """Whoever commits at hand-over is seen by those readings alone, if records are accepted before the next one."""
    assert judged(blinded(committed(), 2, 4), tmp_path / "short").verdict is Verdict.PASS
    finding = judged(blinded(committed(), 2, 5), tmp_path / "long")
    assert finding.verdict is Verdict.INCONCLUSIVE
    assert finding.summary == "committed offsets could not be read for 4.0 s of load (allowed 3 s)"


def test_where_nothing_waits_nothing_need_be_read(tmp_path: Path) -> None:
    """Everything was finished before."""
    made = blinded(committed(), 5.6, 5.7)
    made.phase("wrong", 7)
    made.phase("end", 20)
    made.events.remove({"at": 7, "kind": "phase", "name": "end"})
    assert judged(made, tmp_path).verdict is Verdict.PASS


@pytest.mark.parametrize(
    ("name", "over", "verdict"),
    [
        ("broker_freeze", 5.0, Verdict.PASS),
        ("broker_kill", 5.0, Verdict.PASS),
        ("broker_kill", 3.0, Verdict.PASS),
        ("broker_kill", 2.0, Verdict.INCONCLUSIVE),
        ("node_kill", 5.0, Verdict.INCONCLUSIVE),
    ],
)
def test_who_cannot_read_while_a_broker_is_away_is_not_blind(
    name: str, over: float, verdict: Verdict, tmp_path: Path
) -> None:
    """Nor until it must have been found again."""
    made = committed()
    made.commits = made.commits[:1]
    made.flow("h0", 5, 12, rate=1)
    made.commit(1.6, {"1/0": 12})
    made.commit(10.5, {"1/0": 50})
    made.phase("chaos", 0)
    made.event(1.6, "chaos", name, number=0, part="begins")
    made.event(over, "chaos", name, number=0, part="over")
    made.phase("end", 12)
    assert judged(made, tmp_path).verdict is verdict


def test_a_breach_that_was_seen_is_one_however_little_was(tmp_path: Path) -> None:
    """It is certain."""
    made = blinded(committed(), 2, 5)
    made.commit(5.6, {"1/0": 51})
    made.produce("h0", 5)
    assert judged(made, tmp_path).verdict is Verdict.FAIL


def test_without_any_reading_there_is_no_finding(tmp_path: Path) -> None:
    """The history does not have what it takes."""
    assert offsets.check(story().load(tmp_path)) == []


def test_a_partition_without_known_records_is_passed_over(tmp_path: Path) -> None:
    """A commit there covers nothing that this history knows."""
    made = committed()
    made.commit(7, {"1/1": 5, "9/9": 5})
    assert judged(made, tmp_path).verdict is Verdict.PASS


def test_advances_are_counted_by_partition() -> None:
    """A first sight counts, standing still and falling back do not."""
    seen = [{(0, 0): 0}, {(0, 0): 5, (0, 1): 2}, {(0, 0): 5}, {(0, 0): 3}, {(0, 0): 4}]
    assert count_advances([Observation(at, at, each) for at, each in enumerate(seen)]) == 3


def put_aside(at: float) -> Story:
    """A record that is put aside then, and a commit past it that was seen at 7.0."""
    made = committed()
    made.meta["dead_letter"] = {"kind": "kafka", "undecodable": "dead_letter"}
    token = made.produce("h0", 5, kind="poison")
    made.put_aside(token, at, tokens=[token])
    made.commit(7, {"1/0": 51})
    return made


def test_a_commit_past_a_dead_letter_that_was_there_passes(tmp_path: Path) -> None:
    """A dead letter finishes its record."""
    assert judged(put_aside(6.9), tmp_path).verdict is Verdict.PASS


def test_a_commit_past_a_dead_letter_that_was_not_there_yet_is_a_violation(tmp_path: Path) -> None:
    """It was committed before the write of the dead letter was confirmed (FB-45)."""
    finding = judged(put_aside(7.2), tmp_path)
    assert finding.verdict is Verdict.FAIL
    assert "@50, which was finished only 0.200 s later" in finding.summary


def test_commits_pass_what_has_nothing_to_deliver(tmp_path: Path) -> None:
    """A tombstone behind an unfinished record moves nothing, and one behind finished records does."""
    made = committed()
    made.produce("h0", 5, kind="tombstone")
    made.commit(7, {"1/0": 51})
    assert judged(made, tmp_path / "a").verdict is Verdict.PASS
    made.produce("h0", 8)
    made.produce("h0", 8, kind="tombstone")
    made.commit(9, {"1/0": 53})
    assert judged(made, tmp_path / "b").verdict is Verdict.FAIL
