"""What a run did in all, from its histories: records, faults, processes that ended, what was lost, peak memory."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from isolane.conformance.checkers import bites
from isolane.conformance.checkers.cases import broken_off
from isolane.conformance.checkers.happenings import happenings
from isolane.conformance.history import History
from isolane.conformance.tokens import ITEM_BITS, run_of

_ENDS = frozenset({"killed", "stopped", "exited"})


@dataclass(slots=True)
class Tally:
    """Sums over histories.

    Attributes:
        seconds: How long they lasted.
        records: Produced, of topics that a tenant owns.
        lost: Of those, never finished, although there was a whole drain.
        open: Of those, not finished when their timeline was broken off.
        documents: That were found in the end.
        duplicates: Of those, what there is more than one of an item.
        faults: What happened in the timelines, by kind.
        ended: Members that ended, by how.
        rebalances: How often the group was formed anew, as far as Kafka tells.
        peak: The most memory that a member had resident, in bytes.
    """

    seconds: float = 0.0
    records: int = 0
    lost: int = 0
    open: int = 0
    documents: int = 0
    duplicates: int = 0
    faults: Counter[str] = field(default_factory=Counter)
    ended: Counter[str] = field(default_factory=Counter)
    rebalances: int = 0
    peak: int = 0

    def add(self, history: History) -> None:
        """Add a history."""
        owned = [record for records in history.by_tenant.values() for record in records]
        items = Counter(
            item
            for document in history.documents
            for item in document.items
            if run_of(item >> ITEM_BITS) == history.meta.run_number
        )
        self.seconds += history.last - history.began
        self.records += len(owned)
        unfinished = sum(history.finished_at(record) == math.inf for record in owned)
        if broken_off(history):
            self.open += unfinished
        else:
            self.lost += unfinished
        self.documents += items.total()
        self.duplicates += items.total() - len(items)
        self.faults.update(each.name for each in happenings(history).values())
        self.ended.update(event.name for event in history.events if event.kind == "process" and event.name in _ENDS)
        self.rebalances += bites.rebalances(history) or 0
        self.peak = max(self.peak, *(sample.rss for sample in history.samples), 0)

    def lines(self) -> Iterator[str]:
        """Yield it for people, with rates."""
        rate = self.records / self.seconds if self.seconds else 0.0
        lost = f"{self.lost:,} lost"
        if self.open:
            lost += f", {self.open:,} not finished when its timeline was broken off"
        yield f"{self.records:,} records in {self.seconds / 60:,.1f} min ({rate:,.0f} a second), {lost}"
        yield f"{self.documents:,} documents, {self.duplicates:,} more than items"
        yield f"{self.faults.total():,} faults: {_listed(self.faults)}"
        yield f"{self.ended.total():,} members ended: {_listed(self.ended)}; {self.rebalances:,} rebalances"
        yield f"{self.peak / 2**20:,.0f} MiB of memory at most"


def tallied(folders: Iterable[Path]) -> Tally:
    """The sums over the histories in these folders."""
    tally = Tally()
    for folder in folders:
        tally.add(History.load(folder))
    return tally


def _listed(counts: Counter[str]) -> str:
    return ", ".join(f"{name} {count}" for name, count in sorted(counts.items())) or "none"
