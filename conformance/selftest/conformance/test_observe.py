"""Observers: what is known of a living world is in its history."""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping
from itertools import pairwise
from types import SimpleNamespace
from typing import Any, cast

from isolane.conformance.observe import CommitObserver, periodically


class Committed:
    """A broker whose group has committed offset 3."""

    def committed(self, _group: str) -> dict[tuple[str, int], int]:
        """The offsets of the group."""
        return {("t", 0): 3}

    def ends(self, _partitions: object) -> dict[tuple[str, int], int]:
        """The ends of the logs."""
        return {("t", 0): 5}


class Lines:
    """A file of a history that remembers what was known when each line was written."""

    def __init__(self) -> None:
        """Start empty."""
        self.written: list[tuple[Mapping[str, Any], dict[tuple[str, int], int]]] = []
        self.observer: CommitObserver

    def write(self, line: Mapping[str, Any]) -> None:
        """Take in a line."""
        self.written.append((line, self.observer.latest))


def test_an_observer_that_takes_long_pauses_as_long() -> None:
    """It takes half of a processor at most, and tells when a reading came late."""
    times: list[tuple[float, float]] = []
    told: list[Mapping[str, Any]] = []
    enough = threading.Event()

    def read() -> None:
        began = time.monotonic()
        time.sleep(0.2 if len(times) < 2 else 0.7)
        times.append((began, time.monotonic()))
        if len(times) == 3:
            enough.set()

    with periodically("slow", read, cast("Any", SimpleNamespace(write=told.append))):
        assert enough.wait(10)
    for (began, ended), (after, _) in pairwise(times):
        assert after - ended >= 0.9 * (ended - began)
    assert ("sampler_gap", "slow") in {(event["name"], event["of"]) for event in told}


def test_a_committed_offset_is_in_the_history_before_anybody_goes_by_it() -> None:
    """Who waits for a commit, and then reads the history, finds it there."""
    lines = Lines()
    lines.observer = CommitObserver(cast("Any", Committed()), "g", {"t": 7}, lambda: [("t", 0)], cast("Any", lines))
    lines.observer.read()
    ((line, known_then),) = lines.written
    assert (line["offsets"], line["ends"]) == ({"7/0": 3}, {"7/0": 5})
    assert known_then == {}
    assert lines.observer.latest == {("t", 0): 3}
