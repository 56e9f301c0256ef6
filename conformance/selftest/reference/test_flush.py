"""What becomes of a flush after a reply."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from isolane.conformance.selftest.reference.fakes import FakeLane, answer, ids, piece, pieces, reply
from isolane.reference.flush import Flush, divide
from isolane.reference.outcome import Outcome, Reply

ACCEPTED, RETRYABLE, ENVIRONMENT = Outcome.ACCEPTED, Outcome.RETRYABLE, Outcome.ENVIRONMENT
CONDEMNED, TOO_LARGE = Outcome.CONDEMNED, Outcome.TOO_LARGE
NEVER = float("-inf")

RECORDS = st.lists(st.integers(1, 4), min_size=1, max_size=5)


def flush_of(records: list[int]) -> Flush:
    """Return a flush of records with so many documents each, first attempted at second 10."""
    return Flush(FakeLane("a"), [piece(documents) for documents in records], ticket=3, first_attempt=10.0)


@settings(deadline=None)
@given(records=RECORDS, data=st.data(), accepted_at=st.sampled_from([NEVER, 11.0]))
def test_each_document_comes_next_exactly_once(records: list[int], data: st.DataObject, accepted_at: float) -> None:
    """DEL-3: accepted, condemned or to be sent again: each document is one of them, by its own outcome."""
    flush = flush_of(records)
    everything = ids(flush)
    outcomes = data.draw(st.lists(st.sampled_from(list(Outcome)), min_size=len(everything), max_size=len(everything)))
    division = divide(flush, reply(*outcomes), accepted_at=accepted_at, now=12.0)
    condemned = ids([part for part, _ in division.condemned])
    assert sorted(ids(division.accepted) + ids(division.rest) + condemned) == sorted(everything)
    by_id = dict(zip(everything, outcomes, strict=True))
    assert ids(division.accepted) == [name for name in everything if by_id[name] is ACCEPTED]
    assert {RETRYABLE, ENVIRONMENT}.isdisjoint(by_id[name] for name in condemned)
    assert ids(division.left) == ids(division.rest)


@settings(deadline=None)
@given(records=RECORDS)
def test_halves_are_the_flush_again(records: list[int]) -> None:
    """DEL-4: a flush that was refused as a whole is cut in the middle, through a record if need be; tickets stay."""
    flush = flush_of([*records, 1])
    everything = ids(flush)
    division = divide(flush, answer(TOO_LARGE, flush), accepted_at=NEVER, now=12.0)
    first, second = division.halves
    assert ids(first) + ids(second) == everything
    assert len(ids(first)) == len(everything) // 2
    assert first.ticket == second.ticket == flush.ticket
    assert ids(division.left) == everything
    assert not division.rest


def test_an_accepted_neighbour_condemns() -> None:
    """DEL-4: what can never succeed is condemned with its own reason while the cluster accepts what is beside it."""
    flush = flush_of([1, 1, 1])
    outcomes = (ACCEPTED, CONDEMNED, RETRYABLE)
    said = Reply(None, outcomes, reason="the first", reasons={1: "mapping", 2: "busy"})
    division = divide(flush, said, accepted_at=NEVER, now=12.0)
    assert [(ids([part]), reason) for part, reason in division.condemned] == [([ids(flush)[1]], "mapping")]
    assert ids(division.rest) == [ids(flush)[2]]


def test_nothing_is_condemned_while_nothing_is_accepted() -> None:
    """DEL-5: a cluster, or a proxy, that refuses everything condemns nothing, whatever it accepted long ago."""
    flush = flush_of([1, 1])
    division = divide(flush, reply(CONDEMNED, CONDEMNED), accepted_at=9.9, now=12.0)
    assert not division.condemned
    assert ids(division.rest) == ids(flush)


def test_a_later_acceptance_condemns_what_is_refused_again() -> None:
    """DEL-4: a document alone is condemned once its cluster accepted another one since the first attempt."""
    flush = flush_of([1])
    division = divide(flush, answer(CONDEMNED, flush), accepted_at=10.5, now=12.0)
    assert ids([part for part, _ in division.condemned]) == ids(flush)


def test_a_part_of_a_record_is_sent_again() -> None:
    """DEL-3: of a record with several documents, exactly those that were refused are left."""
    flush = Flush(FakeLane("a"), pieces(1, documents=3), ticket=0)
    division = divide(flush, reply(ACCEPTED, RETRYABLE, ACCEPTED), accepted_at=NEVER, now=12.0)
    assert ids(division.rest) == [ids(flush)[1]]
    assert division.rest[0].record is flush.pieces[0].record
