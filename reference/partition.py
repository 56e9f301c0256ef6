"""One ownership of a partition, and its worker: admission, decoding, what may be sent."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, NamedTuple

from isolane.reference.allowance import Allowance
from isolane.reference.flush import Piece
from isolane.reference.offsets import ContiguousPrefix
from isolane.reference.otlp import Document, Undecodable

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from isolane.reference.config import PartitionProcessing
    from isolane.reference.consumer import ConsumerRecord, TopicPartition
    from isolane.reference.runtime import Runtime
    from isolane.reference.sending import Line

# What a worker takes at once: enough to spread the cost of a hand-over, little enough to decode in milliseconds, and
# for a moment to have twice, as values and as documents.
_BATCH_RECORDS = 128
_BATCH_BYTES = 64 * 1024


class PartitionState(NamedTuple):
    """What is to be seen of a partition, for telemetry.

    Attributes:
        place: The partition.
        tenant: Who owns its topic.
        lag: How many offsets its end is ahead of what may be committed; None while either is not known.
        records: How many records are in flight.
        bytes: What they count for.
        paused: Whether nothing more is fetched for now.
    """

    place: TopicPartition
    tenant: str
    lag: int | None
    records: int
    bytes: int
    paused: bool


class Partition:
    """One ownership of a partition: what was fetched, what is in flight, what is finished.

    It is the `Lane` under which its records are sent, and it is the epoch: when the partition is assigned again that
    is another object, and completions that belong to this one mark nothing there (OFF-5, design decision 8).

    The lock guards the mailbox, the prefix, the allowance and the records in flight.
    """

    def __init__(
        self,
        runtime: Runtime,
        place: TopicPartition,
        tenant: str,
        bounds: PartitionProcessing,
        line: Line,
        *,
        made_room: Callable[[], None],
    ) -> None:
        """Begin the ownership of the partition at `place`, of a topic of `tenant`; tell when the mailbox is roomy."""
        self.place = place
        self.tenant = tenant
        self.closed = False
        self.committed: int | None = None  # by this ownership; the receiver's own
        self.log_end: int | None = None  # as far as it is known; the receiver's own
        self._ended = False
        self._bounds = bounds
        self._line = line
        self._made_room = made_room
        self._mailbox: deque[ConsumerRecord] = deque()
        self._mailbox_bytes = 0
        self.latest = 0  # the bytes of the latest fetch; the receiver's own
        self._prefix = ContiguousPrefix()
        self._allowance = Allowance(bounds.max_in_flight.records, bounds.max_in_flight.bytes)
        self._changed = runtime.condition()

    def deliver(self, records: Sequence[ConsumerRecord]) -> None:
        """Take fetched records, in order; for the poll thread, never blocks."""
        self.latest = sum(len(record.value or b"") for record in records)
        # Before the worker can release any of it.
        self._line.hold(self.tenant, self.latest)
        with self._changed:
            self._prefix.fetch([record.offset for record in records])
            kept = not self.closed
            if kept:
                self._mailbox.extend(records)
                self._mailbox_bytes += self.latest
                self._changed.notify_all()
        if not kept:
            self._line.hold(self.tenant, -self.latest)

    def continues_with(self, offset: int) -> bool:
        """Whether a record with this offset comes after all that were fetched."""
        with self._changed:
            return self._prefix.follows(offset)

    @property
    def crowded(self) -> bool:
        """Whether the consumer should fetch nothing more for now: the mailbox is at its high water mark (MEM-7)."""
        with self._changed:
            return self._fills(1)

    @property
    def roomy(self) -> bool:
        """Whether the consumer should fetch again: the mailbox is below its low water mark."""
        with self._changed:
            return not self._fills(2)

    @property
    def has_mail(self) -> bool:
        """Whether `take` would return records at once."""
        with self._changed:
            return bool(self._mailbox)

    def take(self) -> list[ConsumerRecord]:
        """Block until records are fetched; return the next ones, or none when the partition is closed."""
        with self._changed:
            while not self._mailbox and not self.closed:
                self._changed.wait()
            full = self._fills(2)
            records: list[ConsumerRecord] = []
            size = 0
            while self._mailbox and len(records) < _BATCH_RECORDS and size < _BATCH_BYTES and not self.closed:
                records.append(self._mailbox.popleft())
                size += len(records[-1].value or b"")
            self._mailbox_bytes -= size
            room = full and not self._fills(2)
        if room:
            self._made_room()
        return records

    def weigh(self, records: Sequence[ConsumerRecord], sizes: Sequence[int]) -> None:
        """Hold, from now on, documents of these sizes in bytes, a record each, in place of the records' values."""
        self._line.hold(self.tenant, sum(sizes) - sum(len(record.value or b"") for record in records))

    def admit(self, sizes: Sequence[int]) -> int:
        """Block until some of the next records, of these sizes in bytes, may be in flight; return how many.

        For the one worker of the partition. When that is closed it returns 0, and none of them is held any more.
        """
        with self._changed:
            while not self.closed and not (room := self._room(sizes)):
                self._changed.wait()
            if not self.closed:
                self._allowance.admit(sizes[:room])
                return room
        self._line.hold(self.tenant, -sum(sizes))
        return 0

    def resolve(self, pieces: Sequence[Piece]) -> None:
        """See `Lane`: a record is finished when all its documents are resolved."""
        self._settle(pieces, mark=True)

    def abandon(self, pieces: Sequence[Piece]) -> None:
        """See `Lane`."""
        self._settle(pieces, mark=False)

    def close(self) -> None:
        """Begin nothing more: the worker ends, and what waits is not sent. Attempts under way may still finish."""
        with self._changed:
            self.closed = True
            self._mailbox.clear()
            cleared, self._mailbox_bytes = self._mailbox_bytes, 0
            self._changed.notify_all()
        self._line.hold(self.tenant, -cleared)

    def end(self) -> int | None:
        """End the ownership: from now on nothing is marked. Return the offset that may be committed, if any."""
        with self._changed:
            self._ended = True
            return self._prefix.committable

    def committable(self, position: int | None) -> int | None:
        """Return the offset that may be committed, if any; `position` is where the next fetch begins, if known."""
        with self._changed:
            if position is not None:
                self._prefix.reach(position)
            return self._prefix.committable

    def state(self, *, paused: bool) -> PartitionState:
        """Return what is to be seen of it; the receiver knows whether it is paused."""
        end = self.log_end
        with self._changed:
            finished = self._prefix.committable
            lag = None if end is None or finished is None else max(0, end - finished)
            return PartitionState(self.place, self.tenant, lag, self._allowance.records, self._allowance.bytes, paused)

    def _fills(self, parts: int) -> bool:
        """Whether the mailbox is full, or fills one of so many parts: as much may wait here as may be in flight."""
        bounds = self._bounds.max_in_flight
        return len(self._mailbox) * parts >= bounds.records or self._mailbox_bytes * parts >= bounds.bytes

    def _room(self, sizes: Sequence[int]) -> int:
        # MEM-8: all that is in flight may finish behind a stuck head, so it counts with what has already.
        span = self._prefix.finished_behind + self._allowance.records
        return self._allowance.room(sizes[: max(0, self._bounds.max_span - span)])

    def _settle(self, pieces: Sequence[Piece], *, mark: bool) -> None:
        finished, records, size = [], 0, 0
        with self._changed:
            for piece in pieces:
                record = piece.record
                record.unresolved -= len(piece.documents)
                record.whole &= mark
                if not record.unresolved:
                    records += 1
                    size += record.size
                    if record.whole:
                        finished.append(record.offset)
            if not self._ended:  # OFF-5
                self._prefix.finish(finished)
            self._allowance.release(records, size)
            self._changed.notify_all()
        self._line.hold(self.tenant, -size)


