"""The observer of the members' own metrics: what a scraper would have got."""

from __future__ import annotations

import time
import urllib.request
from collections.abc import Callable, Mapping
from http.client import HTTPException

from isolane.conformance.history_files import HistoryWriter

EVERY = 0.5
"""Seconds between scrapes."""

WITHIN = 2.0
"""Seconds that a member has to answer one."""


class MetricsScraper:
    """Writes what each member answers to a scrape, as text, to the history."""

    def __init__(self, urls: Callable[[], Mapping[int, str]], scrapes: HistoryWriter) -> None:
        """Scrape the members that `urls()` names: where each one's metrics are, by its number."""
        self._urls, self._scrapes = urls, scrapes
        self._due = 0.0

    def read(self) -> None:
        """Scrape every member once, unless that was only just done."""
        if time.monotonic() < self._due:
            return
        self._due = time.monotonic() + EVERY
        for member, url in self._urls().items():
            began = time.monotonic()
            try:
                with urllib.request.urlopen(url, timeout=WITHIN) as answer:  # noqa: S310 - the descriptor's own
                    text = answer.read().decode(errors="replace")
            except (OSError, HTTPException):
                continue  # it is starting, or ending, in the middle of an answer, too
            self._scrapes.write({"began": began, "at": time.monotonic(), "member": member, "text": text})
