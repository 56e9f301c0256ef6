"""DEL-9 on real clusters: what was delivered again is the same document still: one for each item, whatever happened."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator

from isolane.conformance.checkers import cases, membership, searches
from isolane.conformance.checkers.cases import Judge
from isolane.conformance.history import History
from isolane.conformance.history_values import Observation
from isolane.conformance.tokens import ITEM_BITS, run_of, topic_of
from isolane.conformance.verdict import Figure, Finding

FEWEST = 1
"""Items, or requests, that had to be sent again for certain: without a replay there is nothing to see."""

SWALLOW = "swallow"
"""What the name of a fault begins with that loses the answers to requests which the cluster carried out."""


def check(history: History) -> list[Finding]:
    """Return the finding on DEL-9; none where no real cluster was searched."""
    if not history.searches:
        return []
    documents = _documents(history)
    twice = [item for item, count in documents.items() if count > 1]
    replayed, unanswered = _replayed(history), _unanswered(history)
    judge = Judge(history, "DEL-9")
    figures = {
        "documents": Figure(sum(documents.values()), "", f"= {len(documents)}"),
        "items in them": Figure(len(documents)),
        "items that had to be delivered again": Figure(len(replayed)),
        "requests whose answers were lost": Figure(unanswered),
        "items with more than one document": Figure(len(twice), "", "= 0"),
    }
    if suffered := cases.records(history, twice):
        return [judge.fails("records with items that became more than one document", suffered, figures)]
    if blind := searches.blindness(history):
        return [judge.doubts(blind, figures)]
    if len(replayed) + unanswered < FEWEST:
        reason = "no item was in a cluster, and not committed, when a member died, and no answer was lost"
        return [judge.doubts(reason, figures)]
    summary = "every item is one document, also what had to be sent again"
    return [judge.passes(summary, figures)]


def _documents(history: History) -> Counter[int]:
    """Return how many documents hold each item, in its own tenant's cluster."""
    owners = history.meta.owners
    return Counter(
        item
        for document in history.documents
        for item in document.items
        if run_of(item >> ITEM_BITS) == history.meta.run_number
        and owners.get(topic_of(item >> ITEM_BITS)) == document.tenant
    )


def _replayed(history: History) -> set[int]:
    """Return the items that a new member had to deliver although they were there: no commit was past them."""
    found = {  # of several documents with an item the one that was found first
        item: (record, document.seen)
        for document in sorted(history.documents, key=lambda document: -document.seen)
        for item in document.items
        if (record := history.find(item >> ITEM_BITS)) is not None
    }
    return {
        item
        for ended, reading in _handovers(history)
        for item, (record, seen) in found.items()
        if seen <= ended and record.offset >= reading.offsets.get((record.topic, record.partition), math.inf)
    }


def _unanswered(history: History) -> int:
    """Return how many requests a cluster carried out whose answers were lost: they had to be sent again."""
    healed = (each for each in history.events if each.kind == "heal" and each.name.startswith(SWALLOW))
    return sum(int(each.detail["bitten"]) for each in healed)


def _handovers(history: History) -> Iterator[tuple[float, Observation]]:
    """Yield when a member started after the last one had died, and the offsets from which it went on."""
    running: set[object] = set()
    alone = math.inf
    for event in history.events:
        if event.kind != "process":
            continue
        if event.name in membership.ENDS:
            running.discard(event.detail["member"])
            alone = math.inf if running else event.at
        if event.name != "started":
            continue
        if not running and alone < event.at:
            readings = [seen for seen in history.commits if alone <= seen.began and seen.ended <= event.at]
            yield from ((event.at, seen) for seen in readings[-1:] if seen.error is None)
        running.add(event.detail["member"])
