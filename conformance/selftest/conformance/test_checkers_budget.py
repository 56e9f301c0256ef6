"""MEM-6: what the healthy feel while the sick could fill the budget."""

from __future__ import annotations

from pathlib import Path

from isolane.conformance.checkers import budget
from isolane.conformance.selftest.conformance.builders import Story, isolated
from isolane.conformance.verdict import Finding, Verdict


def beside(*, delay: float = 0.05, promised: int | None = 9_000) -> Story:
    """Ten seconds of control and ten with a sick tenant's 10,000 bytes waiting; the healthy are delayed so long."""
    made = isolated(fault="dead-packed")
    made.meta["judges"] = ["MEM-6"]
    if promised is not None:
        made.meta["bounds"]["process_bytes"] = promised
    slow = {line["r"] for line in made.attempts if line.get("tenant") == "h0" and 110 <= line["at"] < 120}
    for line in made.attempts:
        line["at"] += delay - 0.05 if line["r"] in slow else 0
    return made


def judged(made: Story, folder: Path) -> Finding:
    """The finding on MEM-6."""
    (finding,) = budget.check(made.load(folder))
    return finding


def test_the_healthy_who_feel_nothing_pass(tmp_path: Path) -> None:
    """With the measures of isolation as figures, and what waited."""
    finding = judged(beside(), tmp_path)
    assert finding.verdict is Verdict.PASS
    assert finding.figures["waiting for the sick"].value == 9_900


def test_the_healthy_who_wait_for_room_are_a_violation(tmp_path: Path) -> None:
    """FB-17: the sick have eaten their part; the story is that of a record of the healthy."""
    finding = judged(beside(delay=3.0), tmp_path)
    assert finding.verdict is Verdict.FAIL
    assert "healthy tenant h0" in finding.summary


def test_a_backlog_that_fits_into_the_budget_proves_nothing(tmp_path: Path) -> None:
    """The sick could not fill it."""
    assert judged(beside(promised=20_000), tmp_path).verdict is Verdict.INCONCLUSIVE


def test_without_a_promised_budget_nothing_is_judged(tmp_path: Path) -> None:
    """There is nothing to eat."""
    assert judged(beside(promised=None), tmp_path).verdict is Verdict.INCONCLUSIVE
