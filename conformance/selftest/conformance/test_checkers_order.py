"""DEL-10: with one record in flight, a partition is delivered in its order."""

from __future__ import annotations

from pathlib import Path

from isolane.conformance.checkers import order
from isolane.conformance.selftest.conformance.builders import Story, story
from isolane.conformance.tokens import Token
from isolane.conformance.verdict import Finding, Verdict


def ordered() -> tuple[Story, list[Token]]:
    """Six records one after the other, each refused once, by an implementation that claims to keep the order."""
    made = story()
    made.meta["features"] = {"ordered": True}
    made.phase("load", 0)
    made.event(0, "process", "started", member=0)
    tokens = [made.produce("h0", 0.1) for _ in range(6)]
    for number, token in enumerate(tokens):
        made.attempt("h0", [token], number + 0.5, items=429)
        made.attempt("h0", [token], number + 1)
    return made, tokens


def judged(made: Story, folder: Path) -> Finding:
    """The finding on DEL-10."""
    (finding,) = order.check(made.load(folder))
    return finding


def overtaken() -> Story:
    """The fourth record is accepted before the third."""
    made, tokens = ordered()
    made.attempt("h0", tokens[3:4], 2.2)
    return made


def test_records_that_wait_for_each_other_pass(tmp_path: Path) -> None:
    """With the number of those that were retried."""
    finding = judged(ordered()[0], tmp_path)
    assert finding.verdict is Verdict.PASS
    assert finding.figures["records attempted more than once"].value == 6


def test_a_record_that_is_overtaken_is_a_violation(tmp_path: Path) -> None:
    """Both are named, and the one that waited is told of."""
    finding = judged(overtaken(), tmp_path)
    assert finding.verdict is Verdict.FAIL
    assert "h0/0@3 was accepted before managed_otlp.logs.h0/0@2, within one ownership" in finding.summary
    assert "h0/0@2" in finding.story[0]


def test_a_record_that_is_accepted_again_later_was_not_overtaken(tmp_path: Path) -> None:
    """The first acceptance counts."""
    made, tokens = ordered()
    made.attempt("h0", tokens[:1], 9)
    assert judged(made, tmp_path).verdict is Verdict.PASS


def test_another_ownership_is_another_order(tmp_path: Path) -> None:
    """What the former owner still had under way may come later."""
    made = overtaken()
    made.event(2.5, "process", "killed", member=0)
    assert judged(made, tmp_path).verdict is Verdict.PASS


def test_other_partitions_have_an_order_of_their_own(tmp_path: Path) -> None:
    """Nothing is promised between them."""
    made, _ = ordered()
    made.deliver("h0", 0, partition=1, delay=20)
    made.deliver("h0", 0, partition=1, delay=21)
    assert judged(made, tmp_path).verdict is Verdict.PASS


def test_without_retries_the_order_is_not_tried(tmp_path: Path) -> None:
    """Nothing could overtake anything."""
    made, _ = ordered()
    made.attempts = [line for line in made.attempts if line["r"] % 2 == 0]
    assert judged(made, tmp_path).verdict is Verdict.INCONCLUSIVE


def test_who_claims_no_order_is_not_held_to_one(tmp_path: Path) -> None:
    """Several records in flight overtake each other."""
    made = overtaken()
    made.meta["features"] = {}
    assert order.check(made.load(tmp_path)) == []
