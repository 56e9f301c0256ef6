"""DEL-2: a finding needs every kind of refusal for now, and fails for what was given up."""

from __future__ import annotations

from pathlib import Path

import pytest

from isolane.conformance.checkers import retries
from isolane.conformance.selftest.conformance.builders import Story
from isolane.conformance.selftest.conformance.faulty import cut_short, faulty, judged
from isolane.conformance.tokens import Token
from isolane.conformance.verdict import Verdict


def refused_in_every_way() -> Story:
    """A record for each kind of refusal, each accepted in the end."""
    made = faulty("refuse", refuse=True)
    made.meta["judges"] = ["DEL-2"]
    refused(made, 21, status=408, items=None)
    refused(made, 21, status=425, items=None)
    refused(made, 21, items=[429])
    refused(made, 21, status=502, items=None)
    refused(made, 21, status=200, items=None)
    refused(made, 21, how="reset")
    made.attempt("sick", [made.produce("sick", 22)], 22, took=None)
    made.attempts.append({"e": "closed", "r": made.requests, "at": 27, "how": "client_gone"})
    made.produce("sick", 15)
    made.attempt("sick", [Token.parse(line["token"]) for line in made.produced], 29)
    return made


def refused(
    made: Story, at: float, *, status: int = 200, items: list[int] | None = None, how: str = "replied"
) -> Token:
    """A record that is refused once."""
    token = made.produce("sick", at)
    made.attempt("sick", [token], at, status=status, items=items, how=how)
    return token


def test_every_kind_of_refusal_outlived_passes(tmp_path: Path) -> None:
    """With how many records met each, and how long the longest lasted."""
    finding = judged(refused_in_every_way(), tmp_path, retries.check)
    assert finding.verdict is Verdict.PASS, finding.summary
    assert finding.figures["records that met: refused connection"].value == 1
    assert finding.figures["longest from the first refusal to the end"].value == pytest.approx(14, abs=0.1)


def test_a_record_given_up_and_committed_past_fails(tmp_path: Path) -> None:
    """FB-05: a budget of retries that runs out; the story shows the refusals and the commit."""
    made = refused_in_every_way()
    token = refused(made, 25, status=503)
    made.commit(28, {"0/0": token.sequence + 1})
    finding = judged(made, tmp_path, retries.check)
    assert finding.verdict is Verdict.FAIL
    assert "given up, committed past" in finding.summary
    assert finding.evidence == (str(token),)
    assert any("503 after" in line for line in finding.story)


def test_a_record_that_never_comes_back_fails(tmp_path: Path) -> None:
    """Held for ever is not delivered."""
    made = refused_in_every_way()
    token = refused(made, 25, status=503)
    finding = judged(made, tmp_path, retries.check)
    assert (finding.verdict, finding.evidence) == (Verdict.FAIL, (str(token),))


def test_a_record_put_aside_for_being_refused_for_now_fails(tmp_path: Path) -> None:
    """A dead letter after the last retry is a drop with a trace; after a verdict on the record it is none."""
    made = refused_in_every_way()
    token = refused(made, 25, status=503)
    made.put_aside(token, 28, tokens=[token])
    finding = judged(made, tmp_path / "for now", retries.check)
    assert finding.verdict is Verdict.FAIL
    assert "put aside" in finding.summary
    made.attempt("sick", [token], 26, items=[400])
    assert judged(made, tmp_path / "for good", retries.check).verdict is Verdict.PASS


def test_a_kind_that_nobody_met_is_inconclusive(tmp_path: Path) -> None:
    """A port that took requests did not refuse, and whoever was killed did not wait."""
    made = refused_in_every_way()
    made.attempt("sick", [made.produce("sick", 15)], 15)
    finding = judged(made, tmp_path, retries.check)
    assert finding.verdict is Verdict.INCONCLUSIVE
    assert finding.summary == "no record met: refused connection"


def test_a_drain_that_was_cut_short_decides_nothing(tmp_path: Path) -> None:
    """What is missing might still have come."""
    made = refused_in_every_way()
    refused(made, 25, status=503)
    cut_short(made)
    assert judged(made, tmp_path, retries.check).verdict is Verdict.INCONCLUSIVE


def test_nothing_refused_says_nothing_unless_declared(tmp_path: Path) -> None:
    """Other scenarios need not try this."""
    made = faulty("slow")
    made.deliver("sick", 12)
    assert retries.check(made.load(tmp_path / "a")) == []
    made.meta["judges"] = ["DEL-2"]
    assert judged(made, tmp_path / "b", retries.check).verdict is Verdict.INCONCLUSIVE
