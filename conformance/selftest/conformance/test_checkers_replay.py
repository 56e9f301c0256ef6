"""DEL-9: however often an item is sent, it is one document, and a conflict on it means accepted."""

from __future__ import annotations

from pathlib import Path

from isolane.conformance.checkers import replay
from isolane.conformance.selftest.conformance.builders import Story
from isolane.conformance.selftest.conformance.faulty import faulty, judged
from isolane.conformance.tokens import Token
from isolane.conformance.verdict import Verdict


def replayed(*, count: int = 10, status: int = 409) -> tuple[Story, list[Token]]:
    """Records that were accepted without a reply, sent again, and answered so."""
    made = faulty("lost")
    made.meta["judges"] = ["DEL-9"]
    tokens = [made.produce("sick", 11) for _ in range(count)]
    made.attempt("sick", tokens, 11, how="lost")
    made.attempt("sick", tokens, 12, items=status)
    return made, tokens


def counted(made: Story, documents: int) -> None:
    """Tell how many documents there are."""
    made.event(39, "documents", "sick", documents=documents)


def test_conflicts_and_overwritten_documents_pass(tmp_path: Path) -> None:
    """Of `create` the second is a conflict, of `index` an update."""
    for status in (409, 200):
        made, _ = replayed(status=status)
        counted(made, 10)
        finding = judged(made, tmp_path / str(status), replay.check)
        assert finding.verdict is Verdict.PASS, finding.summary
        assert finding.figures["documents in the clusters"].value == 10


def test_a_second_document_fails(tmp_path: Path) -> None:
    """FB-44: ids of the cluster's own making turn a replay into two documents."""
    made, tokens = replayed(status=201)
    finding = judged(made, tmp_path, replay.check)
    assert finding.verdict is Verdict.FAIL
    assert "more than one document" in finding.summary
    assert str(tokens[0]) in finding.evidence


def test_an_id_of_another_fails(tmp_path: Path) -> None:
    """A conflict on the very first write says that somebody else's document is there."""
    made, _ = replayed()
    token = made.produce("sick", 13)
    made.attempt("sick", [token], 13, items=[409])
    finding = judged(made, tmp_path, replay.check)
    assert (finding.verdict, finding.evidence) == (Verdict.FAIL, (str(token),))


def test_a_conflict_taken_for_a_failure_fails(tmp_path: Path) -> None:
    """FB-44: sent again though it was told to be there; who was killed in between may have forgotten."""
    made, tokens = replayed()
    made.attempt("sick", tokens[:1], 14, items=[409])
    finding = judged(made, tmp_path / "again", replay.check)
    assert (finding.verdict, finding.evidence) == (Verdict.FAIL, (str(tokens[0]),))
    made.event(13, "process", "killed", member=0)
    assert judged(made, tmp_path / "killed", replay.check).verdict is Verdict.PASS


def test_a_member_that_was_expelled_and_came_back_has_forgotten_too(tmp_path: Path) -> None:
    """It was given no processor time for longer than its session: no process ended, and the group was formed anew."""
    made, tokens = replayed()
    made.attempt("sick", tokens[:1], 14, items=[409])
    made.group(1, {"a": ["0/0"]}, generation=1)
    assert judged(made, tmp_path / "same", replay.check).verdict is Verdict.FAIL
    made.group(14.2, {"b": ["0/0"]}, generation=3)
    assert judged(made, tmp_path / "expelled", replay.check).verdict is Verdict.PASS


def test_without_replays_nothing_is_seen(tmp_path: Path) -> None:
    """Inconclusive where it is declared, silent elsewhere."""
    made, _ = replayed(count=9)
    assert judged(made, tmp_path / "few", replay.check).verdict is Verdict.INCONCLUSIVE
    made.meta["judges"] = []
    assert replay.check(made.load(tmp_path / "silent")) == []


def test_a_count_that_does_not_fit_is_inconclusive(tmp_path: Path) -> None:
    """Documents without a token, or a ledger that lacks some: the evidence contradicts itself."""
    made, _ = replayed()
    counted(made, 11)
    assert judged(made, tmp_path, replay.check).verdict is Verdict.INCONCLUSIVE
