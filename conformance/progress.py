"""Progress of a living world: what of its load is not finished yet, followed while the clusters write what they see."""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path

from isolane.conformance import history_values
from isolane.conformance.history_files import ATTEMPTS, DEAD_LETTERS, FOUND, Tail
from isolane.conformance.history_found import Documents
from isolane.conformance.history_ledger import Ledger
from isolane.conformance.history_letters import LetterIndex
from isolane.conformance.load import Load
from isolane.conformance.tokens import ITEM_BITS, number_of, partition_of, topic_of


class Progress:
    """What is known of each record that was sent. For one thread.

    Attributes:
        outstanding: The records that were missing when it was last asked.
        arrived: The partitions, by topic number, of which any record has arrived at a cluster, accepted or not.
    """

    def __init__(self, load: Load, folder: Path, run: int, owners: Mapping[int, str]) -> None:
        """Follow `load`, and the files of the history in `folder`; run and owners are those of `AcceptedIndex`."""
        self._load = load
        self._attempts, self._ledger = Tail(folder / ATTEMPTS), Ledger(run, owners)
        self._found, self._documents = Tail(folder / FOUND), Documents(self._ledger.accepted)
        self._dead_letters, self._letters = Tail(folder / DEAD_LETTERS), LetterIndex(run)
        self.outstanding: dict[int, int] = {}
        self.arrived: set[tuple[int, int]] = set()

    def missing(self) -> dict[int, int]:
        """Records that are to be finished and are not yet, with their numbers of items, as far as it is known now."""
        for line in self._attempts.poll():
            self._ledger.feed(line)
            if line["e"] == "arrived":
                records = {number_of(token) >> ITEM_BITS for token in line["tokens"] if token}
                self.arrived |= {(topic_of(record), partition_of(record)) for record in records}
        for line in self._found.poll():
            self._documents.feed(line)
        for line in self._dead_letters.poll():
            self._letters.add(history_values.dead_letter(line))
        sent = self.outstanding | self._load.take_sent()
        self.outstanding = {record: items for record, items in sent.items() if not self._is_finished(record, items)}
        return self.outstanding

    @property
    def searched(self) -> Mapping[str, float]:
        """When the latest complete search of each tenant's real cluster began, as far as it was known then."""
        return self._documents.latest

    def _is_finished(self, record: int, items: int) -> bool:
        accepted = self._ledger.accepted
        if accepted.accepted_at(record, items) < math.inf:
            return True
        return bool(self._letters) and (
            self._letters.finished_at(record, self._load.place(record), items, accepted) < math.inf
        )
