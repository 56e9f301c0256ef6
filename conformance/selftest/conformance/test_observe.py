"""Observers: what is known of a living world is in its history."""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping
from itertools import pairwise
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from isolane.conformance import history_values
from isolane.conformance.broker import UnreadableError
from isolane.conformance.errors import HarnessError
from isolane.conformance.history_files import HistoryWriter, read_lines
from isolane.conformance.observe import GAP_WORTH_TELLING, CommitObserver, periodically


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


@pytest.mark.parametrize("until", [1.0, 60.0], ids=["and can again", "and never can again"])
def test_what_could_not_be_read_for_a_while_is_told(until: float, tmp_path: Path) -> None:
    """Once it could be read again, or when nobody looks any more: from the last reading on that succeeded."""
    began = time.monotonic()
    ended = threading.Event()

    def read() -> None:
        if 0.2 <= time.monotonic() - began < until:
            raise UnreadableError("no coordinator")
        if time.monotonic() - began >= until:
            ended.set()

    path = tmp_path / "events.ndjson"
    with HistoryWriter(path) as events, periodically("group", read, events):
        ended.wait(1.5)
    (line,) = [line for _, line in read_lines(path) if line["name"] == "unreadable"]
    assert line["seconds"] >= 0.7
    assert (line["of"], "no coordinator" in line["error"]) == ("group", True)
    assert history_values.event(line).detail["seconds"] == line["seconds"]


def test_an_observer_that_ends_for_no_known_reason_reaches_the_run(tmp_path: Path) -> None:
    """Nobody may take what it did not see for what was not there."""
    path = tmp_path / "events.ndjson"
    failed = threading.Event()

    def read() -> None:
        failed.set()
        raise OSError("too many open files")

    def observed() -> None:
        with HistoryWriter(path) as events, periodically("commit-observer", read, events):
            assert failed.wait(10)
            time.sleep(GAP_WORTH_TELLING)

    with pytest.raises(HarnessError, match=r"commit-observer .*too many open files"):
        observed()
    (line,) = [line for _, line in read_lines(path)]
    assert (line["name"], line["of"]) == ("sampler_gap", "commit-observer")
    assert line["seconds"] >= GAP_WORTH_TELLING


def test_a_committed_offset_is_in_the_history_before_anybody_goes_by_it() -> None:
    """Who waits for a commit, and then reads the history, finds it there."""
    lines = Lines()
    lines.observer = CommitObserver(cast("Any", Committed()), "g", {"t": 7}, lambda: [("t", 0)], cast("Any", lines))
    lines.observer.read()
    ((line, known_then),) = lines.written
    assert (line["offsets"], line["ends"]) == ({"7/0": 3}, {"7/0": 5})
    assert known_then == {}
    assert lines.observer.latest == {("t", 0): 3}
