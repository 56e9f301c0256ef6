"""DEL-4: culprits are put aside, confirmed before they are marked, and what is around them is delivered."""

from __future__ import annotations

from pathlib import Path

import pytest

from isolane.conformance.checkers import culprits
from isolane.conformance.selftest.conformance.builders import Story
from isolane.conformance.selftest.conformance.faulty import faulty, judged
from isolane.conformance.tokens import Token
from isolane.conformance.verdict import Verdict

SECOND = "isotok[0-9a-f]{12}000000010000"
"""The second record of a partition."""

SCRIPTS: dict[str, dict[str, object]] = {
    "marked": {"status": 400, "culprit": SECOND},
    "large": {"body_limit": 1000},
    "items": {"items": [201, 400, 201]},
}
STATUS = {"marked": 400, "large": 413}


def planted(name: str, *, aside: bool = True, bystanders: bool = True) -> tuple[Story, list[Token]]:
    """Three records of which the second can never succeed: refused together, then split, and it is put aside."""
    made = faulty(name, **SCRIPTS[name])
    tokens = [made.produce("sick", 11) for _ in range(3)]
    if name == "large":
        made.produced[1]["bytes"] = 2000
    if name == "items":
        made.attempt("sick", tokens if bystanders else tokens[1:2], 11, items=[201, 400, 201] if bystanders else [400])
    else:
        made.attempt("sick", tokens if bystanders else tokens[1:2], 11, status=STATUS[name], items=None)
        made.attempt("sick", [tokens[0]], 12)
        made.attempt("sick", tokens[1:2], 12, status=STATUS[name], items=None)
    made.attempt("sick", tokens[2:], 13)
    if aside:
        made.put_aside(tokens[1], 14, tokens=tokens[1:2])
    return made, tokens


@pytest.mark.parametrize("name", SCRIPTS)
def test_a_culprit_put_aside_and_the_others_delivered_passes(name: str, tmp_path: Path) -> None:
    """FB-41, FB-42, FB-03: the three ways in which a record can be the one at fault."""
    made, _ = planted(name)
    made.commit(16, {"0/0": 3})
    finding = judged(made, tmp_path, culprits.check)
    assert (finding.verdict, finding.case) == (Verdict.PASS, name), finding.summary
    assert finding.figures["put aside"].value == 1


@pytest.mark.parametrize("name", SCRIPTS)
def test_a_commit_before_the_dead_letter_fails(name: str, tmp_path: Path) -> None:
    """FB-45: written and forgotten is not confirmed."""
    made, tokens = planted(name)
    made.commit(13.5, {"0/0": 2})
    finding = judged(made, tmp_path, culprits.check)
    assert (finding.verdict, finding.evidence) == (Verdict.FAIL, (str(tokens[1]),))
    assert "before their dead letter" in finding.summary


@pytest.mark.parametrize("name", SCRIPTS)
def test_a_culprit_that_is_left_fails(name: str, tmp_path: Path) -> None:
    """Neither accepted nor put aside by the end of the drain."""
    made, tokens = planted(name, aside=False)
    finding = judged(made, tmp_path, culprits.check)
    assert (finding.verdict, finding.evidence) == (Verdict.FAIL, (str(tokens[1]),))


@pytest.mark.parametrize("name", SCRIPTS)
def test_a_culprit_tried_again_and_again_fails(name: str, tmp_path: Path) -> None:
    """FB-41: also when a mended cluster takes it; refused once, there may have been no time to condemn it."""
    made, tokens = planted(name, aside=False)
    made.attempt("sick", tokens[1:2], 21)
    assert judged(made, tmp_path / "once", culprits.check).verdict is Verdict.INCONCLUSIVE
    for at in (14, 15):
        if name == "items":
            made.attempt("sick", [tokens[1], made.produce("sick", at)], at, items=[400, 201])
        else:
            made.attempt("sick", tokens[1:2], at, status=STATUS[name], items=None)
    finding = judged(made, tmp_path / "again", culprits.check)
    assert finding.verdict is Verdict.FAIL
    assert "not put aside" in finding.summary


@pytest.mark.parametrize("name", ["marked", "large"])
def test_a_request_sent_again_as_it_was_fails(name: str, tmp_path: Path) -> None:
    """FB-41: once may be caution; what is never split never ends."""
    made, tokens = planted(name)
    for at in (15, 16):
        made.attempt("sick", tokens, at, status=STATUS[name], items=None)
    finding = judged(made, tmp_path, culprits.check)
    assert finding.verdict is Verdict.FAIL
    assert "not split" in finding.summary


@pytest.mark.parametrize("name", ["marked", "large"])
def test_a_bystander_put_aside_fails(name: str, tmp_path: Path) -> None:
    """FB-42: one bad document takes the bulk around it with it."""
    made, tokens = planted(name)
    made.put_aside(tokens[0], 14, tokens=[tokens[0]])
    finding = judged(made, tmp_path, culprits.check)
    assert (finding.verdict, finding.evidence) == (Verdict.FAIL, (str(tokens[0]),))


@pytest.mark.parametrize("name", ["marked", "large"])
def test_a_bystander_that_is_lost_fails(name: str, tmp_path: Path) -> None:
    """The same, without a trace."""
    made, _ = planted(name)
    token = made.produce("sick", 15)
    made.attempt("sick", [token, made.produce("sick", 15)], 15, status=STATUS[name], items=None)
    assert judged(made, tmp_path, culprits.check).verdict is Verdict.FAIL


@pytest.mark.parametrize("name", ["marked", "large"])
def test_a_culprit_that_was_alone_all_along_proves_nothing(name: str, tmp_path: Path) -> None:
    """There was nothing to split."""
    made, _ = planted(name, bystanders=False)
    assert judged(made, tmp_path, culprits.check).verdict is Verdict.INCONCLUSIVE


def test_who_puts_nothing_aside_is_not_asked(tmp_path: Path) -> None:
    """The feature is not claimed; nor is it tried where no item was refused for good."""
    made, _ = planted("marked")
    made.meta["dead_letter"] = {"kind": "none"}
    assert culprits.check(made.load(tmp_path / "none")) == []
    made = faulty("items", items=[201, 429])
    made.attempt("sick", [made.produce("sick", 11)], 11)
    assert culprits.check(made.load(tmp_path / "items")) == []
