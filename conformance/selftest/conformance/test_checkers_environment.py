"""DEL-5: what the environment refuses is held; a record is condemned only while others are accepted."""

from __future__ import annotations

from pathlib import Path

import pytest

from isolane.conformance.checkers import environment
from isolane.conformance.history_values import Kind
from isolane.conformance.selftest.conformance.builders import Story
from isolane.conformance.selftest.conformance.faulty import faulty, judged
from isolane.conformance.tokens import Token
from isolane.conformance.verdict import Verdict

ANSWERS: dict[str, tuple[int, list[int] | None]] = {
    "denied-401": (401, None),
    "blocked": (200, [403]),
    "missing": (200, [404]),
    "proxy": (400, None),
}


def held(name: str, *, requests: int = 3, accepted: bool = True) -> tuple[Story, Token]:
    """A record that its cluster's environment refuses three times, and accepts once it is mended."""
    made = faulty(name)
    token = made.produce("sick", 11)
    status, items = ANSWERS[name]
    for number in range(requests):
        made.attempt("sick", [token], 11 + number, status=status, items=items)
    if accepted:
        made.attempt("sick", [token], 21)
    return made, token


@pytest.mark.parametrize("name", ANSWERS)
def test_what_was_held_and_accepted_in_the_end_passes(name: str, tmp_path: Path) -> None:
    """Each error of the environment, for the request or for the item."""
    made, _ = held(name)
    finding = judged(made, tmp_path, environment.check)
    assert (finding.verdict, finding.case) == (Verdict.PASS, name), finding.summary


@pytest.mark.parametrize("name", ANSWERS)
def test_a_record_committed_past_fails(name: str, tmp_path: Path) -> None:
    """FB-02: the status was taken for a verdict on the record, even if something delivers it later."""
    made, token = held(name)
    made.commit(15, {"0/0": 1})
    finding = judged(made, tmp_path, environment.check)
    assert (finding.verdict, finding.evidence) == (Verdict.FAIL, (str(token),))
    assert "committed past" in finding.summary


@pytest.mark.parametrize("name", ANSWERS)
def test_a_record_put_aside_fails(name: str, tmp_path: Path) -> None:
    """A proxy that answers 400 to everything must not empty a topic into dead letters."""
    made, token = held(name, accepted=False)
    made.put_aside(token, 14, tokens=[token])
    finding = judged(made, tmp_path, environment.check)
    assert finding.verdict is Verdict.FAIL
    assert "put aside" in finding.summary


def unasked(name: str, *, at: float = 12, kind: Kind = "data") -> tuple[Story, Token]:
    """What is held from 11 to 13, and accepted in the end; and a record that is put aside, and was in no request."""
    made, _ = held(name)
    made.deliver("sick", 9.96)  # accepted when the fault had just been told of, and was not there yet
    token = made.produce("sick", 9, kind=kind)
    made.put_aside(token, at, tokens=[token])
    return made, token


@pytest.mark.parametrize("name", ANSWERS)
def test_a_record_put_aside_that_the_cluster_was_not_asked_about_fails(name: str, tmp_path: Path) -> None:
    """A circuit that is open after a few refusals empties a topic just as well."""
    made, token = unasked(name)
    finding = judged(made, tmp_path, environment.check)
    assert (finding.verdict, finding.evidence) == (Verdict.FAIL, (str(token),))
    assert "put aside" in finding.summary


def test_who_is_put_aside_while_others_are_accepted_is_not_condemned_for_the_environment(tmp_path: Path) -> None:
    """Whoever does it knows something of that record: that it is too large, say."""
    made, _ = unasked("blocked")
    made.deliver("sick", 11.5)
    assert judged(made, tmp_path, environment.check).verdict is Verdict.PASS


@pytest.mark.parametrize(
    ("at", "kind"),
    [(10.9, "data"), (12.95, "data"), (12, "poison")],
    ids=["before the first refusal", "after the last one", "undecodable"],
)
def test_what_may_be_put_aside_for_another_reason_is_not_counted(at: float, kind: Kind, tmp_path: Path) -> None:
    """The cluster may have accepted something until just before, or since; and nobody could send what is broken."""
    made, _ = unasked("denied-401", at=at, kind=kind)
    assert judged(made, tmp_path, environment.check).verdict is Verdict.PASS


def test_a_record_refused_for_good_while_others_were_accepted_may_be_put_aside(tmp_path: Path) -> None:
    """Once the proxy is mended a 400 is a verdict."""
    made, token = held("proxy", accepted=False)
    made.attempt("sick", [token, made.produce("sick", 22)], 22, items=[400, 201])
    made.put_aside(token, 23, tokens=[token])
    assert judged(made, tmp_path, environment.check).verdict is Verdict.PASS


def test_a_record_that_is_never_accepted_after_the_heal_fails(tmp_path: Path) -> None:
    """FB-23: what was blocked goes on without a restart."""
    made, token = held("blocked", accepted=False)
    finding = judged(made, tmp_path, environment.check)
    assert (finding.verdict, finding.evidence) == (Verdict.FAIL, (str(token),))


def test_too_few_refusals_are_inconclusive(tmp_path: Path) -> None:
    """The fault must have bitten."""
    made, _ = held("missing", requests=2)
    finding = judged(made, tmp_path, environment.check)
    assert (finding.verdict, finding.summary) == (Verdict.INCONCLUSIVE, "requests refused: 2, the least are 3")
