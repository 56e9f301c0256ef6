"""TEN-4: a topic that matches, and that no tenant owns, is told of, and harms nobody."""

from __future__ import annotations

from pathlib import Path

from isolane.conformance.checkers import unowned
from isolane.conformance.selftest.conformance.builders import Story, story
from isolane.conformance.verdict import Finding, Verdict


def orphaned() -> Story:
    """Records in a topic that nobody owns, told of in the output, beside a tenant to whom everything is delivered."""
    made = story()
    made.phase("load", 0)
    for number in range(20):
        made.produce("h1", 2 + number / 100)
    made.flow("h0", 0, 10, rate=10)
    made.meta["topics"][2]["tenant"] = None
    made.meta["tenants"] = made.meta["tenants"][:2]
    made.commit(5, {"1/0": 40})
    made.output = ["started", "nobody owns the topic managed_otlp.logs.h1"]
    made.phase("drain", 13)
    made.phase("end", 14)
    return made


def judged(made: Story, folder: Path) -> Finding:
    """The finding on TEN-4."""
    (finding,) = unowned.check(made.load(folder))
    return finding


def test_a_topic_that_is_named_and_left_alone_passes(tmp_path: Path) -> None:
    """Nobody is delayed."""
    finding = judged(orphaned(), tmp_path)
    assert finding.verdict is Verdict.PASS
    assert finding.figures["records in topics that nobody owns"].value == 20


def test_a_topic_that_is_not_named_is_a_violation(tmp_path: Path) -> None:
    """Nobody would know."""
    made = orphaned()
    made.output.pop()
    finding = judged(made, tmp_path)
    assert finding.verdict is Verdict.FAIL
    assert "nothing in the output names managed_otlp.logs.h1" in finding.summary


def test_a_topic_may_have_been_about_to_be_named_when_the_run_was_broken_off(tmp_path: Path) -> None:
    """It had only just been written to."""
    made = orphaned()
    made.output.pop()
    del made.events[-2:]
    assert judged(made, tmp_path).verdict is Verdict.INCONCLUSIVE


def test_a_commit_for_such_a_topic_is_a_violation(tmp_path: Path) -> None:
    """Its records would be gone for whoever comes to own it; a commit of its beginning marks nothing."""
    made = orphaned()
    made.commit(6, {"2/0": 0})
    assert judged(made, tmp_path / "begun").verdict is Verdict.PASS
    made.commit(7, {"2/0": 20})
    finding = judged(made, tmp_path / "marked")
    assert finding.verdict is Verdict.FAIL
    assert "its records are gone, as managed_otlp.logs.h1/0@0" in finding.summary


def test_a_healthy_tenant_that_gets_nothing_meanwhile_is_a_violation(tmp_path: Path) -> None:
    """Two seconds of nothing are too much."""
    made = orphaned()
    for line in made.attempts:
        if 3 < line["at"] < 5.5:
            line["at"] = 5.5
    finding = judged(made, tmp_path / "a")
    assert finding.verdict is Verdict.FAIL
    assert "h0 got nothing for 2.5 s while a topic that nobody owns was written to" in finding.summary
    made.event(4, "harness", "sampler_gap", seconds=2)
    assert judged(made, tmp_path / "b").verdict is Verdict.INCONCLUSIVE


def test_without_such_a_topic_nothing_is_tried(tmp_path: Path) -> None:
    """Nor is it when nothing was written to one."""
    made = orphaned()
    made.produced = [line for line in made.produced if line["topic"] != 2]
    assert unowned.check(made.load(tmp_path)) == []
