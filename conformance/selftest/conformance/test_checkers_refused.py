"""OPS-2: a wrong configuration is refused before a group is joined, with a message that names the field."""

from __future__ import annotations

from pathlib import Path

import pytest

from isolane.conformance.checkers import refused
from isolane.conformance.selftest.conformance.builders import Story, story
from isolane.conformance.verdict import Finding, Verdict


def judged(made: Story, folder: Path) -> Finding:
    """The one finding."""
    (found,) = refused.check(made.load(folder))
    return found


def tried(*, code: int | None = 2, words: str = "limiter.floor: 99 is more than 8") -> Story:
    """A mistake in `limiter.floor`."""
    made = story(judges=("OPS-2",))
    made.event(12, "wrong", "refused", field="limiter.floor", code=code, seconds=2.0, words=words)
    return made


def test_a_refusal_that_names_the_field_passes(tmp_path: Path) -> None:
    """With any code but 0."""
    assert judged(tried(), tmp_path).verdict is Verdict.PASS


@pytest.mark.parametrize(
    ("made", "what"),
    [
        (tried(code=0), "exit code 0"),
        (tried(code=None), "did not end"),
        (tried(words="Traceback: KeyError"), "does not name the field; it ends: ['Traceback: KeyError']"),
    ],
    ids=["accepted", "ran on", "not named"],
)
def test_anything_else_is_a_violation(made: Story, what: str, tmp_path: Path) -> None:
    """It ended well, it did not end, or nobody knows why."""
    finding = judged(made, tmp_path)
    assert finding.verdict is Verdict.FAIL
    assert what in finding.summary


def starved(made: Story) -> Story:
    """The machine had no time for anybody meanwhile."""
    made.phase("wrong", 9)
    made.phase("nothing there", 13)
    made.event(12, "harness", "sampler_gap", seconds=2.0, of="commit-observer")
    return made


def test_a_starved_machine_is_no_mistake(tmp_path: Path) -> None:
    """Who had not ended in time may not have begun; who has ended, or joined a group, has."""
    assert judged(starved(tried(code=None)), tmp_path / "slow").verdict is Verdict.INCONCLUSIVE
    assert judged(starved(tried(code=0)), tmp_path / "accepted").verdict is Verdict.FAIL
    made = starved(tried(code=None))
    made.group(11, {"x": []}, state="PreparingRebalance")
    assert judged(made, tmp_path / "joined").verdict is Verdict.FAIL


def test_a_group_that_was_joined_before_is_a_violation(tmp_path: Path) -> None:
    """Others lost their partitions for nothing."""
    made = tried()
    made.group(11, {"x": []}, state="PreparingRebalance")
    assert "a group was joined" in judged(made, tmp_path).summary


def test_a_group_that_others_join_later_is_none(tmp_path: Path) -> None:
    """Those are members."""
    made = tried()
    made.group(14, {"x": ["1/0"]})
    assert judged(made, tmp_path).verdict is Verdict.PASS


def test_nothing_that_was_tried_is_no_verdict(tmp_path: Path) -> None:
    """The run ended before."""
    assert judged(story(judges=("OPS-2",)), tmp_path).verdict is Verdict.INCONCLUSIVE
