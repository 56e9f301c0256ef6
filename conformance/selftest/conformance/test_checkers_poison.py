"""POI-1: a record that cannot be decoded goes where the configuration says, with a trace, and stops nobody else."""

from __future__ import annotations

from pathlib import Path

import pytest

from isolane.conformance.checkers import poison
from isolane.conformance.selftest.conformance.builders import Story, story
from isolane.conformance.tokens import Token
from isolane.conformance.verdict import Finding, Verdict


def broken(policy: str | None = "dead_letter") -> tuple[Story, Token]:
    """A record that cannot be decoded, with sound ones before and behind it, all committed past; and its token."""
    made = story()
    made.meta["dead_letter"] = {"kind": "kafka" if policy == "dead_letter" else "none", "undecodable": policy}
    made.deliver("h0", 1)
    token = made.produce("h0", 1.1, kind="poison")
    made.deliver("h0", 1.2)
    made.deliver("h0", 1.3, partition=1)
    made.commit(5, {"1/0": 3, "1/1": 1})
    made.phase("drain", 4)
    made.phase("end", 6)
    return made, token


def judged(made: Story, folder: Path) -> Finding:
    """The finding on POI-1."""
    (finding,) = poison.check(made.load(folder))
    return finding


def test_a_dead_letter_that_says_all_passes(tmp_path: Path) -> None:
    """It names topic, partition, offset and reason."""
    made, token = broken()
    made.put_aside(token, 2, tokens=[token])
    finding = judged(made, tmp_path)
    assert finding.verdict is Verdict.PASS
    assert finding.figures["dead-lettered"].value == 1


def test_a_dead_letter_that_does_not_say_where_it_comes_from_is_a_violation(tmp_path: Path) -> None:
    """Nobody could find the record in its topic."""
    made, token = broken()
    made.put_aside(token, 2, tokens=[token], names=False)
    assert "@1 was dead-lettered without its topic, partition and offset" in judged(made, tmp_path).summary


def test_a_dead_letter_without_a_reason_is_a_violation(tmp_path: Path) -> None:
    """Nobody would know what is wrong with it."""
    made, token = broken()
    made.put_aside(token, 2, tokens=[token], reason="")
    finding = judged(made, tmp_path)
    assert finding.verdict is Verdict.FAIL
    assert "@1 was dead-lettered without its reason" in finding.summary


def test_a_record_that_a_lax_decoder_delivers_is_not_dropped(tmp_path: Path) -> None:
    """What can be made of it has arrived."""
    made, token = broken()
    made.attempt("h0", [token], 2)
    finding = judged(made, tmp_path)
    assert (finding.verdict, finding.figures["delivered"].value) == (Verdict.PASS, 1)


@pytest.mark.parametrize("policy", ["dead_letter", "hold"])
def test_a_record_that_is_committed_past_against_its_policy_is_a_violation(policy: str, tmp_path: Path) -> None:
    """A trace in the output is no dead letter, and no holding."""
    made, token = broken(policy)
    made.output = [f"cannot decode {token}"]
    finding = judged(made, tmp_path)
    assert finding.verdict is Verdict.FAIL
    assert f"@1 was committed past; configured is to {policy.replace('_', '-')} it" in finding.summary


@pytest.mark.parametrize("policy", ["skip", None])
@pytest.mark.parametrize("line", ["{token}", "skipped managed_otlp.logs.h0 partition=0 offset=1"])
def test_a_record_that_is_skipped_with_a_trace_passes(policy: str | None, line: str, tmp_path: Path) -> None:
    """The output names it, by what it holds or by where it is."""
    made, token = broken(policy)
    made.output = [line.format(token=token)]
    finding = judged(made, tmp_path)
    assert (finding.verdict, finding.figures["skipped with a trace"].value) == (Verdict.PASS, 1)


