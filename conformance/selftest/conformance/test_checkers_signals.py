"""TEN-3: every log record, data point and span of a tenant with several topics arrives."""

from __future__ import annotations

from pathlib import Path

from isolane.conformance.checkers import signals
from isolane.conformance.selftest.conformance.builders import Story, story
from isolane.conformance.tokens import Token
from isolane.conformance.verdict import Finding, Verdict


def several() -> Story:
    """A tenant with a topic of logs and one of metrics, two items a record; and one with a single topic."""
    made = story(items=2)
    made.meta["tenants"][1]["topics"] = [1, 2]
    made.meta["topics"][2] = {"name": "managed_otlp.metrics.h0", "tenant": "h0", "partitions": 1}
    del made.meta["tenants"][2]
    for topic in (1, 2):
        for sequence in range(5):
            deliver(made, Token(0x1234, topic, 0, sequence), items=2)
    made.phase("drain", 10)
    made.phase("end", 11)
    return made


def deliver(made: Story, token: Token, *, items: int) -> None:
    """A record of two items, of which the first so many are accepted."""
    made.produce("h0", 1, items=2)
    made.produced[-1] |= {"token": str(token), "topic": token.topic, "offset": token.sequence}
    tokens = [Token(token.run, token.topic, token.partition, token.sequence, item) for item in range(items)]
    made.attempt("h0", tokens, 1.1)


def judged(made: Story, folder: Path) -> Finding:
    """The finding on TEN-3."""
    (finding,) = signals.check(made.load(folder))
    return finding


def test_every_item_of_every_signal_passes(tmp_path: Path) -> None:
    """They are counted by what they are called."""
    finding = judged(several(), tmp_path)
    assert (finding.verdict, finding.summary) == (Verdict.PASS, "every item arrived: 10 log records, 10 data points")


def test_an_item_that_is_missing_is_a_violation(tmp_path: Path) -> None:
    """A record of which one item came has not arrived."""
    made = several()
    deliver(made, Token(0x1234, 2, 0, 9), items=1)
    finding = judged(made, tmp_path)
    assert finding.verdict is Verdict.FAIL
    assert finding.summary == "records of which data points are missing: 1; first managed_otlp.metrics.h0/0@9"


def test_what_a_run_that_was_broken_off_lacks_may_have_been_under_way(tmp_path: Path) -> None:
    """Before the end of the drain nothing is missing for good: neither a violation nor a pass."""
    made = several()
    deliver(made, Token(0x1234, 2, 0, 9), items=1)
    made.commit(10.7, {"2/0": 10})
    del made.events[-1]
    finding = judged(made, tmp_path)
    assert finding.verdict is Verdict.INCONCLUSIVE
    assert finding.summary == "not every item arrived (records: 1), but the run ended before its drain was over"


def test_what_a_starved_harness_did_not_see_arrive_is_no_violation(tmp_path: Path) -> None:
    """Unless it was committed past: then nobody will bring it any more."""
    made = several()
    deliver(made, Token(0x1234, 2, 0, 9), items=1)
    made.event(10.5, "harness", "sampler_gap", seconds=5)
    assert judged(made, tmp_path / "left").verdict is Verdict.INCONCLUSIVE
    made.commit(10.7, {"2/0": 10})
    assert judged(made, tmp_path / "lost").verdict is Verdict.FAIL


def test_what_is_held_as_configured_need_not_arrive(tmp_path: Path) -> None:
    """A record that cannot be decoded holds its partition, where the descriptor says so; what came before it counts."""
    made = several()
    made.produce("h0", 2, kind="poison", items=2)
    deliver(made, Token(0x1234, 1, 0, 99), items=0)
    assert judged(made, tmp_path / "open").verdict is Verdict.FAIL
    made.meta["dead_letter"] = {"kind": "none", "undecodable": "hold"}
    finding = judged(made, tmp_path / "held")
    assert (finding.verdict, finding.summary) == (Verdict.PASS, "every item arrived: 10 log records, 10 data points")


def test_tenants_with_one_topic_are_left_to_others(tmp_path: Path) -> None:
    """Unless the scenario declares to judge this, and the implementation takes but one signal."""
    made = story()
    made.deliver("h0", 1)
    made.phase("drain", 10)
    made.phase("end", 11)
    assert signals.check(made.load(tmp_path / "silent")) == []
    made.meta["judges"] = ["TEN-3"]
    finding = judged(made, tmp_path / "declared")
    assert (finding.verdict, finding.summary) == (Verdict.PASS, "every item arrived: 1 log records")


def test_nothing_sent_proves_nothing(tmp_path: Path) -> None:
    """An empty run is not a clean one."""
    made = several()
    made.produced.clear()
    assert judged(made, tmp_path).verdict is Verdict.INCONCLUSIVE
