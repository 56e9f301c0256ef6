"""The searcher of real nodes: what each tenant's cluster holds, and when it can have been there at the earliest.

A real cluster keeps no ledger. It is searched again and again, all of it, so that each document has the time of the
last search that did not find it: what was committed before that, and found only later, was committed too early (OFF-1).
The last search of all, after every member has ended, is the final truth.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from isolane.conformance.history_files import FOUND, HistoryWriter
from isolane.conformance.nodes import Nodes
from isolane.conformance.tokens import find
from isolane.fixtures.services.elasticsearch_documents import Stored
from isolane.fixtures.services.elasticsearch_probe import NotAnsweringError

PAUSE = 1.0
"""Seconds between a search and the next one of the same cluster, at least."""

LONGEST_PAUSE = 3.0
"""The most: up to this it is as long as the search was, so that what is measured hardly feels it."""

FINAL_WITHIN = 20.0
"""Seconds that a cluster gets to be searched for the last time."""


class Searcher:
    """Searches one tenant's cluster, and writes what is new, or gone, to the history. For one thread at a time.

    Attributes:
        tenant: Whose cluster it is.
    """

    def __init__(self, tenant: str, search: Callable[[], Iterable[Stored]], found: HistoryWriter) -> None:
        """Begin with a cluster that is empty now; `search` returns all that it holds, or raises NotAnsweringError."""
        self.tenant, self._search, self._found = tenant, search, found
        self._known: dict[tuple[str, str], tuple[str, ...]] = {}
        self._before = time.monotonic()

    def read(self) -> bool:
        """Search once; whether all of it could be searched."""
        began = time.monotonic()
        try:
            present = {(each.index, each.id): _tokens(each) for each in self._search()}
        except NotAnsweringError as error:
            self._write("searched", began=began, ended=time.monotonic(), error=str(error))
            return False
        seen = time.monotonic()
        for place, tokens in present.items():
            if self._known.get(place) != tokens:
                self._write("found", place, tokens=tokens, at=self._before, seen=seen)
        for place in self._known.keys() - present.keys():
            self._write("gone", place, seen=seen)
        self._known, self._before = present, began
        self._write("searched", began=began, ended=seen, documents=len(present))
        return True

    def _write(self, what: str, place: tuple[str, str] | None = None, **detail: object) -> None:
        named = dict(zip(("index", "id"), place, strict=True)) if place else {}
        self._found.write({"e": what, "tenant": self.tenant, **named, **detail})


@contextmanager
def searched(nodes: Nodes, tenants: Iterable[str], folder: Path) -> Iterator[None]:
    """Search the tenants' nodes while the block runs, and once more at its end; the history's folder gets it."""
    with HistoryWriter(folder / FOUND) as found, ExitStack() as stack:
        for tenant in tenants:
            stack.enter_context(searching(Searcher(tenant, _search(nodes, tenant), found)))
        yield


def _search(nodes: Nodes, tenant: str) -> Callable[[], Iterable[Stored]]:
    return lambda: nodes.documents(tenant)


@contextmanager
def searching(searcher: Searcher) -> Iterator[None]:
    """Let `searcher` read again and again, on a thread of its own, while the block runs, and once more at its end."""
    stop = threading.Event()

    def loop() -> None:
        wait = 0.0
        while not stop.wait(wait):
            began = time.monotonic()
            searcher.read()
            wait = min(max(PAUSE, time.monotonic() - began), LONGEST_PAUSE)

    thread = threading.Thread(target=loop, name=f"searcher-{searcher.tenant}", daemon=True)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join()
        deadline = time.monotonic() + FINAL_WITHIN
        while not searcher.read() and time.monotonic() < deadline:
            time.sleep(PAUSE)


def _tokens(document: Stored) -> tuple[str, ...]:
    return tuple(dict.fromkeys(map(str, find(document.source))))
