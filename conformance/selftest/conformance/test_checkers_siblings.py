"""ISO-6 and ISO-9: a tenant's other topics and partitions go on while one is stalled."""

from __future__ import annotations

from pathlib import Path

import pytest

from isolane.conformance.checkers import siblings
from isolane.conformance.selftest.conformance.builders import RUN, Story, story
from isolane.conformance.tokens import Token
from isolane.conformance.verdict import Finding, Verdict


def judged(made: Story, folder: Path) -> Finding:
    """The one finding."""
    (finding,) = siblings.check(made.load(folder))
    return finding


def blocked() -> Story:
    """The sick tenant has two topics; the items of the first are refused in [110, 120), those of the second are not."""
    made = story(judges=("ISO-6",))
    made.meta["topics"].append({"name": "managed_otlp.metrics.sick", "tenant": "sick", "partitions": 2})
    made.meta["tenants"][0]["topics"].append(3)
    made.phase("control", 100)
    made.fault("block", "sick", 110, 120)
    made.phase("drain", 120)
    made.flow("sick", 100, 120, rate=20)
    for line in made.produced:
        line["topic"] = 3
        line["token"] = str(Token(RUN, 3, 0, line["offset"]))
    for line in made.attempts:
        if line["e"] == "arrived":
            line["tokens"] = [token.replace(f"{RUN:04x}0000", f"{RUN:04x}0003") for token in line["tokens"]]
    for second in range(110, 120):
        made.attempt("sick", [made.produce("sick", second)], second, items=[403])
    return made


def stalled() -> Story:
    """The sick tenant's partition 0 is refused in [110, 120), while its partition 1 flows and is committed."""
    made = story(judges=("ISO-9",))
    made.phase("control", 100)
    made.fault("stall", "sick", 110, 120)
    made.phase("drain", 120)
    for number in range(100):
        made.deliver("sick", 100 + number / 5, partition=1)
    for second in range(110, 120):
        made.attempt("sick", [made.produce("sick", second, partition=0)], second, items=[503])
        made.commit(second + 0.5, {"0/1": 5 * (second - 100)})
    return made


def test_a_topic_that_feels_nothing_of_a_blocked_one(tmp_path: Path) -> None:
    """The other topic is judged as a healthy tenant is."""
    finding = judged(blocked(), tmp_path)
    assert (finding.requirement, finding.verdict, finding.case) == ("ISO-6", Verdict.PASS, "fault:block")
    assert finding.figures["fault bites"].value == 10
    assert finding.figures["p99 delay"].value == pytest.approx(0.05)


def test_a_topic_that_waits_for_a_blocked_one_is_a_violation(tmp_path: Path) -> None:
    """Three seconds without an acceptance; the sentence names the topic."""
    made = blocked()
    late = {line["r"] for line in made.attempts if line["e"] == "arrived" and 112 <= line["at"] < 115}
    for line in made.attempts:
        if line.get("r") in late and line["e"] != "arrived" and line.get("items") == 201:
            line["at"] = 115
    finding = judged(made, tmp_path)
    assert finding.verdict is Verdict.FAIL
    assert "topic managed_otlp.metrics.sick: " in finding.summary


def test_a_block_of_all_topics_tries_nothing(tmp_path: Path) -> None:
    """Nobody is left to feel it."""
    made = blocked()
    made.attempt("sick", [Token(RUN, 3, 0, 0)], 112, items=[403])
    finding = judged(made, tmp_path)
    assert finding.verdict is Verdict.INCONCLUSIVE
    assert "no other topic" in finding.summary


def test_a_block_that_refused_nothing_tries_nothing(tmp_path: Path) -> None:
    """Another refusal is not a write block."""
    made = blocked()
    for line in made.attempts:
        if line.get("items") == [403]:
            line["items"] = [503]
    assert "did not bite" in judged(made, tmp_path).summary


def test_partitions_that_advance_beside_a_stalled_one(tmp_path: Path) -> None:
    """They are accepted and committed."""
    finding = judged(stalled(), tmp_path)
    assert (finding.requirement, finding.verdict, finding.case) == ("ISO-9", Verdict.PASS, "fault:stall")
    assert finding.figures["other partitions"].value == 1
    assert finding.figures["longest gap of any"].value < 0.3


def test_a_partition_that_waits_for_a_stalled_one_is_a_violation(tmp_path: Path) -> None:
    """Its records are not accepted for more than two seconds."""
    made = stalled()
    late = {line["r"] for line in made.attempts if line["e"] == "arrived" and 112 <= line["at"] < 115}
    for line in made.attempts:
        if line.get("r") in late and line["e"] != "arrived" and line.get("items") == 201:
            line["at"] = 115
    finding = judged(made, tmp_path)
    assert finding.verdict is Verdict.FAIL
    assert "managed_otlp.logs.sick/1 accepted nothing for 3." in finding.summary
    assert finding.evidence[0] in finding.story[0]


def test_a_partition_that_is_delivered_and_not_committed_has_not_advanced(tmp_path: Path) -> None:
    """One commit for all partitions of a tenant, or of a member, stands still with the stalled one."""
    made = stalled()
    for line in made.commits:
        line["offsets"] = {"0/1": 50}
    finding = judged(made, tmp_path)
    assert finding.verdict is Verdict.FAIL
    assert "managed_otlp.logs.sick/1 was not committed" in finding.summary


def test_a_stall_of_every_partition_tries_nothing(tmp_path: Path) -> None:
    """There has to be another one."""
    made = stalled()
    made.attempt("sick", [Token(RUN, 0, 1, 60)], 113, items=[503])
    assert "no other partition" in judged(made, tmp_path).summary


def test_a_starved_harness_judges_nobody(tmp_path: Path) -> None:
    """Gaps may be its own."""
    made = stalled()
    made.event(115, "harness", "sampler_gap", seconds=2.0)
    assert judged(made, tmp_path).verdict is Verdict.INCONCLUSIVE


def test_other_phases_are_left_to_others(tmp_path: Path) -> None:
    """Nothing is said where nothing was tried."""
    made = stalled()
    made.events = [event for event in made.events if event["name"] != "stall"]
    assert siblings.check(made.load(tmp_path)) == []
