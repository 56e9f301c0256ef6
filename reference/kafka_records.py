"""Batches of records as kafka-python reads them, but for names of headers that are not UTF-8.

Brokers take any bytes for a name, and so do other clients. This one would call the whole record corrupt (POI-1).
"""

from __future__ import annotations

from typing import Any

from kafka.consumer.fetcher import Fetcher
from kafka.record import MemoryRecords
from kafka.record.default_records import DefaultRecordBatch


def part_of_fetch(offset: int, place: object, records: MemoryRecords, **settings: object) -> Fetcher.PartitionRecords:
    """Return what a fetch brought of one partition; for the client, in place of its own class."""
    return Fetcher.PartitionRecords(offset, place, _Batches(records._buffer), **settings)  # noqa: SLF001


class _Batches(MemoryRecords):  # type: ignore[misc]  # kafka-python has no types
    __slots__ = ()

    def next_batch(self) -> Any:  # noqa: ANN401 - as above
        """Return the next one, or None."""
        batch = super().next_batch()
        return _Batch(batch._buffer) if isinstance(batch, DefaultRecordBatch) else batch  # noqa: SLF001


class _Batch(DefaultRecordBatch):  # type: ignore[misc]  # as above
    _buffer: bytearray

    def _read_msg(self) -> Any:  # noqa: ANN401 - as above
        try:
            return super()._read_msg()
        except UnicodeDecodeError:
            self._buffer = _Lenient(self._buffer)
            return super()._read_msg()


class _Lenient(bytearray):
    """Bytes that are text whatever they are."""

    def __getitem__(self, place: Any) -> Any:  # noqa: ANN401 - a number or a slice
        """Return a byte, or such bytes."""
        found = super().__getitem__(place)
        return _Lenient(found) if isinstance(place, slice) else found

    def decode(self, encoding: str = "utf-8", _errors: str = "") -> str:
        """Return the text, with a mark for each byte that is none."""
        return super().decode(encoding, "replace")
