"""POI-2: records with nothing to deliver are finished: the commit passes them, and what is behind them arrives."""

from __future__ import annotations

from pathlib import Path

from isolane.conformance.checkers import nothing
from isolane.conformance.selftest.conformance.builders import Story, story
from isolane.conformance.verdict import Finding, Verdict


def rows(length: int = nothing.LONG) -> Story:
    """A record, a row of tombstones, a record, a few empty ones, and a commit past all of it."""
    made = story()
    made.deliver("h0", 0)
    for number in range(length):
        made.produce("h0", 1 + number / 1000, kind="tombstone")
    made.deliver("h0", 3)
    for _ in range(3):
        made.produce("h0", 4, kind="empty")
    made.commit(5, {"1/0": length + 2})
    made.commit(6, {"1/0": length + 5})
    made.commit(10, {"1/0": length + 5})
    made.phase("drain", 4.5)
    made.phase("end", 11)
    return made


def judged(made: Story, folder: Path) -> Finding:
    """The finding on POI-2."""
    (finding,) = nothing.check(made.load(folder))
    return finding


def test_a_commit_past_every_row_passes(tmp_path: Path) -> None:
    """With the length of the longest."""
    finding = judged(rows(), tmp_path)
    assert finding.verdict is Verdict.PASS
    assert finding.figures["records with nothing to deliver"].value == nothing.LONG + 3
    assert finding.figures["longest row of them"].value == nothing.LONG


def test_a_commit_that_stands_in_a_row_is_a_violation(tmp_path: Path) -> None:
    """Everything before it was finished; the first one that is not passed is named (FB-43)."""
    made = rows()
    made.commits.clear()
    made.commit(5, {"1/0": 257})
    made.commit(10, {"1/0": 257})
    finding = judged(made, tmp_path)
    assert finding.verdict is Verdict.FAIL
    assert "no commit passed managed_otlp.logs.h0/0@257, one of 1000 in a row" in finding.summary


def test_a_commit_that_stands_at_the_last_row_is_a_violation(tmp_path: Path) -> None:
    """Nothing comes behind it to carry the commit along."""
    made = rows()
    made.commits[1:] = []
    made.commit(10, {"1/0": nothing.LONG + 2})
    assert judged(made, tmp_path).verdict is Verdict.FAIL


def test_a_commit_that_is_not_due_yet_is_none(tmp_path: Path) -> None:
    """The run ended first."""
    made = rows()
    made.commits[1:] = []
    assert judged(made, tmp_path).verdict is Verdict.PASS


def test_a_record_behind_a_row_that_never_comes_is_a_violation(tmp_path: Path) -> None:
    """The row was passed, and what is behind it was not delivered."""
    made = rows()
    made.attempts = [line for line in made.attempts if line["r"] != 2]
    finding = judged(made, tmp_path)
    assert finding.verdict is Verdict.FAIL
    assert f"h0/0@{nothing.LONG + 1}, behind 1000 in a row with nothing to deliver, was never accepted" in (
        finding.summary
    )


def test_a_record_behind_a_row_may_have_been_on_its_way_when_the_run_was_broken_off(tmp_path: Path) -> None:
    """It is no violation, and nothing is proven."""
    made = rows()
    made.attempts = [line for line in made.attempts if line["r"] != 2]
    del made.events[-1]
    assert judged(made, tmp_path).verdict is Verdict.INCONCLUSIVE


def test_a_row_behind_something_unfinished_has_to_wait(tmp_path: Path) -> None:
    """Its own records finish nothing before them."""
    made = rows()
    made.attempts = [line for line in made.attempts if line["r"] != 1]
    made.commits.clear()
    made.commit(10, {"1/0": 0})
    assert judged(made, tmp_path).verdict is Verdict.PASS


def test_a_short_row_proves_nothing(tmp_path: Path) -> None:
    """Any tracker holds a few."""
    finding = judged(rows(10), tmp_path)
    assert finding.verdict is Verdict.INCONCLUSIVE
    assert "was too short: 10" in finding.summary


def test_without_such_records_nothing_is_tried(tmp_path: Path) -> None:
    """Neither by those of topics that nobody owns."""
    made = rows(3)
    made.meta["topics"][1]["tenant"] = None
    assert nothing.check(made.load(tmp_path)) == []


def test_a_run_that_is_broken_off_before_a_commit_proves_nothing(tmp_path: Path) -> None:
    """Whether the offset was read before or not: it may have been on its way."""
    made = rows()
    made.events = []
    made.commits[1:] = []
    finding = judged(made, tmp_path / "read")
    assert finding.verdict is Verdict.INCONCLUSIVE
    assert finding.summary.startswith(
        "the run ended before its drain was over: no commit had passed managed_otlp.logs.h0/0@"
    )
    made.commits.clear()
    assert judged(made, tmp_path / "unread").verdict is Verdict.INCONCLUSIVE
