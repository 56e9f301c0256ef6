"""Dead letters: which records, and which of their items, were put aside where the descriptor says."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator

from isolane.conformance.history_ledger import AcceptedIndex
from isolane.conformance.history_values import DeadLetter, Place
from isolane.conformance.tokens import ITEM_BITS, run_of

_EVERYTHING = -1


class LetterIndex:
    """The dead letters by record. A letter covers the items whose tokens it holds; without any, the record it names.

    Not synchronised: for one thread.
    """

    def __init__(self, run: int) -> None:
        """Start empty; `run` is the number of the run: tokens of others are passed over."""
        self._run = run
        self._by_record: dict[int, list[tuple[int, DeadLetter]]] = defaultdict(list)
        self._by_place: dict[Place, list[DeadLetter]] = defaultdict(list)

    def __bool__(self) -> bool:
        """Return whether there are any."""
        return bool(self._by_record or self._by_place)

    def add(self, letter: DeadLetter) -> None:
        """Take in a letter."""
        covered: dict[int, int] = {}
        for item in letter.items:
            record = item >> ITEM_BITS
            if run_of(record) == self._run:
                covered[record] = covered.get(record, 0) | 1 << (item & 0xFFFF)
        for record, items in covered.items():
            self._by_record[record].append((items, letter))
        if not covered and letter.place is not None:
            self._by_place[letter.place].append(letter)

    def about(self, record: int, place: Place | None) -> list[DeadLetter]:
        """Return the letters about the record with this key at this place (None: not known)."""
        return [letter for _, letter in self._covering(record, place)]

    def finished_at(self, record: int, place: Place | None, items: int, accepted: AcceptedIndex) -> float:
        """Return when the last of the record's items was accepted or put aside; infinity while any is neither."""
        mask, at = accepted.progress(record)
        left = (1 << items) - 1 & ~mask
        for covered, letter in self._covering(record, place):
            if left & covered:
                left &= ~covered
                at = max(at, letter.at)
        return math.inf if left else at

    def _covering(self, record: int, place: Place | None) -> Iterator[tuple[int, DeadLetter]]:
        yield from self._by_record.get(record, ())
        if place is not None:
            yield from ((_EVERYTHING, letter) for letter in self._by_place.get(place, ()))
