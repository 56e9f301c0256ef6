"""What may be committed of one partition, in one ownership. Pure: no threads, no clock."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence


class ContiguousPrefix:
    """The records of a partition in the order they were fetched, and how far they are finished without a gap.

    Offsets need not be consecutive: transactions and compaction leave holes (OFF-3).
    """

    __slots__ = ("_committable", "_fetched", "_last", "_unfinished")

    def __init__(self) -> None:
        """Begin an ownership in which nothing was fetched yet."""
        self._fetched: deque[int] = deque()  # in order, from the first unfinished one on
        self._unfinished: set[int] = set()
        self._last = -1
        self._committable: int | None = None

    def follows(self, offset: int) -> bool:
        """Whether a record with this offset comes after all that were fetched."""
        return offset > self._last

    def fetch(self, offsets: Sequence[int]) -> None:
        """Take the offsets of records that were fetched.

        Raises:
            ValueError: they are not in order: each must be above all fetched before.
        """
        for offset in offsets:
            if offset <= self._last:
                raise ValueError(f"offset {offset} was fetched after {self._last}")
            self._last = offset
        if self._committable is None and offsets:
            # Nothing that can be delivered is below the first record: pinned, so that nobody skips it (OFF-6).
            self._committable = offsets[0]
        self._fetched.extend(offsets)
        self._unfinished.update(offsets)

    def reach(self, position: int) -> None:
        """Note that the next fetch begins at `position`: what can be delivered below it was fetched.

        When all of it is finished the commit may pass what is left of the log: control records, aborted
        transactions (OFF-3).
        """
        if not self._fetched:
            self._committable = max(position, self._committable or 0)

    def finish(self, offsets: Iterable[int]) -> None:
        """Take the offsets of records that are finished, in any order.

        Raises:
            ValueError: one of them does not wait to be finished.
        """
        fetched, unfinished = self._fetched, self._unfinished
        for offset in offsets:
            if offset not in unfinished:
                raise ValueError(f"offset {offset} does not wait to be finished")
            unfinished.remove(offset)
        # OFF-1: the head alone moves the commit, whatever is finished behind it.
        while fetched and fetched[0] not in unfinished:
            self._committable = fetched.popleft() + 1

    @property
    def committable(self) -> int | None:
        """The offset that may be committed: everything below it is finished. None when nothing is known yet."""
        return self._committable

    @property
    def finished_behind(self) -> int:
        """How many records are finished behind one that is not (MEM-8)."""
        return len(self._fetched) - len(self._unfinished)