class PartitionWorker:
    """Turns a partition's records into pieces, and hands them on as far as the allowances permit."""

    def __init__(
        self,
        partition: Partition,
        line: Line,
        decode: Callable[[ConsumerRecord], Sequence[Document]],
        undecodable: Callable[[Partition, Piece, str], None],
    ) -> None:
        """Take the partition, where its pieces go, how a record is decoded, and who looks after one that cannot be."""
        self._partition = partition
        self._line = line
        self._decode = decode
        self._undecodable = undecodable

    def work(self) -> None:
        """Process what is fetched until the partition is closed; blocks, and is for a thread of its own."""
        while records := self._partition.take():
            self._process(records)

    def drain(self) -> None:
        """Process what was fetched already; blocks as long as that takes."""
        while self._partition.has_mail:
            self._process(self._partition.take())

    def _process(self, records: list[ConsumerRecord]) -> None:
        prepared = [self._prepare(record) for record in records]
        self._partition.weigh(records, [piece.size for piece, _ in prepared])
        records.clear()  # while the documents wait nobody needs the values
        while prepared:
            count = self._partition.admit([piece.size for piece, _ in prepared])
            if not count:
                return
            self._hand_on(prepared[:count])
            del prepared[:count]

    def _prepare(self, record: ConsumerRecord) -> tuple[Piece, str]:
        """Return all documents of a record; or its value as one, and why it cannot be decoded."""
        try:
            return Piece.of_record(record.offset, self._decode(record)), ""
        except Undecodable as error:
            return Piece.of_record(record.offset, [Document("", "", record.value or b"")]), str(error)

    def _hand_on(self, prepared: Sequence[tuple[Piece, str]]) -> None:
        empty = [piece for piece, failure in prepared if not piece.documents]
        if empty:
            self._partition.resolve(empty)  # POI-2
        if sound := [piece for piece, failure in prepared if piece.documents and not failure]:
            self._line.submit(self._partition, sound)
        for piece, failure in prepared:
            if failure:
                self._undecodable(self._partition, piece, failure)  # POI-1
