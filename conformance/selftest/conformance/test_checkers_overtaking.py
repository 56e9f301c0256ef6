"""LIM-5: who waits at the cap has its turn, and nothing is dropped."""

from __future__ import annotations

import math
from pathlib import Path

from isolane.conformance.checkers import overtaking
from isolane.conformance.selftest.conformance.builders import Story
from isolane.conformance.selftest.conformance.limited import FLUSH, Sender, limited, lived
from isolane.conformance.tokens import Token
from isolane.conformance.verdict import Finding, Verdict


def judged(made: Story, folder: Path) -> Finding:
    """The finding on LIM-5."""
    (finding,) = overtaking.check(made.load(folder))
    return finding


def test_the_oldest_first_passes(tmp_path: Path) -> None:
    """Nobody is passed; the number of those that waited is a figure."""
    finding = judged(lived("LIM-5"), tmp_path)
    assert finding.verdict is Verdict.PASS
    assert finding.figures["requests that passed one of them at most"].value == 0
    assert finding.figures["records that waited at the cap"].value > 100


class LastComeFirstServed(Sender):
    """Sends the newest."""

    def choose(self) -> list[Token]:
        """What to send next."""
        return [self.waiting.pop() for _ in range(min(FLUSH, len(self.waiting)))]


def test_the_newest_first_is_a_violation(tmp_path: Path) -> None:
    """The story is that of a record which newcomers passed again and again."""
    finding = judged(lived("LIM-5", other=LastComeFirstServed), tmp_path)
    assert finding.verdict is Verdict.FAIL
    assert "records that were passed again and again by later ones" in finding.summary
    assert finding.story


class Alternating(Sender):
    """Sends the newest now and then."""

    def choose(self) -> list[Token]:
        """What to send next."""
        return [self.waiting.pop(), *super().choose()] if len(self.waiting) % 5 == 0 else super().choose()


def test_a_few_that_pass_are_no_violation(tmp_path: Path) -> None:
    """A bounded number may."""
    assert judged(lived("LIM-5", other=Alternating), tmp_path).verdict is Verdict.PASS


class Dropping(Sender):
    """Forgets what it cannot send at once."""

    def may_send(self, now: float) -> bool:
        """Whether there is a slot."""
        free = super().may_send(now)
        while not free and len(self.waiting) > 20:
            self.waiting.pop()
        return free


def test_a_drop_at_the_cap_is_a_violation(tmp_path: Path) -> None:
    """A limiter that sheds load has traded a delay for a loss."""
    finding = judged(lived("LIM-5", other=Dropping), tmp_path)
    assert finding.verdict is Verdict.FAIL
    assert finding.figures["of them never finished"].value > 0


def test_what_is_left_when_the_run_was_broken_off_is_no_drop(tmp_path: Path) -> None:
    """The drain was not over."""
    made = lived("LIM-5")
    made.events = [line for line in made.events if line["name"] not in {"drain", "end"}]
    made.attempts = [line for line in made.attempts if line["at"] < 112]
    finding = judged(made, tmp_path)
    assert finding.verdict is Verdict.INCONCLUSIVE
    assert finding.figures["requests that passed one of them at most"].value < math.inf


def test_without_a_tenant_at_its_cap_nothing_is_judged(tmp_path: Path) -> None:
    """Nobody waited."""
    made = limited("LIM-5")
    Sender(made, "sick", rate=2).live(100, 145)
    assert judged(made, tmp_path).verdict is Verdict.INCONCLUSIVE


def test_a_control_in_which_nothing_came_says_nothing(tmp_path: Path) -> None:
    """Its tenants were busy with what had come before, or the run was broken off as it began."""
    made = lived("LIM-5")
    made.produced = [line | {"sent": 99.0, "acked": 99.0} for line in made.produced]
    made.attempts = [line for line in made.attempts if line["at"] >= 110]
    finding = judged(made, tmp_path)
    assert finding.verdict is Verdict.INCONCLUSIVE
    assert finding.summary == "no record came in the control for a tenant with more to send than its slots"
