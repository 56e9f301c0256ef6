"""DEL-1: every produced record is accepted once the drain is over, or named."""

from __future__ import annotations

from pathlib import Path

from isolane.conformance.checkers import delivery
from isolane.conformance.selftest.conformance.builders import Story, story
from isolane.conformance.tokens import Token
from isolane.conformance.verdict import Finding, Verdict


def drained(*, complete: bool = True) -> Story:
    """Twenty records delivered, and a drain."""
    made = story()
    made.phase("control", 0)
    made.flow("h0", 0, 2, rate=10)
    made.phase("drain", 5)
    if complete:
        made.phase("end", 15)
    return made


def judged(made: Story, folder: Path) -> Finding:
    """The finding on DEL-1."""
    (finding,) = delivery.check(made.load(folder))
    return finding


def test_everything_accepted_passes(tmp_path: Path) -> None:
    """With the number of records beside it."""
    finding = judged(drained(), tmp_path)
    assert finding.verdict is Verdict.PASS
    assert finding.figures["finished"].value == 20


def test_a_record_committed_past_and_never_accepted_is_lost(tmp_path: Path) -> None:
    """The finding names it, and its story tells of the commit that gave it up."""
    made = drained()
    token = made.produce("h0", 2)
    made.attempt("h0", [token], 2.1, status=503, items=None)
    made.commit(3, {"1/0": token.sequence})
    made.commit(4, {"1/0": token.sequence + 1})
    finding = judged(made, tmp_path)
    assert finding.verdict is Verdict.FAIL
    assert finding.summary == ("records lost, committed past and never finished: 1; first managed_otlp.logs.h0/0@20")
    assert finding.evidence == (str(token),)
    text = "\n".join(finding.story)
    assert "request 21 to h0's cluster: 503 after 0.005 s" in text
    assert "committed offset 21 observed: past this record" in text
    assert "never accepted" in finding.story[-1]


def test_a_record_left_at_the_end_of_the_drain_is_a_violation_too(tmp_path: Path) -> None:
    """Held back without an end is not delivered, even if it is not lost."""
    made = drained()
    token = made.produce("h0", 2)
    finding = judged(made, tmp_path)
    assert finding.verdict is Verdict.FAIL
    assert "records left, not finished by the end of the drain: 1" in finding.summary
    assert finding.evidence == (str(token),)


def test_a_record_of_several_items_needs_all_of_them(tmp_path: Path) -> None:
    """One missing item is a loss."""
    made = drained()
    token = made.produce("h0", 2, items=3)
    made.attempt("h0", [Token(token.run, token.topic, token.partition, token.sequence, item) for item in (0, 2)], 2.1)
    assert judged(made, tmp_path).verdict is Verdict.FAIL


def test_a_run_that_was_cut_short_is_inconclusive(tmp_path: Path) -> None:
    """What is missing might still have come; so it is when there was no drain at all."""
    made = drained(complete=False)
    made.produce("h0", 2)
    finding = judged(made, tmp_path / "a")
    assert finding.verdict is Verdict.INCONCLUSIVE
    assert "before its drain was over (records not finished: 1)" in finding.summary
    made.events = made.events[:1]
    assert judged(made, tmp_path / "b").verdict is Verdict.INCONCLUSIVE


def test_a_drain_that_the_harness_starved_is_inconclusive(tmp_path: Path) -> None:
    """There was no fair chance to deliver what was left; what was committed past is lost all the same."""
    made = drained()
    token = made.produce("h0", 2)
    made.event(10, "harness", "sampler_gap", seconds=4)
    finding = judged(made, tmp_path / "left")
    assert finding.verdict is Verdict.INCONCLUSIVE
    assert "starved in drain" in finding.summary
    made.commit(4, {"1/0": token.sequence + 1})
    assert judged(made, tmp_path / "lost").verdict is Verdict.FAIL


def test_nothing_produced_proves_nothing(tmp_path: Path) -> None:
    """An empty run is not a clean one."""
    made = story()
    made.phase("drain", 1)
    made.phase("end", 2)
    finding = judged(made, tmp_path)
    assert (finding.verdict, finding.summary) == (Verdict.INCONCLUSIVE, "nothing was produced")


def test_records_of_topics_that_nobody_owns_need_not_arrive(tmp_path: Path) -> None:
    """There is no cluster that they could go to."""
    made = drained()
    made.produce("h1", 2)
    made.meta["topics"][2]["tenant"] = None
    assert judged(made, tmp_path).verdict is Verdict.PASS


def test_at_most_ten_records_are_named(tmp_path: Path) -> None:
    """A lost topic does not flood the report."""
    made = drained()
    for number in range(30):
        made.produce("h1", 2 + number / 100)
    finding = judged(made, tmp_path)
    assert len(finding.evidence) == 10
    assert "the drain: 30;" in finding.summary


def held(policy: str | None) -> Story:
    """A record that cannot be decoded in the middle of a partition, and one behind it that never came."""
    made = drained()
    made.meta["dead_letter"] = {"kind": "none", "undecodable": policy}
    made.produce("h0", 2, kind="poison")
    made.produce("h0", 2.1)
    return made


def test_what_is_held_as_configured_is_not_left(tmp_path: Path) -> None:
    """Neither the record that cannot be decoded, nor what is behind it in its partition."""
    assert judged(held("hold"), tmp_path).verdict is Verdict.PASS


def test_holding_where_that_is_not_configured_is_a_violation(tmp_path: Path) -> None:
    """A partition that stops at a record that it was to put aside, or to skip, has left what is behind."""
    assert judged(held("dead_letter"), tmp_path / "a").verdict is Verdict.FAIL
    assert judged(held("skip"), tmp_path / "b").verdict is Verdict.FAIL


def test_what_is_held_must_not_be_committed_past(tmp_path: Path) -> None:
    """Then it was not held, but lost."""
    made = held("hold")
    made.commit(4, {"1/0": 22})
    finding = judged(made, tmp_path)
    assert finding.verdict is Verdict.FAIL
    assert "records lost, committed past and never finished: 2" in finding.summary


def test_holding_one_partition_excuses_no_other(tmp_path: Path) -> None:
    """A record that cannot be decoded stops its own partition at most."""
    made = held("hold")
    made.produce("h0", 2.2, partition=1)
    assert judged(made, tmp_path).verdict is Verdict.FAIL


def test_a_dead_letter_is_as_good_as_an_acceptance(tmp_path: Path) -> None:
    """What can never be delivered is finished when it was put aside."""
    made = drained()
    token = made.produce("h0", 2)
    made.attempt("h0", [token], 2.1, items=[400])
    made.put_aside(token, 3, tokens=[token])
    assert judged(made, tmp_path).verdict is Verdict.PASS
