"""Whose turn it is to be fetched: as many of those that are behind as fill a fetch."""

from __future__ import annotations

from isolane.conformance.selftest.reference.fake_kafka import FakeRecord
from isolane.reference.kafka_turns import FetchTurns


def records(number: int, size: int) -> list[FakeRecord]:
    """So many records of so many bytes each."""
    return [FakeRecord("t", 0, offset, None, bytes(size)) for offset in range(number)]


def test_as_many_have_their_turn_as_fill_a_fetch() -> None:
    """By how far each is behind, and by how large its records were; from the first on."""
    turns = FetchTurns[str](1000)
    turns.took({"a": records(2, 100), "b": records(1, 10), "c": records(1, 10)})
    assert turns.next([("a", 3), ("b", 40), ("c", 30), ("d", 1)]) == ["a", "b", "c"]
    assert turns.next([("c", 30), ("b", 40), ("a", 3)]) == ["c", "b", "a"]
    assert turns.next([("c", 30), ("b", 70), ("a", 3)]) == ["c", "b"]


def test_one_has_its_turn_however_far_it_is_behind() -> None:
    """And nobody beside it."""
    turns = FetchTurns[str](1000)
    turns.took({"a": records(1, 100)})
    assert turns.next([("a", 50), ("b", 1)]) == ["a"]


def test_a_partition_of_which_nothing_is_known_is_like_the_latest_one() -> None:
    """As long as there is none at all, everybody has a turn."""
    turns = FetchTurns[str](1000)
    everybody = [("a", 50), ("b", 50), ("c", 50)]
    assert turns.next(everybody) == ["a", "b", "c"]
    turns.took({"d": records(3, 10)})
    assert turns.next(everybody) == ["a", "b"]


def test_what_counts_is_the_latest_size() -> None:
    """Records of a partition that became small make room for others; a tombstone has no bytes."""
    turns = FetchTurns[str](1000)
    turns.took({"a": records(1, 1000)})
    turns.took({"a": [FakeRecord("t", 0, 1, None, None), *records(1, 20)], "b": records(1, 20)})
    assert turns.next([("a", 50), ("b", 25), ("c", 1)]) == ["a", "b"]


def test_a_partition_that_is_assigned_no_more_is_forgotten() -> None:
    """In a group that changes, one number for each partition that ever was here would add up."""
    turns = FetchTurns[str](1000)
    turns.took({"a": records(1, 1000), "b": records(1, 10)})
    assert turns.next([("a", 1), ("b", 1)]) == ["a"]
    turns.keep("ab")
    assert turns.next([("a", 1), ("b", 1)]) == ["a"]
    turns.keep("b")
    assert turns.next([("a", 1), ("b", 1)]) == ["a", "b"]
