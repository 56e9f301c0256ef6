"""Observers: what is known of a living world is in its history."""

from __future__ import annotations

from collections.abc import Mapping
from types import SimpleNamespace
from typing import Any, cast

from isolane.conformance.broker import UnreadableError
from isolane.conformance.observe import CommitObserver, GroupObserver


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


def test_a_committed_offset_is_in_the_history_before_anybody_goes_by_it() -> None:
    """Who waits for a commit, and then reads the history, finds it there."""
    lines = Lines()
    lines.observer = CommitObserver(cast("Any", Committed()), "g", {"t": 7}, lambda: [("t", 0)], cast("Any", lines))
    lines.observer.read()
    ((line, known_then),) = lines.written
    assert (line["offsets"], line["ends"]) == ({"7/0": 3}, {"7/0": 5})
    assert known_then == {}
    assert lines.observer.latest == {("t", 0): 3}


class Owned:
    """A broker whose group answers as it is told, one answer a reading; None: not at all."""

    def __init__(self, *answers: dict[tuple[str, int], str] | None) -> None:
        """Remember the answers."""
        self._answers = list(answers)

    def owners(self, _group: str) -> dict[tuple[str, int], str]:
        """The next answer."""
        answer = self._answers.pop(0)
        if answer is None:
            raise UnreadableError("no coordinator")
        return answer


def test_who_has_a_partition_is_told_when_it_changes() -> None:
    """A reading that says the same, or could not be made, writes nothing; topics of others are left out."""
    one, two = {("t", 0): "m0", ("other", 0): "x"}, {("t", 0): "m0", ("t", 1): "m1"}
    written: list[Mapping[str, Any]] = []
    lines = SimpleNamespace(write=written.append)
    observer = GroupObserver(cast("Any", Owned({}, one, None, one, two, {})), "g", {"t": 7}, cast("Any", lines))
    for _ in range(6):
        observer.read()
    assert [line["owners"] for line in written] == [{"7/0": "m0"}, {"7/0": "m0", "7/1": "m1"}, {}]
    assert {(line["kind"], line["name"]) for line in written} == {("group", "owners")}
