"""OFF-5 and OFF-6: partitions change hands while replies are slow, and before anything was committed."""

from __future__ import annotations

from pathlib import Path

from isolane.conformance.checkers import ownership
from isolane.conformance.selftest.conformance.builders import Story, story
from isolane.conformance.verdict import Finding, Verdict


def judged(made: Story, folder: Path, requirement: str) -> Finding | None:
    """The finding on one of them, if there is any."""
    found = [each for each in ownership.check(made.load(folder)) if each.requirement == requirement]
    return found[0] if found else None


def churned() -> Story:
    """A second member that comes three times and goes three times, each time while an attempt is under way."""
    made = story()
    made.phase("churn", 0)
    made.event(0, "process", "started", member=0)
    for turn in range(6):
        at = 10.0 * (turn + 1)
        made.event(at, "process", "started" if turn % 2 == 0 else "stopped", member=1)
        token = made.produce("h0", at - 2)
        made.attempt("h0", [token], at - 1, took=2)
        made.commit(at + 2, {"1/0": turn + 1})
    made.phase("drain", 66)
    made.phase("end", 80)
    made.event(81, "process", "stopped", member=0)
    return made


def test_changes_of_members_that_harm_nothing_pass(tmp_path: Path) -> None:
    """With how many there were while attempts were under way."""
    finding = judged(churned(), tmp_path, "OFF-5")
    assert finding is not None
    assert finding.verdict is Verdict.PASS
    assert finding.figures["changes of members with attempts under way"].value == 6


def test_a_commit_that_falls_is_a_violation(tmp_path: Path) -> None:
    """It is from the state of a former ownership (FB-08, FB-09); the record that is read again is told of."""
    made = churned()
    made.commit(70, {"1/0": 4})
    finding = judged(made, tmp_path, "OFF-5")
    assert finding is not None
    assert finding.verdict is Verdict.FAIL
    assert "the committed offset of managed_otlp.logs.h0/0 went wrong, to 4" in finding.summary
    assert "h0/0@4" in finding.story[0]


def test_a_commit_that_jumps_is_a_violation(tmp_path: Path) -> None:
    """It is past a record that was not accepted yet."""
    made = churned()
    made.commits[1]["offsets"] = {"1/0": 3}
    finding = judged(made, tmp_path, "OFF-5")
    assert finding is not None
    assert finding.verdict is Verdict.FAIL
    assert "a commit jumped past managed_otlp.logs.h0/0@2" in finding.summary


def test_a_partition_that_does_not_drain_is_a_violation(tmp_path: Path) -> None:
    """Nobody has it, or nobody goes on with it."""
    made = churned()
    made.produce("h0", 65)
    finding = judged(made, tmp_path, "OFF-5")
    assert finding is not None
    assert finding.verdict is Verdict.FAIL
    assert "h0/0@6 was still not done when everything had healed" in finding.summary


def test_a_partition_may_have_been_draining_when_the_run_was_broken_off(tmp_path: Path) -> None:
    """What is left then is no violation; a commit that fell is one."""
    made = churned()
    made.produce("h0", 65)
    made.events = [line for line in made.events if line["name"] != "end"]
    finding = judged(made, tmp_path / "left", "OFF-5")
    assert finding is not None
    assert finding.verdict is Verdict.INCONCLUSIVE
    made.commit(70, {"1/0": 4})
    finding = judged(made, tmp_path / "fell", "OFF-5")
    assert finding is not None
    assert finding.verdict is Verdict.FAIL


def test_a_partition_with_nothing_under_way_is_not_concerned(tmp_path: Path) -> None:
    """What is wrong there is for others to say."""
    made = churned()
    made.produce("h1", 65)
    made.commit(70, {"1/0": 6, "2/0": 5})
    made.commit(71, {"1/0": 6, "2/0": 4})
    finding = judged(made, tmp_path, "OFF-5")
    assert finding is not None
    assert finding.verdict is Verdict.PASS


def test_changes_with_nothing_under_way_prove_nothing(tmp_path: Path) -> None:
    """Any completion was in time."""
    made = churned()
    made.attempts = [{**line, "at": line["at"] - (line["e"] != "arrived") * 1.5} for line in made.attempts]
    finding = judged(made, tmp_path, "OFF-5")
    assert finding is not None
    assert finding.verdict is Verdict.INCONCLUSIVE


def test_one_member_alone_changes_nothing(tmp_path: Path) -> None:
    """Neither when it is stopped at the end."""
    made = churned()
    made.events = [line for line in made.events if line.get("member") != 1]
    assert ownership.check(made.load(tmp_path)) == []


def moved() -> Story:
    """Records that wait while nothing is committed, until their member is killed; another one delivers them."""
    made = story()
    made.phase("uncommitted", 0)
    made.event(0, "process", "started", member=0)
    early = made.produce("h0", 0.5, kind="early")
    waiting = [made.produce("h0", 1 + number / 10) for number in range(5)]
    made.attempt("h0", [early, *waiting], 2, status=503, items=None)
    made.event(5, "process", "started", member=1)
    made.event(8, "process", "killed", member=0)
    made.attempt("h0", waiting, 12)
    made.commit(3, {})
    made.commit(13, {"1/0": 6})
    made.phase("drain", 14)
    made.phase("end", 20)
    return made


def test_records_that_waited_when_their_partition_moved_and_arrive_pass(tmp_path: Path) -> None:
    """Whether or not the beginning of the partition had been committed."""
    made = moved()
    finding = judged(made, tmp_path / "nothing", "OFF-6")
    assert finding is not None
    assert finding.verdict is Verdict.PASS
    assert finding.figures["records that waited in them"].value == 5
    made.commits[0]["offsets"] = {"1/0": 1}
    finding = judged(made, tmp_path / "pinned", "OFF-6")
    assert finding is not None
    assert finding.verdict is Verdict.PASS


def test_records_that_the_next_owner_skips_are_a_violation(tmp_path: Path) -> None:
    """It began at the end (FB-14)."""
    made = moved()
    made.attempts = [line for line in made.attempts if line["r"] != 2]
    finding = judged(made, tmp_path, "OFF-6")
    assert finding is not None
    assert finding.verdict is Verdict.FAIL
    assert "h0/0@1 was skipped: its partition moved before anything had been committed for it" in finding.summary


def test_records_that_waited_may_have_been_on_their_way_when_the_run_was_broken_off(tmp_path: Path) -> None:
    """The next owner had not got to them."""
    made = moved()
    made.attempts = [line for line in made.attempts if line["r"] != 2]
    made.events = [line for line in made.events if line["name"] != "end"]
    finding = judged(made, tmp_path, "OFF-6")
    assert finding is not None
    assert finding.verdict is Verdict.INCONCLUSIVE


def test_a_partition_with_a_commit_moved_too_late_to_try_this(tmp_path: Path) -> None:
    """The next owner goes on from there; so it is when nothing waited."""
    made = moved()
    made.commits[0]["offsets"] = {"1/0": 2}
    assert judged(made, tmp_path / "committed", "OFF-6") is None
    made = moved()
    for line in made.attempts:
        if line["r"] == 2:
            line["at"] -= 8
    assert judged(made, tmp_path / "delivered", "OFF-6") is None
