"""DEL-6: an attempt ends by its deadline, whatever trickles in, and what had no whole reply is sent again."""

from __future__ import annotations

from pathlib import Path

from isolane.conformance.checkers import deadlines
from isolane.conformance.selftest.conformance.builders import Story
from isolane.conformance.selftest.conformance.faulty import faulty, judged
from isolane.conformance.tokens import Token
from isolane.conformance.verdict import Verdict


def trickled(*, lasted: float | None = 5.2, again: bool = True) -> tuple[Story, Token]:
    """A record that was accepted, and whose reply trickled until the sender gave up (None: it never did)."""
    made = faulty("trickle")
    token = made.produce("sick", 11)
    made.attempt("sick", [token], 11, took=0.01)
    made.attempts.pop()
    if lasted is not None:
        made.attempts.append({"e": "closed", "r": made.requests, "at": 11 + lasted, "how": "client_gone"})
    if again:
        made.attempt("sick", [token], 21, items=[409])
    return made, token


def test_silence_that_became_a_retry_passes(tmp_path: Path) -> None:
    """Even though the cluster had accepted it the first time: the sender could not know."""
    finding = judged(trickled()[0], tmp_path, deadlines.check)
    assert finding.verdict is Verdict.PASS, finding.summary
    assert finding.figures["longest"].bound == "≤ 7"


def test_an_attempt_that_outlasts_its_deadline_fails(tmp_path: Path) -> None:
    """A time-out for each read, which every byte resets; also when it never ended at all."""
    made, token = trickled(lasted=8)
    finding = judged(made, tmp_path / "long", deadlines.check)
    assert (finding.verdict, finding.evidence) == (Verdict.FAIL, (str(token),))
    assert finding.summary.startswith("an attempt lasted 8.0 s (allowed 7 s)")
    assert judged(trickled(lasted=None)[0], tmp_path / "endless", deadlines.check).verdict is Verdict.FAIL


def test_silence_taken_for_done_fails(tmp_path: Path) -> None:
    """FB-04: nothing had been confirmed."""
    made, token = trickled(again=False)
    finding = judged(made, tmp_path, deadlines.check)
    assert (finding.verdict, finding.evidence) == (Verdict.FAIL, (str(token),))
    assert "taken for done without a whole reply" in finding.summary


def test_what_was_confirmed_before_need_not_come_back(tmp_path: Path) -> None:
    """An earlier attempt had its whole reply."""
    made, token = trickled(again=False)
    made.attempt("sick", [token], 5)
    assert judged(made, tmp_path, deadlines.check).verdict is Verdict.PASS


def test_no_attempt_given_up_is_inconclusive(tmp_path: Path) -> None:
    """A reply that was whole before the deadline tries nothing."""
    made = faulty("silence")
    made.deliver("sick", 12)
    assert judged(made, tmp_path, deadlines.check).verdict is Verdict.INCONCLUSIVE


def test_without_a_deadline_there_is_nothing_to_hold_against(tmp_path: Path) -> None:
    """The bound comes from the descriptor."""
    made, _ = trickled()
    del made.meta["bounds"]["request_timeout"]
    assert deadlines.check(made.load(tmp_path)) == []
