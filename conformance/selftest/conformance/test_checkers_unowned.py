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


def told(*, topic: str = "managed_otlp.logs.h1", value: float = 1.0) -> Story:
    """The same of an implementation that claims metrics, which name a topic."""
    made = orphaned()
    made.meta["features"]["metrics"] = True
    made.meta["metrics"] = {"map": {"unowned": "own_unowned"}, "labels": {}}
    made.scrapes = [{"began": at, "at": at + 0.01, "member": "0", "text": "own_up 1\n"} for at in range(3)]
    made.scrapes[-1]["text"] += f'own_unowned{{topic="{topic}"}} {value}\nown_lag{{topic="managed_otlp.logs.h1"}} 9\n'
    return made


def test_a_topic_is_named_in_metrics_too_where_those_are_claimed(tmp_path: Path) -> None:
    """By the metric that is mapped for it, or by any where none is."""
    assert judged(told(), tmp_path / "named").verdict is Verdict.PASS
    for number, made in enumerate([told(topic="managed_otlp.logs.h2"), told(value=0.0)]):
        finding = judged(made, tmp_path / f"unnamed{number}")
        assert finding.verdict is Verdict.FAIL
        assert "no metric names managed_otlp.logs.h1, which nobody owns" in finding.summary
        made.meta["metrics"]["map"] = {}
        assert judged(made, tmp_path / f"unmapped{number}").verdict is Verdict.PASS
        made.meta["features"]["metrics"] = False
        made.scrapes.clear()
        assert judged(made, tmp_path / f"unclaimed{number}").verdict is Verdict.PASS


def test_metrics_that_were_not_read_or_not_to_the_end_prove_nothing(tmp_path: Path) -> None:
    """They may have named the topic, or were about to."""
    made = told()
    made.scrapes = made.scrapes[:2]
    del made.events[-2:]
    assert judged(made, tmp_path / "broken_off").verdict is Verdict.INCONCLUSIVE
    made = told()
    made.scrapes.clear()
    finding = judged(made, tmp_path / "unread")
    assert finding.verdict is Verdict.INCONCLUSIVE
    assert finding.summary.endswith("but metrics were never read")
    for line in made.attempts:
        if 3 < line["at"] < 5.5:
            line["at"] = 5.5
    assert judged(made, tmp_path / "delayed").verdict is Verdict.FAIL


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
