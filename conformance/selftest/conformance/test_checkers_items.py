"""DEL-3: inside a 200 exactly what was not accepted comes back."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from isolane.conformance.checkers import items
from isolane.conformance.selftest.conformance.builders import Story
from isolane.conformance.selftest.conformance.faulty import cut_short, faulty, judged
from isolane.conformance.tokens import Token
from isolane.conformance.verdict import Verdict

MIXED = {"items": [201, 429], "short": [201], "contradict": [201, 503]}


def mixed(kind: str, *, again: Sequence[int] = (1, 1, 1)) -> tuple[Story, list[list[Token]]]:
    """Three replies of a kind to requests of two records; of each the second comes back, or whichever `again` says."""
    made = faulty(kind)
    pairs = []
    for number, which in enumerate(again):
        pair = [made.produce("sick", 11 + number) for _ in range(2)]
        made.attempt("sick", pair, 11 + number, items=MIXED[kind])
        made.attempt("sick", [pair[which]], 11.5 + number)
        pairs.append(pair)
    return made, pairs


@pytest.mark.parametrize("kind", MIXED)
def test_exactly_what_was_not_accepted_came_back(kind: str, tmp_path: Path) -> None:
    """Refused, left out, or accepted by `errors` alone: all three are owed."""
    made, _ = mixed(kind)
    finding = judged(made, tmp_path, items.check)
    assert finding.verdict is Verdict.PASS, finding.summary
    assert (finding.case, finding.figures["items that had to come back"].value) == (kind, 3)


@pytest.mark.parametrize("kind", ["short", "contradict"])
def test_an_item_taken_for_done_fails(kind: str, tmp_path: Path) -> None:
    """FB-03: a reply confirms nothing that it does not state; the accepted one may come back out of caution."""
    made, pairs = mixed(kind, again=(1, 0, 1))
    finding = judged(made, tmp_path, items.check)
    assert finding.verdict is Verdict.FAIL
    assert "taken for done" in finding.summary
    assert finding.evidence == (str(pairs[1][1]),)


def test_an_accepted_item_sent_again_fails(tmp_path: Path) -> None:
    """FB-03: the whole request again, or everything behind the first failure."""
    made, pairs = mixed("items")
    made.attempt("sick", pairs[2][:1], 14)
    finding = judged(made, tmp_path, items.check)
    assert finding.verdict is Verdict.FAIL
    assert "though they were accepted" in finding.summary
    assert finding.evidence == (str(pairs[2][0]),)


def test_who_was_interrupted_may_send_again_what_was_not_committed(tmp_path: Path) -> None:
    """A member that ended or began between the acceptance and the repetition is the reason for it."""
    made, pairs = mixed("items")
    made.attempt("sick", pairs[2], 24)
    made.event(22, "process", "killed", member=0)
    assert judged(made, tmp_path, items.check).verdict is Verdict.PASS


def test_an_item_refused_for_good_need_not_come_back(tmp_path: Path) -> None:
    """That is for DEL-4."""
    made, _ = mixed("items")
    made.attempt("sick", [made.produce("sick", 15) for _ in range(2)], 15, items=[201, 400])
    assert judged(made, tmp_path, items.check).verdict is Verdict.PASS


def test_too_few_such_replies_are_inconclusive(tmp_path: Path) -> None:
    """Requests of a single item are never answered in part."""
    made, _ = mixed("short", again=(1, 1))
    finding = judged(made, tmp_path, items.check)
    assert (finding.verdict, finding.summary) == (
        Verdict.INCONCLUSIVE,
        "replies with too few items: 2, the least are 3",
    )


def test_what_has_not_come_back_yet_is_inconclusive_when_time_ran_out(tmp_path: Path) -> None:
    """Without a whole drain it might have."""
    made, _ = mixed("short", again=(1, 0, 1))
    cut_short(made)
    assert judged(made, tmp_path, items.check).verdict is Verdict.INCONCLUSIVE
