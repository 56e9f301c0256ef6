"""A reader gives everything once, also what it had when a reading failed."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any

import pytest
from kafka import TopicPartition
from kafka.errors import KafkaConnectionError

from isolane.conformance import reader
from isolane.conformance.broker import UnreadableError
from isolane.conformance.reader import Reader

HERE = TopicPartition("aside", 0)


class Clock:
    """A clock that stands still until it is told otherwise."""

    def __init__(self) -> None:
        """Begin at 0."""
        self.now = 0.0

    def monotonic(self) -> float:
        """What it shows."""
        return self.now


class Consumer:
    """As much of kafka-python's consumer as a reader uses: a log of five records, of which a poll gives two.

    Each second poll is in trouble instead.
    """

    def __init__(self, clock: Clock, trouble: Callable[[Clock], None]) -> None:
        """Begin at the beginning."""
        self._clock, self._trouble, self._position, self._polls = clock, trouble, 0, 0

    def topics(self) -> set[str]:
        """Every topic that there is."""
        return {HERE.topic}

    def partitions_for_topic(self, _topic: str) -> set[int]:
        """Its partitions."""
        return {HERE.partition}

    def assign(self, _partitions: object) -> None:
        """Read this one."""

    def end_offsets(self, _partitions: object) -> dict[TopicPartition, int]:
        """Where the log ends."""
        return {HERE: 5}

    def position(self, _partition: object) -> int:
        """The offset that the next poll begins with."""
        return self._position

    def poll(self, **_limits: int) -> dict[TopicPartition, list[Any]]:
        """The next two records."""
        self._polls += 1
        if self._polls % 2 == 0:
            self._trouble(self._clock)
            return {}
        offsets = range(self._position, min(self._position + 2, 5))
        self._position = offsets.stop
        return {
            HERE: [SimpleNamespace(topic=HERE.topic, partition=0, offset=at, value=b"", headers=[]) for at in offsets]
        }


def goes_away(_clock: Clock) -> None:
    """The broker is gone."""
    raise KafkaConnectionError("gone")


def falls_silent(clock: Clock) -> None:
    """Nothing comes for longer than a reading may take."""
    clock.now += 6


def readings(trouble: Callable[[Clock], None], monkeypatch: pytest.MonkeyPatch) -> Iterator[list[int] | None]:
    """The offsets that each reading gives; None for one that fails."""
    clock = Clock()
    monkeypatch.setattr(reader, "time", clock)
    monkeypatch.setattr(reader, "KafkaConsumer", lambda **_: Consumer(clock, trouble))
    reads = Reader("nowhere:1")
    while True:
        try:
            yield [message.offset for message in reads.read([HERE.topic], timeout=5)]
        except UnreadableError:
            yield None


@pytest.mark.parametrize("trouble", [goes_away, falls_silent])
def test_what_a_reading_had_when_it_failed_comes_with_the_next(
    trouble: Callable[[Clock], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The consumer goes on behind it, so nobody would ever have it (DEL-1, OFF-1)."""
    found = readings(trouble, monkeypatch)
    assert [next(found) for _ in range(4)] == [None, None, [0, 1, 2, 3, 4], []]
