"""One ownership of a partition, and its worker."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from isolane.conformance.selftest.reference.fake_kafka import FakeRecord
from isolane.conformance.selftest.reference.fakes import eventually, ids
from isolane.reference.config import PartitionProcessing
from isolane.reference.consumer import TopicPartition
from isolane.reference.flush import Piece
from isolane.reference.otlp import Document, Undecodable
from isolane.reference.partition import Partition, PartitionWorker

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from isolane.reference.consumer import ConsumerRecord
    from isolane.reference.flush import Lane
    from isolane.reference.runtime import Runtime
    from isolane.reference.sending import Cluster, LineState

PLACE = TopicPartition("managed_otlp.logs.a", 0)


class FakeLine:
    """A line that keeps what is submitted, and counts what is held."""

    def __init__(self) -> None:
        """Begin with nothing."""
        self.submitted: list[Piece] = []
        self.held = 0

    def hold(self, tenant: str, change: int) -> None:
        """See `Line`."""
        assert tenant == "a"
        self.held += change
        assert self.held >= 0

    def rooms(self) -> Mapping[str, int]:
        """See `Line`."""
        return {}

    def state(self, tenants: Iterable[str]) -> LineState:
        """See `Line`."""
        raise NotImplementedError

    def submit(self, lane: Lane, pieces: Sequence[Piece]) -> None:
        """See `Line`."""
        assert lane.tenant == "a"
        self.submitted += pieces

    def drop(self, lane: Lane) -> None:
        """See `Line`."""

    def under_way(self, lane: Lane) -> bool:
        """See `Line`."""
        return bool(self.held) and not lane.closed

    def cut(self, lane: Lane) -> None:
        """See `Line`."""

    threads = 0

    def work(self) -> None:
        """See `Line`."""

    def connect(self, tenant: str, cluster: Cluster) -> None:
        """See `Line`."""
        raise NotImplementedError

    def close(self) -> None:
        """See `Line`."""


class Bench:
    """A partition, and its worker without a thread; a value is as many documents as it has bytes."""

    def __init__(self, runtime: Runtime, records: int = 100, size: str = "1KiB", span: int = 1000) -> None:
        """Begin the ownership."""
        bounds = {"max_in_flight": {"records": records, "bytes": size}, "max_span": span}
        self.line = FakeLine()
        self.rejected: list[tuple[Piece, str]] = []
        self.rooms: list[bool] = []  # whether there was room, each time that it was told
        settings = PartitionProcessing.model_validate(bounds)
        self.partition = Partition(runtime, PLACE, "a", settings, self.line, made_room=self._hear)
        self.worker = PartitionWorker(
            self.partition, self.line, decode, lambda _, piece, reason: self.rejected.append((piece, reason))
        )
        self.next = 0

    def _hear(self) -> None:
        self.rooms.append(self.partition.roomy)

    def deliver(self, *values: bytes | None) -> None:
        """Fetch the next records."""
        records = [FakeRecord(*PLACE, self.next + number, None, value) for number, value in enumerate(values)]
        self.next += len(values)
        self.partition.deliver(records)

    def resolve(self, *offsets: int) -> None:
        """Let everything that was submitted of these records be accepted."""
        self.partition.resolve([piece for piece in self.line.submitted if piece.record.offset in offsets])


@pytest.fixture
def bench(runtime: Runtime) -> Bench:
    """A partition with wide bounds."""
    return Bench(runtime)


def decode(record: ConsumerRecord) -> list[Document]:
    """Return a document of one byte for each byte of the value."""
    if record.value == b"?":
        raise Undecodable("a question")
    return [Document("index", f"{record.offset}:{n}", b"x") for n in range(len(record.value or b""))]


def test_a_record_is_finished_with_its_last_document(bench: Bench) -> None:
    """DEL-3, OFF-1: the commit waits for all documents of a record, however they are divided."""
    bench.deliver(b"xxx", b"x")
    bench.worker.drain()
    first, second = bench.line.submitted
    bench.partition.resolve([second, *first.chosen([True, False, True])])
    assert bench.partition.committable(None) == 0
    bench.partition.resolve(first.chosen([False, True, False]))
    assert bench.partition.committable(None) == 2
    assert bench.line.held == 0


def test_nothing_to_deliver_is_finished(bench: Bench) -> None:
    """POI-2: tombstones, and records without documents, are finished by themselves, in their turn."""
    bench.deliver(None, b"", b"x", None)
    bench.worker.drain()
    assert ids(bench.line.submitted) == ["2:0"]
    assert bench.partition.committable(4) == 2
    bench.resolve(2)
    assert bench.partition.committable(4) == 4


def test_an_undecodable_record_goes_aside_and_stops_nobody(bench: Bench) -> None:
    """POI-1: what cannot be decoded is handed over with its reason and its value, and others pass."""
    bench.deliver(b"x", b"?", b"x")
    bench.worker.drain()
    assert ids(bench.line.submitted) == ["0:0", "2:0"]
    ((piece, reason),) = bench.rejected
    assert (piece.record.offset, piece.documents[0].source, reason) == (1, b"?", "a question")
    bench.resolve(0, 2)
    assert bench.partition.committable(None) == 1
    bench.partition.resolve([piece])
    assert bench.partition.committable(None) == 3


def test_the_commit_reaches_the_log_end_when_all_is_finished(bench: Bench) -> None:
    """OFF-3: control records behind the last record do not hold the commit, unfinished records do."""
    bench.deliver(b"x")
    assert bench.partition.committable(5) == 0
    bench.worker.drain()
    bench.resolve(0)
    assert bench.partition.committable(5) == 5


def test_an_ended_ownership_marks_nothing(bench: Bench) -> None:
    """OFF-5: a completion that comes after the ownership moves no offset, but what was held is released."""
    bench.deliver(b"x", b"x", b"x")
    bench.worker.drain()
    bench.resolve(0)
    bench.partition.close()
    bench.resolve(1)
    assert bench.partition.end() == 2
    bench.resolve(2)
    assert bench.partition.committable(9) == 2
    assert bench.line.held == 0


def test_an_abandoned_part_leaves_the_record_unfinished(bench: Bench) -> None:
    """OFF-1: a record whose second half was never sent is not finished by the first."""
    bench.deliver(b"xx")
    bench.worker.drain()
    (piece,) = bench.line.submitted
    bench.partition.abandon(piece.chosen([True, False]))
    bench.partition.resolve(piece.chosen([False, True]))
    assert bench.partition.committable(None) == 0
    assert bench.line.held == 0


@pytest.mark.parametrize(("records", "size", "expected"), [(3, "1KiB", 3), (100, "7B", 3)])
def test_in_flight_is_bounded(runtime: Runtime, records: int, size: str, expected: int) -> None:
    """MEM-1, MEM-2: beyond the records or bytes of the allowance the worker waits, and goes on when some are done."""
    bench = Bench(runtime, records=records, size=size)
    bench.deliver(*[b"xx"] * 5)
    thread = runtime.spawn("worker", bench.worker.work)
    eventually(lambda: len(bench.line.submitted) == expected)
    bench.resolve(1)
    eventually(lambda: len(bench.line.submitted) == expected + 1)
    bench.partition.close()
    thread.join(10)
    assert not thread.is_alive(), "closing ends a worker that waits"
    assert len(bench.line.submitted) == expected + 1


def test_what_is_finished_behind_a_stuck_head_is_bounded(runtime: Runtime) -> None:
    """MEM-8: behind a record that never ends at most the span is finished, tombstones included; then it waits."""
    bench = Bench(runtime, span=4)
    bench.deliver(b"x", None, None, None, None, None, b"x")
    thread = runtime.spawn("worker", bench.worker.work)
    eventually(lambda: bench.partition._prefix.finished_behind == 3)
    bench.resolve(0)
    eventually(lambda: len(bench.line.submitted) == 2)
    assert bench.partition.committable(None) == 6
    bench.partition.close()
    thread.join(10)


def test_the_mailbox_has_a_high_and_a_low_water_mark(runtime: Runtime) -> None:
    """MEM-7: at the bound the partition asks for no more, and asks again only when half of it is gone."""
    bench = Bench(runtime, records=4)
    bench.deliver(b"x", b"x", b"x")
    assert _marks(bench) == (False, False)
    bench.deliver(b"x")
    assert _marks(bench) == (True, False)
    bench.worker.drain()
    assert _marks(bench) == (False, True)


def test_everything_fetched_is_held_until_its_final_outcome(bench: Bench) -> None:
    """MEM-6: values count from the fetch on, then what their documents come to, and nothing is counted for ever."""
    bench.deliver(b"xxx", None, b"xx")
    assert bench.line.held == 5
    bench.worker.drain()
    assert bench.line.held == 5
    bench.resolve(0)
    assert bench.line.held == 2
    bench.deliver(b"xxxx")
    bench.partition.close()
    assert bench.line.held == 2
    bench.deliver(b"xxxx")
    assert bench.line.held == 2
    bench.partition.abandon(bench.line.submitted[1:])
    assert bench.line.held == 0


def test_documents_that_wait_when_the_partition_closes_are_let_go(runtime: Runtime) -> None:
    """MEM-6: what was decoded and not admitted yet is held no more either."""
    bench = Bench(runtime, records=1)
    bench.deliver(b"x", b"xx", b"xxx")
    thread = runtime.spawn("worker", bench.worker.work)
    eventually(lambda: bench.line.submitted)
    bench.partition.close()
    thread.join(10)
    assert bench.line.held == 1


def test_who_fetches_hears_of_room_once_when_there_is_any(runtime: Runtime) -> None:
    """MEM-7: when the mailbox comes below its low water mark, whoever waits for it need not look."""
    bench = Bench(runtime, records=600)
    bench.deliver(*[b""] * 250)
    bench.worker.drain()
    assert bench.rooms == [], "it was never full"
    bench.deliver(*[b""] * 600)
    bench.worker.drain()
    assert bench.rooms == [True]


def _marks(bench: Bench) -> tuple[bool, bool]:
    return bench.partition.crowded, bench.partition.roomy
