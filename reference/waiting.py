"""The work of one tenant that waits for a slot. Pure: no threads, time is passed in."""

from __future__ import annotations

import heapq
from collections import deque
from itertools import count
from typing import TYPE_CHECKING

from isolane.reference.flush import Flush

if TYPE_CHECKING:
    from collections.abc import Sequence

    from isolane.reference.flush import Lane, Piece


class WaitingWork:
    """Pieces that were never sent, by lane, and flushes that were refused.

    Everything has a ticket, by age. Work that is ready is taken in the order of its tickets, so that the oldest,
    which holds its partition's commit back, is never overtaken without bound (LIM-5); a refused flush stands aside
    until it is due and blocks nobody meanwhile.
    """

    def __init__(self) -> None:
        """Begin with nothing."""
        self._tickets = count()
        self._fresh: dict[Lane, deque[tuple[int, Piece]]] = {}
        self._refused: list[tuple[float, int, Flush]] = []  # a heap by ticket: ready to be sent again
        self._delayed: list[tuple[float, int, Flush]] = []  # a heap by the time they are due
        self._order = count()  # settles ties in the heaps

    def __bool__(self) -> bool:
        """Whether anything waits, ready or not."""
        return bool(self._fresh or self._refused or self._delayed)

    def __len__(self) -> int:
        """How many records, or parts of records, wait."""
        refused = (flush for heap in (self._refused, self._delayed) for _, _, flush in heap)
        return sum(map(len, self._fresh.values())) + sum(len(flush.pieces) for flush in refused)

    @property
    def ready(self) -> bool:
        """Whether anything may be sent now."""
        return bool(self._fresh or self._refused)

    @property
    def due(self) -> float:
        """When the next delayed flush becomes ready; in an infinite time when there is none."""
        return self._delayed[0][0] if self._delayed else float("inf")

    def add(self, lane: Lane, pieces: Sequence[Piece]) -> None:
        """Take pieces of whole records, in order."""
        self._fresh.setdefault(lane, deque()).extend((next(self._tickets), piece) for piece in pieces)

    def return_(self, flush: Flush) -> None:
        """Take back a flush to be sent again at once."""
        heapq.heappush(self._refused, (flush.ticket, next(self._order), flush))

    def delay(self, flush: Flush, due: float) -> None:
        """Take back a flush to be sent again when it is `due`."""
        heapq.heappush(self._delayed, (due, next(self._order), flush))

    def ripen(self, now: float) -> None:
        """Make ready what is due."""
        while self._delayed and self._delayed[0][0] <= now:
            self.return_(heapq.heappop(self._delayed)[2])

    def hasten(self) -> None:
        """Make ready whatever was delayed only because the cluster did not answer, or refused everything."""
        for entry in [entry for entry in self._delayed if entry[2].hit_an_outage]:
            self._delayed.remove(entry)
            self.return_(entry[2])
        heapq.heapify(self._delayed)

    def take(self, max_bytes: int) -> Flush:
        """Return the oldest work that is ready as one flush; something must be ready.

        The flush is formed only now, from what waits: large under back-pressure, small at light load. It holds at
        most `max_bytes` of documents, or one larger record alone.
        """
        lane = min(self._fresh, key=lambda lane: self._fresh[lane][0][0], default=None)
        if lane is None or (self._refused and self._refused[0][0] < self._fresh[lane][0][0]):
            return heapq.heappop(self._refused)[2]
        queue = self._fresh[lane]
        ticket, piece = queue.popleft()
        pieces, size = [piece], piece.size
        while queue and size + (more := queue[0][1].size) <= max_bytes:
            pieces.append(queue.popleft()[1])
            size += more
        if not queue:
            del self._fresh[lane]
        return Flush(lane, pieces, ticket)

    def drop(self, lane: Lane) -> list[Piece]:
        """Forget everything of `lane` and return its pieces."""
        pieces = [piece for _, piece in self._fresh.pop(lane, ())]
        for heap in (self._refused, self._delayed):
            pieces.extend(piece for _, _, flush in heap if flush.lane is lane for piece in flush.pieces)
            heap[:] = [entry for entry in heap if entry[2].lane is not lane]
            heapq.heapify(heap)
        return pieces
