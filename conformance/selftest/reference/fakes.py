"""Stand-ins for the parts around the one that is tested."""

from __future__ import annotations

import threading
import time
from itertools import count
from typing import TYPE_CHECKING

from isolane.reference.config import Config
from isolane.reference.consumer import TopicPartition
from isolane.reference.flush import Flush, Piece
from isolane.reference.otlp import Document
from isolane.reference.outcome import Outcome, Reply

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Sequence

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

    def await_back(self, number: int) -> None:
        """Wait until so many pieces were handed back, one way or the other."""
        eventually(lambda: len(self.resolved) + len(self.abandoned) == number)

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


def _accept(documents: Sequence[Document]) -> Reply:
    return reply(*[Outcome.ACCEPTED] * len(documents))


class FakeCluster:
    """A tenant's cluster in memory. The lock guards everything.

    Attributes:
        accepted: The ids of all documents it has accepted, in order.
        attempts: The ids of each attempt, in order of arrival.
        open: How many attempts wait for their answer now.
    """

    def __init__(self) -> None:
        """Begin well: everything is accepted at once."""
        self._changed = threading.Condition()
        self._answer: Callable[[Sequence[Document]], Reply] | None = _accept
        self._cut: list[Hashable] = []
        self.accepted: list[str] = []
        self.attempts: list[list[str]] = []
        self.open = 0

    def answer(self, how: Callable[[Sequence[Document]], Reply] | None = _accept) -> None:
        """Answer from now on so, open attempts included; None answers nothing."""
        with self._changed:
            self._answer = how
            self._changed.notify_all()

    def attempt(self, documents: Sequence[Document], *, timeout: float, key: Hashable) -> Reply:
        """See `Cluster`."""
        own = [document.id for document in documents]
        with self._changed:
            self.attempts.append(own)
            self.open += 1
            answered = self._changed.wait_for(lambda: self._answer or key in self._cut, timeout)
            self.open -= 1
            if self._answer is None or not answered:
                return Reply.whole(Outcome.RETRYABLE, len(own), "no answer")
            said = self._answer(documents)
            self.accepted += [name for name, item in zip(own, said.items, strict=True) if item is Outcome.ACCEPTED]
            return said

    def cut(self, key: Hashable) -> None:
        """See `Cluster`."""
        with self._changed:
            self._cut.append(key)
            self._changed.notify_all()


def eventually(condition: Callable[[], object], timeout: float = 20.0) -> None:
    """Wait until a condition holds, and fail when it does not in time."""
    end = time.monotonic() + timeout
    while not condition():
        assert time.monotonic() < end, "it did not happen in time"
        time.sleep(0.002)


def config(tenants: str = "ab", **settings: object) -> Config:
    """Return a configuration with one topic a tenant; settings replace whole sections, but `kafka` is merged."""
    kafka = {"revoke_grace": "1s", "autocommit": {"interval": "50ms"}}
    document = {
        "retry": {"initial_interval": "10ms", "max_interval": "50ms"},
        "tenants": {
            name: {
                "topics": [rf"^managed_otlp\.(logs|metrics|traces)\.{name}$"],
                "elasticsearch": {"endpoints": [f"http://{name}.test:9200"]},
            }
            for name in tenants
        },
        **settings,
        "kafka": {**kafka, **settings.get("kafka", {})},  # type: ignore[dict-item]  # a mapping, as in a file
    }
    return Config.parse(document)
