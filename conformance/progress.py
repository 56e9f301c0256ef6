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
        self._come: set[int] = set()  # of which an item may have been accepted since what is missing was asked for

    def follow(self) -> None:
        """Take in what is new in the files; it costs no more than that, whatever is outstanding."""
        for line in self._attempts.poll():
            self._ledger.feed(line)
            attempt = self._ledger.attempts.get(line.get("r", 0))
            if attempt is not None and line["e"] == "arrived":
                self.arrived |= {(topic_of(record), partition_of(record)) for record in attempt.records()}
            elif attempt is not None and line["e"] == "answered":
                self._come |= attempt.records()
        for line in self._found.poll():
            self._documents.feed(line)
            self._come |= {number_of(token) >> ITEM_BITS for token in line.get("tokens", ())}
        for line in self._dead_letters.poll():
            self._letters.add(history_values.dead_letter(line))

    def missing(self) -> Mapping[int, int]:
        """Records that are to be finished and are not yet, with their numbers of items, as far as it is known now.

        Until there is a dead letter only those are looked at of which anything came since it was asked before. The next
        call changes what this one returned.
        """
        self.follow()  # first: what is accepted was sent before that
        self.outstanding.update(self._load.take_sent())
        for record in list(self.outstanding) if self._letters else self.outstanding.keys() & self._come:
            if self._is_finished(record, self.outstanding[record]):
                del self.outstanding[record]
        self._come.clear()
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
