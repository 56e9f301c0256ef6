"""What real clusters hold, put together from the lines of ``found.ndjson``, which searching wrote.

The same class serves a stored history and a live run, which feeds it what a `Tail` returns.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from isolane.conformance.history_files import Line
from isolane.conformance.history_ledger import AcceptedIndex
from isolane.conformance.history_values import Fault, Produced
from isolane.conformance.tokens import number_of

NODE = "node"
"""The fault of a node that was killed, until it is started again: nothing is accepted meanwhile."""


@dataclass(frozen=True, slots=True)
class Document:
    """A document that a search found.

    Attributes:
        tenant: In whose cluster.
        index: Where in it.
        id: Its id.
        items: The numbers of the tokens in it.
        at: The earliest that it can have been there: when the last search began that did not find it.
        seen: When it was found.
    """

    tenant: str
    index: str
    id: str
    items: tuple[int, ...]
    at: float
    seen: float


@dataclass(frozen=True, slots=True)
class Search:
    """A search of everything that one tenant's cluster holds; `error` when it was not complete."""

    tenant: str
    began: float
    ended: float
    error: str | None = None


class Documents:
    """The documents that are there, as far as searches have told. Not synchronised: for one thread.

    Attributes:
        searches: Every search, in order of their ends.
        latest: When the latest complete search of each tenant's cluster began.
    """

    def __init__(self, accepted: AcceptedIndex) -> None:
        """Start with nothing found; `accepted` learns of each item when it can have been accepted at the earliest."""
        self._accepted = accepted
        self._stored: dict[tuple[str, str, str], Document] = {}
        self._holding: Counter[tuple[str, int]] = Counter()
        self.searches: list[Search] = []
        self.latest: dict[str, float] = {}

    @property
    def stored(self) -> list[Document]:
        """The documents that are there."""
        return list(self._stored.values())

    def feed(self, line: Line) -> None:
        """Take in one line of ``found.ndjson``; lines of a kind not known here are passed over.

        Raises:
            KeyError, TypeError, ValueError: The line has a known kind, and lacks what belongs to it.
        """
        match line["e"]:
            case "found":
                self._add(_document(line))
            case "gone":
                self._remove((line["tenant"], line["index"], line["id"]))
            case "searched":
                search = Search(line["tenant"], float(line["began"]), float(line["ended"]), line.get("error"))
                self.searches.append(search)
                if search.error is None:
                    self.latest[search.tenant] = search.began

    def _add(self, document: Document) -> None:
        """Take in a document; it takes the place of another with its id."""
        place = document.tenant, document.index, document.id
        self._remove(place)
        self._stored[place] = document
        for item in document.items:
            self._holding[document.tenant, item] += 1
            self._accepted.accept(item, document.tenant, document.at)

    def _remove(self, place: tuple[str, str, str]) -> None:
        document = self._stored.pop(place, None)
        if document is None:
            return
        for item in document.items:
            self._holding[document.tenant, item] -= 1
            if not self._holding[document.tenant, item]:
                self._accepted.withdraw(item, document.tenant)


def postpone(accepted: AcceptedIndex, produced: Mapping[str, Iterable[Produced]], faults: Iterable[Fault]) -> None:
    """Let nothing be accepted by a node that was not there: what was sent meanwhile was accepted later than that.

    Args:
        accepted: What knows when each record was accepted.
        produced: The records of each tenant.
        faults: All faults; those of other kinds are passed over.
    """
    for fault in faults:
        if fault.name == NODE:
            for record in produced[fault.tenant]:
                if fault.began <= record.sent < fault.ended:
                    accepted.postpone(record.record, fault.ended)


def _document(line: Line) -> Document:
    return Document(
        tenant=str(line["tenant"]),
        index=str(line["index"]),
        id=str(line["id"]),
        items=tuple(map(number_of, line["tokens"])),
        at=float(line["at"]),
        seen=float(line["seen"]),
    )