@pytest.mark.parametrize(
    "line",
    [
        "",
        "managed_otlp.logs.h0 partition=0 offset=12",
        "managed_otlp.logs.h1 partition=0 offset=1",
        "INFO assigned partitions: managed_otlp.logs.h0 [0, 1, 2, 3]",
        "2026-3-1 10:05 INFO managed_otlp.logs.h0: polled",
    ],
)
def test_a_record_that_is_skipped_without_a_trace_is_a_violation(line: str, tmp_path: Path) -> None:
    """It was dropped silently: what the output says is about others."""
    made, _ = broken("skip")
    made.output = [line]
    finding = judged(made, tmp_path)
    assert finding.verdict is Verdict.FAIL
    assert "@1 was dropped silently" in finding.summary


@pytest.mark.parametrize("line", ["committed {topic}/0 offset {offset}", "fetched {topic} partition=0 offset={offset}"])
def test_a_log_of_all_records_is_no_trace_of_one(line: str, tmp_path: Path) -> None:
    """It names the sound ones as it does the broken one."""
    made, _ = broken("skip")
    made.output = [line.format(topic="managed_otlp.logs.h0", offset=offset) for offset in range(3)]
    assert "@1 was dropped silently" in judged(made, tmp_path / "silent").summary
    made.output.append("cannot decode managed_otlp.logs.h0/0 offset 1: no OTLP")
    assert judged(made, tmp_path / "traced").verdict is Verdict.PASS


def held(policy: str | None) -> Story:
    """A record that cannot be decoded at which the commit stands, and with it what is behind."""
    made, _ = broken(policy)
    made.attempts = [line for line in made.attempts if line["r"] != 2]
    made.commits.clear()
    made.commit(5, {"1/0": 1, "1/1": 1})
    return made


def test_a_record_that_is_held_as_configured_passes(tmp_path: Path) -> None:
    """And so is what is behind it in its partition."""
    assert judged(held("hold"), tmp_path).verdict is Verdict.PASS


@pytest.mark.parametrize("policy", ["dead_letter", "skip", None])
def test_a_record_that_is_held_against_its_policy_is_a_violation(policy: str | None, tmp_path: Path) -> None:
    """It was to go elsewhere, and to let others pass (FB-40)."""
    finding = judged(held(policy), tmp_path)
    assert finding.verdict is Verdict.FAIL
    assert "@1 holds its partition; what is configured for it is" in finding.summary


def test_a_record_that_stops_another_partition_is_a_violation(tmp_path: Path) -> None:
    """Whatever is configured for it."""
    made = held("hold")
    made.produce("h0", 2, partition=1)
    finding = judged(made, tmp_path)
    assert finding.verdict is Verdict.FAIL
    assert "h0/1@1 was stopped by a record that cannot be decoded" in finding.summary


def test_a_record_that_was_held_when_the_run_was_broken_off_may_have_been_put_aside(tmp_path: Path) -> None:
    """And so may what it stopped; what was committed past is a violation all the same."""
    made = held("dead_letter")
    del made.events[-1]
    finding = judged(made, tmp_path / "held")
    assert finding.verdict is Verdict.INCONCLUSIVE
    assert finding.summary.endswith("but the run ended before its drain was over")
    made, _ = broken()
    del made.events[-1]
    assert judged(made, tmp_path / "dropped").verdict is Verdict.FAIL


def test_a_broken_record_alone_proves_nothing(tmp_path: Path) -> None:
    """It must be among sound ones."""
    made, token = broken()
    made.put_aside(token, 2, tokens=[token])
    made.produced = [line for line in made.produced if line["offset"] != 2]
    assert judged(made, tmp_path).verdict is Verdict.INCONCLUSIVE


def test_without_a_broken_record_nothing_is_tried(tmp_path: Path) -> None:
    """Sound ones cannot be dropped for being broken."""
    made = story()
    made.deliver("h0", 1)
    assert poison.check(made.load(tmp_path)) == []
