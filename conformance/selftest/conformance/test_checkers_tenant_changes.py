"""OPS-4: tenants come, go and move while the others run, and the others do not notice."""

from __future__ import annotations

from pathlib import Path

import pytest

from isolane.conformance.checkers import tenant_changes
from isolane.conformance.selftest.conformance.builders import Story, story
from isolane.conformance.verdict import Finding, Verdict

MOVED, REMOVED, ADDED = "moved: sick", "removed: h0", "added: h0"


def judged(made: Story, folder: Path) -> dict[str, Finding]:
    """The findings by case."""
    return {finding.case: finding for finding in tenant_changes.check(made.load(folder))}


def changed(*, late: bool = False, gap: float = 0.0) -> Story:
    """One tenant gets the right endpoint at 20, one is removed at 40 and back at 60; the other one flows throughout."""
    made = story(judges=("OPS-4",))
    made.event(1, "tenants", "changed", without=[], elsewhere=["sick"])
    made.event(5, "process", "started", member=0)
    made.event(20, "tenants", "changed", without=[], elsewhere=[])
    made.event(40, "tenants", "changed", without=["h0"], elsewhere=[])
    made.event(60, "tenants", "changed", without=[], elsewhere=[])
    made.attempt("sick", [made.produce("sick", 10)], 21)
    kept = [made.produce("h0", at) for at in (41, 45, 50)]
    made.attempt("h0", kept[:1], 41.5)
    made.attempt("h0", kept[1:], 50 if late else 61)
    made.flow("h1", 5, 42, rate=4)
    made.flow("h1", 42 + gap, 80, rate=4)
    if gap:
        made.attempt("h1", [made.produce("h1", 42)], 42 + gap)
    made.phase("end", 80)
    return made


def test_changes_that_nobody_else_notices_pass(tmp_path: Path) -> None:
    """Each takes effect: what waited for it is delivered, or is not delivered any more."""
    found = judged(changed(), tmp_path)
    assert set(found) == {MOVED, REMOVED, ADDED}
    assert {finding.verdict for finding in found.values()} == {Verdict.PASS}, found


def test_a_gap_of_another_tenant_is_a_violation(tmp_path: Path) -> None:
    """It had nothing accepted for two seconds, and a record waited."""
    finding = judged(changed(gap=2.1), tmp_path)[REMOVED]
    assert finding.verdict is Verdict.FAIL
    assert "h1/0@" in finding.summary


def test_a_restart_is_a_violation(tmp_path: Path) -> None:
    """It is one for everybody."""
    made = changed()
    made.event(21, "process", "stopped", member=0)
    assert judged(made, tmp_path)[MOVED].verdict is Verdict.FAIL


def test_a_tenant_that_was_removed_and_is_served_is_a_violation(tmp_path: Path) -> None:
    """What is on its way when it is removed may be."""
    finding = judged(changed(late=True), tmp_path)[REMOVED]
    assert finding.verdict is Verdict.FAIL
    assert "h0/0@1" in finding.summary


@pytest.mark.parametrize("case", [MOVED, ADDED])
def test_a_change_without_effect_is_a_violation(case: str, tmp_path: Path) -> None:
    """What waited for it is never delivered."""
    made = changed()
    tenant = case.partition(" ")[2]
    arrived = next(
        line for line in made.attempts if line.get("tenant") == tenant and line["at"] > 20.5 and line["at"] != 41.5
    )
    made.attempts = [line for line in made.attempts if line["r"] != arrived["r"]]
    assert judged(made, tmp_path)[case].verdict is Verdict.FAIL


def test_a_change_that_nothing_waited_for_proves_nothing(tmp_path: Path) -> None:
    """Nor do changes of which one kind was not tried."""
    made = changed()
    made.produced = [line for line in made.produced if line["topic"] != 0]
    assert judged(made, tmp_path / "idle")[MOVED].verdict is Verdict.INCONCLUSIVE
    made.events = [line for line in made.events if line["at"] != 60]
    assert judged(made, tmp_path / "few")[""].verdict is Verdict.INCONCLUSIVE


@pytest.mark.parametrize(("at", "untried"), [(0, "moved or removed or added"), (20, "removed or added"), (40, "added")])
def test_a_run_that_is_broken_off_before_the_changes_proves_nothing(at: float, untried: str, tmp_path: Path) -> None:
    """What was not tried is named, and there may be nothing at all."""
    made = changed()
    made.events = [line for line in made.events if line["at"] <= at]
    finding = judged(made, tmp_path)[""]
    assert finding.verdict is Verdict.INCONCLUSIVE
    assert finding.summary == f"no tenant was {untried} while a member ran"


def test_what_waits_as_the_run_is_broken_off_may_have_been_on_its_way(tmp_path: Path) -> None:
    """It is late only where the history goes on beyond the bound."""
    made = changed()
    made.events = [line for line in made.events if line["at"] <= 60]
    made.attempts = [line for line in made.attempts if line["at"] < 60]
    made.produced = [line for line in made.produced if line["acked"] < 60]
    finding = judged(made, tmp_path)[ADDED]
    assert finding.verdict is Verdict.INCONCLUSIVE
    assert finding.summary == "the run ended before all that waited for the change was due"


def test_what_comes_after_the_end_of_a_history_is_no_gap(tmp_path: Path) -> None:
    """It was broken off two seconds and a half after a change, in the middle of an acceptance."""
    made = changed()
    at = 62.545
    made.events = [line for line in made.events if line["at"] <= at]
    made.attempts = [line for line in made.attempts if line["at"] <= at]
    made.produced = [line for line in made.produced if line["acked"] <= at]
    finding = judged(made, tmp_path)[ADDED]
    assert finding.verdict is Verdict.INCONCLUSIVE
    assert "too soon after" in finding.summary
