"""Whose turn it is to be fetched, of the partitions that are behind."""

from __future__ import annotations

from typing import TYPE_CHECKING, Generic, TypeVar

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from isolane.reference.consumer import ConsumerRecord

Place = TypeVar("Place")


class FetchTurns(Generic[Place]):
    """Chooses of the partitions that are behind as many as fill a fetch, so that all others are in every one.

    A fetch brings a bounded number of bytes. The broker gives them to one partition after the other, and next time
    goes on behind the last one, whether a partition took all of them or a single record: with forty that are behind,
    forty fetches would lie between two of any other partition (ISO-7).
    """

    def __init__(self, fetch_bytes: int) -> None:
        """Take how many bytes a fetch brings."""
        self._fetch_bytes = fetch_bytes
        self._sizes: dict[Place, float] = {}  # of a record, on average of the latest ones
        self._typical = 0.0  # of a partition of which none is known

    def took(self, batches: Mapping[Place, Sequence[ConsumerRecord]]) -> None:
        """Learn from records that came, some of each partition, how large they are."""
        for place, records in batches.items():
            self._typical = sum(len(record.value or b"") for record in records) / len(records)
            self._sizes[place] = self._typical

    def keep(self, assigned: Iterable[Place]) -> None:
        """Forget what was learnt of all other partitions."""
        for place in self._sizes.keys() - assigned:
            del self._sizes[place]

    def next(self, behind: Iterable[tuple[Place, int]]) -> list[Place]:
        """Return those that the next fetch is to ask for: from the first on, one at least.

        Args:
            behind: Partitions that are behind, by how many records, those first whose turn is longest ago.
        """
        chosen: list[Place] = []
        asked = 0.0
        for place, records in behind:
            chosen.append(place)
            asked += records * self._sizes.get(place, self._typical)
            if asked >= self._fetch_bytes:
                break
        return chosen
