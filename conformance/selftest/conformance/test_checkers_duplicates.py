"""DEL-8: what is delivered twice is what could not have been committed before a crash or a rebalance, and no more."""

from __future__ import annotations

from pathlib import Path

from isolane.conformance.checkers import duplicates
from isolane.conformance.selftest.conformance.builders import Story, story
from isolane.conformance.tokens import Token
from isolane.conformance.verdict import Finding, Verdict


def crashed() -> tuple[Story, list[Token]]:
    """Ten records, five of them committed past, and a crash at 5.0; then those that were not are delivered again."""
    made = story()
    made.phase("load", 0)
    made.event(0, "process", "started", member=0)
    tokens = [made.deliver("h0", number / 10) for number in range(10)]
    made.commit(3, {"1/0": 5})
    made.event(5, "process", "killed", member=0)
    made.event(5.1, "process", "started", member=0)
    made.attempt("h0", tokens[5:], 7)
    made.phase("end", 20)
    return made, tokens


def judged(made: Story, folder: Path) -> Finding:
    """The finding on DEL-8."""
    (finding,) = duplicates.check(made.load(folder))
    return finding


def test_what_was_not_committed_may_be_delivered_again(tmp_path: Path) -> None:
    """However much that is."""
    made, _ = crashed()
    finding = judged(made, tmp_path)
    assert finding.verdict is Verdict.PASS
    assert finding.figures["items accepted again"].value == 5
    assert finding.figures["crashes and rebalances"].value == 2
    assert finding.figures["items accepted and not committed when a member went, each time"].value == 5


def test_what_was_committed_is_delivered_again_without_need(tmp_path: Path) -> None:
    """The next owner began before the commit."""
    made, tokens = crashed()
    made.attempt("h0", tokens[3:5], 7.5)
    finding = judged(made, tmp_path)
    assert finding.verdict is Verdict.FAIL
    assert "items delivered again without need: 2; first of managed_otlp.logs.h0/0@3" in finding.summary


def test_a_conflict_counts_as_a_delivery(tmp_path: Path) -> None:
    """With ids of its own the document is stored once, and was sent twice all the same."""
    made, tokens = crashed()
    made.attempt("h0", tokens[3:5], 7.5, items=409)
    assert judged(made, tmp_path).verdict is Verdict.FAIL


def test_what_is_delivered_again_with_nothing_between_is_left_to_others(tmp_path: Path) -> None:
    """Before any change, or long after it: neither a crash nor a rebalance is the cause."""
    made, tokens = crashed()
    made.attempt("h0", tokens[6:7], 4)
    again = made.deliver("h0", 60)
    made.attempt("h0", [again], 61)
    finding = judged(made, tmp_path)
    assert finding.verdict is Verdict.PASS
    assert finding.figures["items accepted again"].value == 7
    assert finding.figures["of those, after a crash or rebalance"].value == 5


def test_a_lost_reply_excuses_one_more_delivery(tmp_path: Path) -> None:
    """Its sender could not know; one more after a reply that somebody got is too much."""
    made, tokens = crashed()
    for line in made.attempts:
        if line["r"] == 4 and line["e"] == "closed":
            line["how"] = "lost"
    made.attempt("h0", tokens[3:4], 7.5)
    finding = judged(made, tmp_path / "once")
    assert finding.verdict is Verdict.PASS
    assert finding.figures["of those, after a lost reply"].value == 1
    made.attempt("h0", tokens[3:4], 8)
    assert judged(made, tmp_path / "twice").verdict is Verdict.FAIL


def test_a_refusal_is_no_delivery(tmp_path: Path) -> None:
    """What is sent again because it was refused is no duplicate."""
    made, tokens = crashed()
    made.attempt("h0", tokens[3:5], 7.5, items=429)
    assert judged(made, tmp_path).verdict is Verdict.PASS


def test_without_a_crash_or_a_rebalance_nothing_is_tried(tmp_path: Path) -> None:
    """A first start is none, nor is the end."""
    made, _ = crashed()
    made.events = [line for line in made.events if line.get("member") is None or line["at"] == 0]
    made.event(21, "process", "stopped", member=0)
    assert duplicates.check(made.load(tmp_path)) == []
