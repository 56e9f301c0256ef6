"""MEM-8: what is finished behind a stuck head is bounded."""

from __future__ import annotations

from pathlib import Path

from isolane.conformance.checkers import span
from isolane.conformance.selftest.conformance.builders import Story, story
from isolane.conformance.verdict import Finding, Verdict

SPAN = 10


def stuck(finished: int, behind: int = 20) -> Story:
    """A record that is refused from 100 to 120, with so many behind it, some of them finished before its end."""
    made = story(judges=("MEM-8",))
    made.meta["bounds"] |= {"span": SPAN}
    made.fault("stuck", "sick", 100, 120)
    made.phase("drain", 120)
    made.phase("end", 130)
    before = made.deliver("sick", 99)
    head = made.produce("sick", 100)
    tokens = [made.produce("sick", 101) for _ in range(behind)]
    made.attempt("sick", [head, *tokens[:finished]], 102, items=[429] + [201] * finished)
    made.attempt("sick", [head], 104, items=[429])
    made.attempt("sick", [head, *tokens[finished:]], 121)
    assert before.sequence == 0
    return made


def judged(made: Story, folder: Path) -> Finding:
    """The finding on MEM-8."""
    (finding,) = span.check(made.load(folder))
    return finding


def test_a_partition_that_waits_at_its_span_passes(tmp_path: Path) -> None:
    """Exactly the span may be finished."""
    finding = judged(stuck(SPAN), tmp_path)
    assert finding.verdict is Verdict.PASS
    assert str(finding.figures["of them finished while it was stuck"]) == "10 (≤ 10)"


def test_one_record_beyond_the_span_is_a_violation(tmp_path: Path) -> None:
    """The story is that of the record which was one too many."""
    finding = judged(stuck(SPAN + 1), tmp_path)
    assert finding.verdict is Verdict.FAIL
    assert "records finished behind managed_otlp.logs.sick/0@1 beyond the span: 1" in finding.summary


def test_a_partition_that_waits_at_once_passes(tmp_path: Path) -> None:
    """Whoever delivers in order finishes nothing behind it."""
    assert judged(stuck(0), tmp_path).verdict is Verdict.PASS


def test_a_tail_that_is_too_short_proves_nothing(tmp_path: Path) -> None:
    """All of it may be finished."""
    assert judged(stuck(SPAN, behind=SPAN), tmp_path).verdict is Verdict.INCONCLUSIVE


def test_a_record_that_was_accepted_is_not_stuck(tmp_path: Path) -> None:
    """The fault did not bite."""
    made = stuck(SPAN)
    made.attempts = [line | {"items": 201} if line["e"] == "answered" else line for line in made.attempts]
    for line in made.attempts:
        line["at"] = min(line["at"], 119)
    finding = judged(made, tmp_path)
    assert finding.verdict is Verdict.INCONCLUSIVE
    assert "no record was refused all through a fault" in finding.summary


def test_a_run_that_ends_while_a_record_is_stuck_proves_nothing_yet(tmp_path: Path) -> None:
    """What was not finished by then is not counted as finished, and more may have been on its way."""
    made = stuck(SPAN)
    broken_off(made, 110)
    finding = judged(made, tmp_path)
    assert finding.verdict is Verdict.INCONCLUSIVE
    assert finding.summary == "the run ended while a record was stuck"
    assert finding.figures["of them finished while it was stuck"].value == SPAN


def test_a_record_beyond_the_span_is_a_violation_whatever_followed(tmp_path: Path) -> None:
    """It was finished before the run was broken off."""
    made = stuck(SPAN + 1)
    broken_off(made, 110)
    assert judged(made, tmp_path).verdict is Verdict.FAIL


def broken_off(made: Story, at: float) -> None:
    """End the history there."""
    made.events = [line for line in made.events if line["at"] <= at]
    made.attempts = [line for line in made.attempts if line["at"] <= at]
