"""What travels from a partition to a cluster: pieces of records, and flushes of them. Pure: no threads, no clock."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, field
from itertools import compress
from typing import TYPE_CHECKING, Protocol

from isolane.reference.outcome import Outcome

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from isolane.reference.consumer import TopicPartition
    from isolane.reference.otlp import Document
    from isolane.reference.outcome import Reply

_REFUSED = (Outcome.CONDEMNED, Outcome.TOO_LARGE)


class Lane(Hashable, Protocol):
    """One ownership of a partition, as those see it who send for it.

    The object is the epoch: a partition that is lost and assigned again is another lane.
    """

    @property
    def place(self) -> TopicPartition:
        """The partition."""

    @property
    def tenant(self) -> str:
        """The name of the tenant that owns the partition's topic."""

    @property
    def closed(self) -> bool:
        """Whether nothing more may be sent for it; once true it stays true."""

    def resolve(self, pieces: Sequence[Piece]) -> None:
        """Take pieces that need nothing more: accepted, confirmed as dead letters, or skipped as configured."""

    def abandon(self, pieces: Sequence[Piece]) -> None:
        """Take pieces that will not be sent: what they hold is released, and nothing is marked."""


class Record:
    """A record in flight.

    Attributes:
        offset: In its partition.
        size: The bytes that it counts for: those of its documents.
        unresolved: How many of its documents are still to be resolved.
        whole: Whether none of them was abandoned.
    """

    __slots__ = ("offset", "size", "unresolved", "whole")

    def __init__(self, offset: int, size: int, documents: int) -> None:
        """Begin with all documents unresolved."""
        self.offset = offset
        self.size = size
        self.unresolved = documents
        self.whole = True


class Piece:
    """Documents of one record that wait to be sent: at first all of them, later those that were refused."""

    __slots__ = ("documents", "record", "size")

    def __init__(self, record: Record, documents: Sequence[Document]) -> None:
        """Take the record and the documents, in their order; `size` is what the documents come to in bytes."""
        self.record = record
        self.documents = documents
        self.size = sum(len(document.source) for document in documents)

    @classmethod
    def of_record(cls, offset: int, documents: Sequence[Document]) -> Piece:
        """Return all documents of the record at `offset`."""
        piece = cls(Record(offset, 0, len(documents)), documents)
        piece.record.size = piece.size
        return piece

    def chosen(self, choice: Sequence[bool]) -> list[Piece]:
        """Return the chosen documents as one piece, or none when nothing was chosen."""
        if all(choice):
            return [self]
        return [Piece(self.record, list(compress(self.documents, choice)))] if any(choice) else []


@dataclass(slots=True, eq=False)
class Flush:
    """What one attempt sends: pieces of records of one lane.

    Attributes:
        lane: Where the records came from.
        pieces: In order.
        ticket: Its place among the work of the tenant, by age; halves and what is left of it keep the ticket.
        attempts: How many attempts have ended.
        first_attempt: When the first began; None before.
        hit_an_outage: Whether the last one met a cluster that accepted nothing, and named no time to come again.
    """

    lane: Lane
    pieces: Sequence[Piece]
    ticket: int
    attempts: int = 0
    first_attempt: float | None = None
    hit_an_outage: bool = False

    @property
    def documents(self) -> list[Document]:
        """All documents, in order."""
        return [document for piece in self.pieces for document in piece.documents]

    def with_pieces(self, pieces: Sequence[Piece]) -> Flush:
        """Return what is left of this flush, or a part of it."""
        return Flush(self.lane, pieces, self.ticket, self.attempts, self.first_attempt)

    def halves(self) -> tuple[Flush, Flush]:
        """Return the first and the second half of the documents; there must be two at least."""
        middle = sum(len(piece.documents) for piece in self.pieces) // 2
        first: list[Piece] = []
        second: list[Piece] = []
        for piece in self.pieces:
            for part, documents in ((first, piece.documents[:middle]), (second, piece.documents[middle:])):
                if documents:
                    part.append(Piece(piece.record, documents))
            middle = max(0, middle - len(piece.documents))
        return self.with_pieces(first), self.with_pieces(second)


@dataclass(slots=True)
class Division:
    """A flush after a reply, divided by what comes next.

    Attributes:
        counts: How many documents had each outcome.
        accepted: Pieces that need nothing more.
        condemned: Pieces that can never succeed, each with the cluster's reason.
        halves: To be sent at once, each apart.
        rest: Pieces to be sent again later.
    """

    counts: Mapping[Outcome, int]
    accepted: list[Piece] = field(default_factory=list)
    condemned: list[tuple[Piece, str]] = field(default_factory=list)
    halves: Sequence[Flush] = ()
    rest: list[Piece] = field(default_factory=list)

    @property
    def accepts(self) -> bool:
        """Whether the cluster accepted any document."""
        return Outcome.ACCEPTED in self.counts

    @property
    def outcome(self) -> str:
        """The attempt in a word: `accepted`, `partial`, or the first outcome in `counts` when nothing was accepted."""
        first, *others = self.counts
        return "partial" if self.accepts and others else first.name.lower()

    @property
    def left(self) -> list[Piece]:
        """What is to be sent again, at once or later."""
        return [*self.rest, *(piece for half in self.halves for piece in half.pieces)]


def divide(flush: Flush, reply: Reply, *, accepted_at: float, now: float) -> Division:
    """Divide `flush` by what the cluster said of it.

    Exactly what was not accepted is sent again (DEL-3). A document is condemned only while its cluster accepts
    others: beside it, or at any time since this flush was first attempted (DEL-5, design decision 11). Otherwise
    it may be the cluster, or a proxy before it, that refuses everything, and the document is held.

    Args:
        flush: What was sent; its attempt is counted.
        reply: What came of it.
        accepted_at: When the tenant's cluster last accepted anything before this reply.
        now: The time.
    """
    flush.attempts += 1
    outcomes = reply.items
    division = Division({outcome: outcomes.count(outcome) for outcome in Outcome if outcome in outcomes})
    if reply.request is Outcome.TOO_LARGE and len(outcomes) > 1:
        division.halves = flush.halves()
        return division
    began = now if flush.first_attempt is None else flush.first_attempt
    may_condemn = division.accepts or accepted_at >= began
    position = 0
    for piece in flush.pieces:
        own = outcomes[position : position + len(piece.documents)]
        accepted = [outcome is Outcome.ACCEPTED for outcome in own]
        doomed = [may_condemn and outcome in _REFUSED for outcome in own]
        division.accepted += piece.chosen(accepted)
        division.rest += piece.chosen([not (done or gone) for done, gone in zip(accepted, doomed, strict=True)])
        if any(doomed):
            reason = reply.reasons.get(position + doomed.index(True), reply.reason)
            division.condemned += [(part, reason) for part in piece.chosen(doomed)]
        position += len(own)
    return division
