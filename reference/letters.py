"""What becomes of records that can never be delivered, as configured; and the thread that writes dead letters."""

from __future__ import annotations

import heapq
from collections import Counter, defaultdict
from itertools import count
from typing import TYPE_CHECKING, NamedTuple, Protocol

from isolane.reference import log
from isolane.reference.backoff import Backoff
from isolane.reference.dead_letter import DeadLetterUnavailable

if TYPE_CHECKING:
    from collections.abc import Mapping

    from isolane.reference.config import Policy, Retry
    from isolane.reference.flush import Lane, Piece
    from isolane.reference.runtime import Runtime


class Destination(Protocol):
    """Where dead letters are written."""

    def send(self, topic: str, partition: int, offset: int, value: bytes, reason: str) -> None:
        """Write a dead letter for the record there, and block, for a bounded time, until the write is confirmed.

        Raises:
            DeadLetterUnavailable: it was not.
        """


class _Letter(NamedTuple):
    due: float
    order: int
    failures: int
    lane: Lane
    piece: Piece
    reason: str


class Letters:
    """Rejects pieces of records, and writes those that become dead letters in a thread of its own.

    A piece is resolved when all its dead letters are confirmed; until then its partition waits, and nobody else
    (POI-3): tenants take turns. The lock guards the letters that are to be written, and how many were.
    """

    def __init__(self, runtime: Runtime, retry: Retry, destination: Destination) -> None:
        """Take how to retry, and where dead letters go."""
        self._runtime = runtime
        self._backoff = Backoff(retry, runtime.random)
        self._destination = destination
        self._letters: dict[str, list[_Letter]] = defaultdict(list)  # by tenant, by turns; heaps by when they are due
        self._order = count()
        self._written: Counter[str] = Counter()
        self._closed = False
        self._changed = runtime.condition()

    def reject(self, lane: Lane, piece: Piece, reason: str, policy: Policy) -> None:
        """Do with a piece what the policy says; never blocks.

        Held, it is neither sent nor marked, and the commit of its partition stays before it (POI-1).
        """
        place = {**lane.place._asdict(), "offset": piece.record.offset}
        log.warning("undeliverable", **place, documents=len(piece.documents), reason=reason, policy=policy)
        if policy == "hold":
            lane.abandon([piece])
        elif policy == "skip":
            lane.resolve([piece])
        else:
            letter = _Letter(self._runtime.now(), next(self._order), 0, lane, piece, reason)
            with self._changed:
                heapq.heappush(self._letters[lane.tenant], letter)
                self._changed.notify_all()

    def work(self) -> None:
        """Write dead letters until `close`; for a thread of its own."""
        while letter := self._next():
            if letter.lane.closed:
                letter.lane.abandon([letter.piece])
                continue
            try:
                self._write(letter)
            except DeadLetterUnavailable as error:
                log.warning("dead letter not written", topic=letter.lane.place.topic, error=str(error))
                self._delay(letter._replace(failures=letter.failures + 1))
            else:
                with self._changed:
                    self._written[letter.lane.tenant] += 1
                letter.lane.resolve([letter.piece])

    def counts(self) -> tuple[Mapping[str, int], int]:
        """Return how many records, or parts of records, were written by tenant; and how many are to be written."""
        with self._changed:
            return dict(self._written), sum(map(len, self._letters.values()))

    def close(self) -> None:
        """Let `work` end."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()

    def _write(self, letter: _Letter) -> None:
        topic, partition = letter.lane.place
        for document in letter.piece.documents:
            self._destination.send(topic, partition, letter.piece.record.offset, document.source, letter.reason)

    def _delay(self, refused: _Letter) -> None:
        """Let a letter wait, and all others of its topic: each would fail as slowly while those of others wait."""
        topic = refused.lane.place.topic
        due = self._runtime.now() + self._backoff.delay(refused.failures)
        with self._changed:
            own = [*self._letters[refused.lane.tenant], refused]
            own = [letter._replace(due=due) if letter.lane.place.topic == topic else letter for letter in own]
            heapq.heapify(own)
            self._letters[refused.lane.tenant] = own

    def _next(self) -> _Letter | None:
        with self._changed:
            while not self._closed:
                now = self._runtime.now()
                for tenant, own in self._letters.items():
                    if own and own[0].due <= now:
                        self._letters[tenant] = self._letters.pop(tenant)  # at the end: all others come first
                        return heapq.heappop(own)
                self._changed.wait(min((own[0].due - now for own in self._letters.values() if own), default=None))
        return None
