"""Dead letters: which records, and which of their items, were put aside where the descriptor says."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Iterable

from isolane.conformance.history_ledger import AcceptedIndex
from isolane.conformance.history_values import DeadLetter
from isolane.conformance.tokens import ITEM_BITS, run_of

_EVERYTHING = -1


class LetterIndex:
    """The dead letters by record. A letter covers the items whose tokens it holds; without any, the record it names.

    Not synchronised: for one thread.
    """

    def __init__(self, run: int, record_at: Callable[[tuple[int, int, int]], int | None]) -> None:
        """Start empty.

        Args:
            run: The number of the run; tokens of others are passed over.
            record_at: Gives the key of the record at a place (topic number, partition, offset), if it is known.
        """
        self._run, self._record_at = run, record_at
        self._by_record: dict[int, list[tuple[int, DeadLetter]]] = defaultdict(list)

    def add(self, letter: DeadLetter) -> None:
        """Take in a letter."""
        covered: dict[int, int] = {}
        for item in letter.items:
            record = item >> ITEM_BITS
            if run_of(record) == self._run:
                covered[record] = covered.get(record, 0) | 1 << (item & 0xFFFF)
        if not covered and letter.place is not None and (named := self._record_at(letter.place)) is not None:
            covered[named] = _EVERYTHING
        for record, items in covered.items():
            self._by_record[record].append((items, letter))

    def of(self, record: int) -> list[DeadLetter]:
        """Return the letters about the record with this key, in the order in which they were found."""
        return [letter for _, letter in self._by_record.get(record, ())]

    def finished_at(self, record: int, items: int, accepted: AcceptedIndex) -> float:
        """Return when the last of the record's items was accepted or put aside; infinity while any is neither."""
        mask, at = accepted.progress(record)
        left = (1 << items) - 1 & ~mask
        for covered, letter in self._by_record.get(record, ()):
            if not left:
                break
            if left & covered:
                left &= ~covered
                at = max(at, letter.at)
        return math.inf if left else at


def indexed(
    letters: Iterable[DeadLetter], run: int, record_at: Callable[[tuple[int, int, int]], int | None]
) -> LetterIndex:
    """Return the index of these letters; the arguments are those of `LetterIndex`."""
    index = LetterIndex(run, record_at)
    for letter in letters:
        index.add(letter)
    return index
