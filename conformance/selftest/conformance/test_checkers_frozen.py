"""REB-3: a member that was frozen beyond its session, and woken, commits nothing for what it has lost."""

from __future__ import annotations

from pathlib import Path

from isolane.conformance.checkers import frozen
from isolane.conformance.selftest.conformance.builders import Story, story
from isolane.conformance.verdict import Finding, Verdict


def judged(made: Story, folder: Path) -> Finding:
    """The one finding."""
    (found,) = frozen.check(made.load(folder))
    return found


def woken(*, expelled: bool = True) -> Story:
    """Two members; one is frozen with an attempt under way, the other delivers what it had, and it is woken."""
    made = story(judges=("REB-3",))
    made.meta["bounds"]["session_timeout"] = 6.0
    for member in (0, 1):
        made.event(0, "process", "started", member=member)
    made.group(2, {"a": ["1/0"], "b": ["2/0"]})
    caught = made.produce("h1", 9)
    made.attempt("h1", [caught], 9.5, took=2)
    made.event(10, "process", "frozen", member=1)
    if expelled:
        made.group(16.5, {"a": ["1/0", "2/0"]})
    made.attempt("h1", [caught], 17)
    made.commit(18, {"2/0": 1})
    later = made.deliver("h1", 18)
    made.commit(19, {"2/0": 2})
    made.event(20, "process", "thawed", member=1)
    made.group(22, {"a": ["1/0"], "b": ["2/0"]})
    made.commit(23, {"2/0": 2})
    assert later.partition == 0
    made.phase("end", 30)
    return made


def test_a_member_that_was_woken_and_commits_nothing_passes(tmp_path: Path) -> None:
    """It had something under way, it was expelled, and what it had lost stays as it was."""
    finding = judged(woken(), tmp_path)
    assert finding.verdict is Verdict.PASS, finding
    assert finding.figures["of those with attempts under way"].value == 1


def test_a_commit_that_falls_afterwards_is_a_violation(tmp_path: Path) -> None:
    """The member went on where it had been (FB-09)."""
    made = woken()
    made.commit(24, {"2/0": 1})
    finding = judged(made, tmp_path)
    assert finding.verdict is Verdict.FAIL
    assert "h1/0@1" in finding.summary


def test_a_commit_past_what_is_not_finished_is_a_violation(tmp_path: Path) -> None:
    """It had read further than anybody delivered."""
    made = woken()
    made.produce("h1", 21)
    made.commit(24, {"2/0": 3})
    assert judged(made, tmp_path).verdict is Verdict.FAIL


def test_what_it_never_had_is_not_its_own(tmp_path: Path) -> None:
    """A commit that falls elsewhere, or before it was woken, is for others to judge."""
    made = woken()
    made.commit(17.5, {"1/0": 5, "2/0": 1})
    made.commit(25, {"1/0": 4, "2/0": 2})
    assert judged(made, tmp_path).verdict is Verdict.PASS


def test_a_member_that_was_not_expelled_has_lost_nothing(tmp_path: Path) -> None:
    """The freeze was too short, or nobody noticed; so it is where nobody may see the group."""
    assert judged(woken(expelled=False), tmp_path / "short").verdict is Verdict.INCONCLUSIVE
    made = woken()
    made.groups = []
    assert judged(made, tmp_path / "unseen").verdict is Verdict.INCONCLUSIVE
