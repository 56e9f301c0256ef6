"""LIM-4: a sick tenant's cluster is asked again within the published bound."""

from __future__ import annotations

from pathlib import Path

from isolane.conformance.checkers import probes
from isolane.conformance.selftest.conformance.builders import Story, story
from isolane.conformance.verdict import Finding, Verdict


def probed(*gaps: float, sick: int = 1) -> Story:
    """A tenant whose cluster answers 503 from 110 to 130; probes that last 0.1 s, with these gaps between them."""
    made = story(healthy=sick - 1, judges=("LIM-4",))
    made.meta["bounds"] |= {"probe_interval": 2.0, "probe_slots": 2, "request_timeout": 5.0}
    made.event(99, "process", "started", member=0, pid=1, code=None)
    for tenant in made.meta["tenants"]:
        made.fault("pushback", tenant["name"], 110, 130)
    made.phase("drain", 130)
    made.phase("end", 160)
    record = made.produce("sick", 109)
    at = 110.5
    for gap in (*gaps, 0):
        made.attempt("sick", [record], at, took=0.1, status=503, items=None)
        at += 0.1 + gap
    made.attempt("sick", [record], 131)
    return made


def judged(made: Story, folder: Path) -> Finding:
    """The finding on LIM-4."""
    (finding,) = probes.check(made.load(folder))
    return finding


def test_probes_within_the_bound_pass(tmp_path: Path) -> None:
    """The longest rest is a figure, with its bound; the last one ends after the heal."""
    finding = judged(probed(0.5, 1, 2, 2, 2.9, 2.9, 2.9, 2.9), tmp_path)
    assert finding.verdict is Verdict.PASS
    assert str(finding.figures["longest time between the end of an attempt and the next"]) == "2.9 s (≤ 3)"


def test_a_rest_beyond_the_bound_is_a_violation(tmp_path: Path) -> None:
    """The story is that of a record which waited for it."""
    finding = judged(probed(1, 4, 2, 2, 2, 2, 2, 2, 2), tmp_path)
    assert finding.verdict is Verdict.FAIL
    assert "records that waited while their cluster was not probed: 1" in finding.summary


def test_a_tenant_that_is_never_probed_again_is_a_violation(tmp_path: Path) -> None:
    """A cap of zero: the rest lasts to the end of the history, although the cluster was healed long before."""
    made = probed(1, 1, 1)
    made.attempts = [line for line in made.attempts if line["at"] < 131 and line["r"] <= 4]
    assert judged(made, tmp_path).verdict is Verdict.FAIL


def test_many_sick_tenants_take_turns(tmp_path: Path) -> None:
    """With five sick and two probed at once each may wait for two turns of a request's longest duration."""
    assert judged(probed(12.5, 2, sick=5), tmp_path / "a").verdict is Verdict.PASS
    assert judged(probed(13.5, 2, sick=5), tmp_path / "b").verdict is Verdict.FAIL


def test_with_nothing_to_send_there_is_nothing_to_probe(tmp_path: Path) -> None:
    """A rest without a record that waits is none."""
    made = probed(1, 1)
    made.attempts = [line for line in made.attempts if line["at"] < 131]
    made.attempt("sick", [None], 113.5)
    made.produced[0]["acked"] = 128
    finding = judged(made, tmp_path)
    assert finding.verdict is Verdict.INCONCLUSIVE
    assert "no sick tenant's cluster was seen to be probed twice" in finding.summary


def test_what_refuses_or_swallows_connections_shows_no_probes(tmp_path: Path) -> None:
    """There a probe is not a request that arrives, so nothing is judged."""
    made = probed(9, 9)
    made.events = [line | {"script": {"refuse": True}} if line["kind"] == "fault" else line for line in made.events]
    assert judged(made, tmp_path).verdict is Verdict.INCONCLUSIVE
