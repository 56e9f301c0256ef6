"""All checkers on generated histories: sane ones pass, one broken thing fails, and nothing makes a checker crash."""

from __future__ import annotations

import tempfile
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from isolane.conformance.checkers import judge
from isolane.conformance.history import History
from isolane.conformance.requirements import CATALOGUE
from isolane.conformance.selftest.conformance.builders import Story, story
from isolane.conformance.verdict import Finding, Verdict

TENANTS = ("sick", "h0", "h1")


def load(made: Story) -> History:
    """Write and load, in a folder that is gone afterwards."""
    with tempfile.TemporaryDirectory() as folder:
        return made.load(Path(folder))


def findings(made: Story) -> dict[str, Finding]:
    """The finding on each requirement that has exactly one."""
    return {finding.requirement: finding for finding in judge(load(made))}


@st.composite
def sane(draw: st.DrawFn) -> Story:
    """Records of three tenants, each accepted after some refusals, and commits that are never ahead."""
    made = story()
    made.phase("control", 0)
    accepted: dict[tuple[int, int], list[float]] = {}
    for number in range(draw(st.integers(3, 12))):
        at = number / 2
        tenant = TENANTS[number % 3]
        token = made.produce(tenant, at, partition=draw(st.integers(0, 1)))
        for _ in range(draw(st.integers(0, 3))):
            made.attempt(tenant, [token], at, status=draw(st.sampled_from([429, 503, 408])), items=None)
            at += draw(st.floats(0.1, 1))
        made.attempt(tenant, [token], at, items=draw(st.sampled_from([201, 200])))
        accepted.setdefault((token.topic, token.partition), []).append(at + 0.005)
    for at in range(1, 14):
        prefixes = {}
        for (topic, partition), times in accepted.items():
            done = next((place for place, time in enumerate(times) if time > at), len(times))
            prefixes[f"{topic}/{partition}"] = draw(st.integers(0, done))
        made.commit(at, prefixes)
    made.commit(14, {f"{topic}/{partition}": len(times) for (topic, partition), times in accepted.items()})
    made.phase("drain", 13)
    made.phase("end", 15)
    return made


@settings(max_examples=40, deadline=None)
@given(sane())
def test_a_sane_history_passes(made: Story) -> None:
    """No false alarm, whatever the order of refusals, acceptances and commits."""
    found = findings(made)
    assert found["TEN-2"].verdict is Verdict.PASS
    assert found["DEL-1"].verdict is Verdict.PASS
    assert found["OFF-1"].verdict is Verdict.PASS


@settings(max_examples=40, deadline=None)
@given(sane(), st.data())
def test_one_acceptance_less_is_a_lost_record(made: Story, data: st.DataObject) -> None:
    """DEL-1 fails and names that record; OFF-1 fails too, since the last commit is past it."""
    number = data.draw(st.integers(0, len(made.produced) - 1))
    token = made.produced[number]["token"]
    of_record = {line["r"] for line in made.attempts if line["e"] == "arrived" and line["tokens"] == [token]}
    made.attempts = [line for line in made.attempts if line["r"] not in of_record or line["e"] != "answered"]
    found = findings(made)
    assert found["DEL-1"].verdict is Verdict.FAIL
    assert found["DEL-1"].evidence == (token,)
    assert found["OFF-1"].verdict is Verdict.FAIL
    assert found["OFF-1"].evidence == (token,)


@settings(max_examples=40, deadline=None)
@given(sane(), st.data())
def test_one_request_at_a_foreign_cluster_is_a_violation(made: Story, data: st.DataObject) -> None:
    """TEN-2 fails, and nothing else does: every record is accepted where it belongs as well."""
    line = data.draw(st.sampled_from(made.produced))
    foreign = data.draw(st.sampled_from([name for name in TENANTS if made.topic(name) != line["topic"]]))
    made.requests += 1
    made.attempts.append(
        {
            "e": "arrived",
            "r": made.requests,
            "tenant": foreign,
            "at": 9.0,
            "bytes": 1,
            "open": 1,
            "tokens": [line["token"]],
        }
    )
    verdicts = {requirement: finding.verdict for requirement, finding in findings(made).items()}
    assert verdicts["TEN-2"] is Verdict.FAIL
    assert verdicts["DEL-1"] is verdicts["OFF-1"] is Verdict.PASS


@settings(max_examples=40, deadline=None)
@given(sane(), st.data())
def test_whatever_a_crash_leaves_can_be_judged(made: Story, data: st.DataObject) -> None:
    """Files that end anywhere, and events of every kind, lead to findings, never to an error, on any requirement."""
    made.meta["judges"] = list(CATALOGUE.requirements)
    for name in ("slow", "pushback-429", "refuse", "blackhole", "reset", "unknown"):
        at = data.draw(st.floats(0, 15))
        made.fault(name, data.draw(st.sampled_from(TENANTS)), at, at + data.draw(st.floats(0, 5)))
    made.event(data.draw(st.floats(0, 15)), "process", "exited", member=0)
    with tempfile.TemporaryDirectory() as name:
        folder = made.write(Path(name))
        for file in folder.glob("*.ndjson"):
            content = file.read_bytes()
            file.write_bytes(content[: data.draw(st.integers(0, len(content)))])
        found = judge(History.load(folder))
    assert all(finding.summary for finding in found)
    assert all(finding.story for finding in found if finding.evidence)
