"""Stand-ins for the parts around the one that is tested."""

from __future__ import annotations

from itertools import count
from typing import TYPE_CHECKING

from isolane.reference.consumer import TopicPartition
from isolane.reference.flush import Flush, Piece
from isolane.reference.otlp import Document
from isolane.reference.outcome import Outcome, Reply

if TYPE_CHECKING:
    from collections.abc import Sequence

_OFFSETS = count()


class FakeLane:
    """An ownership of a partition that remembers what it was told."""

    def __init__(self, tenant: str, partition: int = 0) -> None:
        """Begin the ownership of a partition of the tenant's topic."""
        self.place = TopicPartition(f"managed_otlp.logs.{tenant}", partition)
        self.tenant = tenant
        self.closed = False
        self.resolved: list[Piece] = []
        self.abandoned: list[Piece] = []

    def resolve(self, pieces: Sequence[Piece]) -> None:
        """See `Lane`."""
        self.resolved.extend(pieces)

    def abandon(self, pieces: Sequence[Piece]) -> None:
        """See `Lane`."""
        self.abandoned.extend(pieces)


def piece(documents: int = 1, size: int = 10) -> Piece:
    """Return a whole record with so many documents, each of `size` bytes; no two pieces have a document in common."""
    offset = next(_OFFSETS)
    return Piece.of_record(offset, [Document("index", f"{offset}:{n}", b"x" * size) for n in range(documents)])


def pieces(records: int, documents: int = 1, size: int = 10) -> list[Piece]:
    """Return so many records."""
    return [piece(documents, size) for _ in range(records)]


def ids(flush_or_pieces: Flush | Sequence[Piece]) -> list[str]:
    """Return the ids of all documents, in order."""
    own = flush_or_pieces.pieces if isinstance(flush_or_pieces, Flush) else flush_or_pieces
    return [document.id for piece in own for document in piece.documents]


def reply(*items: Outcome, retry_after: float | None = None) -> Reply:
    """Return a reply with an outcome for each document."""
    return Reply(None, items, retry_after, "as scripted")


def answer(outcome: Outcome, flush: Flush, retry_after: float | None = None) -> Reply:
    """Return a reply to the request as a whole; one that accepts is item by item, as a cluster's is."""
    count = len(flush.documents)
    if outcome is Outcome.ACCEPTED:
        return reply(*[outcome] * count)
    return Reply.whole(outcome, count, "as scripted", retry_after)
