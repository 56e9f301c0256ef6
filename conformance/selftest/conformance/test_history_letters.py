"""When a record is finished: by acceptance, by dead letters, or because there is nothing to deliver."""

from __future__ import annotations

import math
from pathlib import Path

from isolane.conformance.history import History
from isolane.conformance.history_values import NOTHING_TO_DELIVER
from isolane.conformance.selftest.conformance.builders import Story, story
from isolane.conformance.tokens import Token


def finished(history: History, token: Token) -> float:
    """When the record of that token was finished."""
    record = history.find(token.record)
    assert record is not None
    return history.finished_at(record)


def item(token: Token, number: int) -> Token:
    """The token of another item of the same record."""
    return Token(token.run, token.topic, token.partition, token.sequence, number)


def with_policy(policy: str | None) -> Story:
    """An empty history whose records that cannot be decoded go where `policy` says."""
    made = story()
    made.meta["dead_letter"] = {"kind": "kafka" if policy == "dead_letter" else "none", "undecodable": policy}
    return made


def test_a_dead_letter_finishes_the_items_whose_tokens_it_holds(tmp_path: Path) -> None:
    """One item accepted and one put aside are the whole record, at the later of the two times."""
    made = story()
    token = made.produce("h0", 1, items=2)
    made.attempt("h0", [token, item(token, 1)], 2, items=[201, 400])
    made.put_aside(token, 3, tokens=[item(token, 1)])
    assert finished(made.load(tmp_path), token) == 3


def test_a_dead_letter_for_another_item_finishes_nothing(tmp_path: Path) -> None:
    """What is missing is still missing, even though the letter names the record's place."""
    made = story()
    token = made.produce("h0", 1, items=2)
    made.put_aside(token, 3, tokens=[token])
    assert finished(made.load(tmp_path), token) == math.inf


def test_a_dead_letter_without_tokens_finishes_the_record_that_it_names(tmp_path: Path) -> None:
    """All of its items; the letters of a record can be found by it."""
    made = story()
    token = made.produce("h0", 1, items=3)
    made.put_aside(token, 3)
    history = made.load(tmp_path)
    assert finished(history, token) == 3
    (record,) = history.produced
    assert [letter.reason for letter in history.letters(record)] == ["broken"]


def test_a_dead_letter_that_names_and_holds_nothing_finishes_nothing(tmp_path: Path) -> None:
    """It might be about anything."""
    made = story()
    token = made.produce("h0", 1)
    made.put_aside(token, 3, names=False)
    assert finished(made.load(tmp_path), token) == math.inf


def test_a_dead_letter_of_another_run_is_passed_over(tmp_path: Path) -> None:
    """A destination may be shared by many runs."""
    made = story()
    token = made.produce("h0", 1)
    stranger = Token(token.run + 1, token.topic, token.partition, token.sequence)
    made.put_aside(token, 3, names=False, tokens=[stranger])
    assert finished(made.load(tmp_path), token) == math.inf


def test_what_was_accepted_before_stays_finished_then(tmp_path: Path) -> None:
    """A dead letter beside an acceptance makes nothing later."""
    made = story()
    token = made.deliver("h0", 1)
    made.put_aside(token, 9, tokens=[token])
    assert finished(made.load(tmp_path), token) == 1.05


def test_nothing_to_deliver_is_finished_before_anybody_can_have_read_it(tmp_path: Path) -> None:
    """Tombstones, empty values, aborted transactions, superseded keys, and what was there too early."""
    made = story()
    tokens = [made.produce("h0", 1, kind=kind) for kind in sorted(NOTHING_TO_DELIVER)]
    history = made.load(tmp_path)
    assert [finished(history, token) for token in tokens] == [1.001] * 5


def test_what_cannot_be_decoded_is_finished_by_its_policy(tmp_path: Path) -> None:
    """Put aside, it takes a dead letter; held, it never is; skipped, nobody can tell when it was, but that it was."""
    finished_at = {}
    for policy in ("dead_letter", "hold", "skip", None):
        made = with_policy(policy)
        token = made.produce("h0", 1, kind="poison")
        assert finished(made.load(tmp_path / f"{policy}-left"), token) == math.inf
        made.commit(2, {"1/0": 1})
        finished_at[policy] = finished(made.load(tmp_path / f"{policy}-passed"), token)
    assert finished_at == {"dead_letter": math.inf, "hold": math.inf, "skip": 1.001, None: 1.001}
