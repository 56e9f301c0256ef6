"""Open-loop load: records are due at times that do not depend on how the implementation fares.

A closed loop would slow down with the system under test and hide its worst moments (coordinated omission,
as Gil Tene named it); so every record keeps the time at which it was due, and delay counts from there.
"""

from __future__ import annotations

import heapq
import random
import threading
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from isolane.conformance.broker import Producer, TopicPartition
from isolane.conformance.errors import HarnessError
from isolane.conformance.history_files import HistoryWriter
from isolane.conformance.tokens import Token
from isolane.fixtures import payloads

LAG_WORTH_TELLING = 0.1
"""Seconds that a record may leave late before the history tells it; checkers have bounds of their own."""


@dataclass(frozen=True, slots=True)
class LoadTopic:
    """A topic that gets load: its name and number of partitions."""

    name: str
    partitions: int
    signal: payloads.Signal = "logs"


class Load:
    """The one producer of a scenario, on a thread of its own.

    Rates are set for each topic (records a second, evenly over its partitions, intervals seeded at ±50 %);
    a burst adds records that are due at once. Each acknowledged record is a line of `produced.ndjson`.
    The lock guards the schedule; records are sent outside of it.
    """

    def __init__(
        self,
        producer: Producer,
        topics: Sequence[LoadTopic],
        *,
        run: int,
        items: int,
        encoding: payloads.Encoding,
        seed: int,
        produced: HistoryWriter,
        events: HistoryWriter,
        padding: int = 120,
    ) -> None:
        """Prepare the load of `topics`; nothing is sent before `rates`, `burst` or `canaries`."""
        self._producer = producer
        self._topics = topics
        self._run, self._items, self._encoding, self._padding = run, items, encoding, padding
        self._produced, self._events = produced, events
        self._random = random.Random(seed)
        self._lock = threading.Lock()
        self._changed = threading.Condition(self._lock)
        self._due: list[tuple[float, int]] = []
        self._rates: dict[int, float] = {}
        self._phase = ""
        self._closed = False
        self._sequences = [[0] * topic.partitions for topic in topics]
        self._turns = [0] * len(topics)
        self._offered: Counter[int] = Counter()
        self._fresh: dict[int, int] = {}
        self._sent = 0
        self._acknowledged = 0
        self._ends: dict[TopicPartition, int] = {}
        self._failure: Exception | None = None
        self._lag_told = 0.0
        self._thread = threading.Thread(target=self._run_schedule, name="load", daemon=True)
        self._thread.start()

    def phase(self, name: str) -> tuple[str, dict[int, int]]:
        """Name the phase that records belong to from now on; the one before, and its records by topic number."""
        with self._lock:
            ended = self._phase, dict(self._offered)
            self._phase = name
            self._offered.clear()
            return ended

    def rates(self, rates: Mapping[int, float]) -> None:
        """Set the load: records a second by topic number; topics not named get nothing."""
        now = time.monotonic()
        with self._changed:
            self._rates = {topic: rate for topic, rate in rates.items() if rate > 0}
            self._due = [(now + self._interval(topic) * self._random.random(), topic) for topic in self._rates]
            heapq.heapify(self._due)
            self._changed.notify()

    def burst(self, records: Mapping[int, int]) -> None:
        """Send that many records to each topic at once, beside the rates."""
        now = time.monotonic()
        for topic, count in records.items():
            for _ in range(count):
                self._send(topic, now)

    def canaries(self) -> None:
        """Send one record to each partition of each topic."""
        self.burst({number: topic.partitions for number, topic in enumerate(self._topics)})

    def settle(self, timeout: float) -> int:
        """Stop the load and wait until Kafka has acknowledged all of it; the number of records so far.

        Raises:
            HarnessError: Kafka refused a record, or did not acknowledge within `timeout` seconds.
        """
        self.rates({})
        self._producer.flush(timeout)
        if self._failure is not None:
            raise HarnessError(f"Kafka refused a record of the load: {self._failure}") from self._failure
        with self._changed:
            if not self._changed.wait_for(lambda: self._acknowledged == self._sent, timeout):
                raise HarnessError(f"Kafka acknowledged {self._acknowledged} of {self._sent} records")
            return self._sent

    def take_sent(self) -> dict[int, int]:
        """Record keys sent since the last call, with their numbers of items."""
        with self._lock:
            taken, self._fresh = self._fresh, {}
            return taken

    def ends(self) -> dict[TopicPartition, int]:
        """The offset behind the last acknowledged record of each partition."""
        with self._lock:
            return dict(self._ends)

    def close(self) -> None:
        """End the thread and the producer."""
        with self._changed:
            self._closed = True
            self._changed.notify()
        self._thread.join()
        self._producer.close()

    def _interval(self, topic: int) -> float:
        return self._random.uniform(0.5, 1.5) / self._rates[topic]

    def _run_schedule(self) -> None:
        while True:
            with self._changed:
                if self._closed:
                    return
                wait = self._due[0][0] - time.monotonic() if self._due else None
                if wait is None or wait > 0:
                    self._changed.wait(wait)
                    continue
                due, topic = self._due[0]
                heapq.heapreplace(self._due, (due + self._interval(topic), topic))
            self._send(topic, due)

    def _send(self, topic: int, due: float) -> None:
        record, phase = self._next(topic)
        to = self._topics[topic]
        tokens = [str(replace(record, item=item)) for item in range(self._items)]
        value = payloads.value(self._encoding, to.signal, tokens, padding=self._padding)
        sent = time.monotonic()
        self._tell_lag(sent - due, sent)

        def acknowledged(offset: int) -> None:
            self._produced.write(
                {
                    "token": tokens[0],
                    "topic": topic,
                    "partition": record.partition,
                    "offset": offset,
                    "items": self._items,
                    "bytes": len(value),
                    "scheduled": due,
                    "sent": sent,
                    "acked": time.monotonic(),
                    "phase": phase,
                },
            )
            with self._changed:
                at = (to.name, record.partition)
                self._ends[at] = max(self._ends.get(at, 0), offset + 1)
                self._acknowledged += 1
                self._changed.notify()

        self._producer.send(to.name, record.partition, value, acknowledged=acknowledged, failed=self._fail)

    def _next(self, topic: int) -> tuple[Token, str]:
        with self._lock:
            partition = self._turns[topic]
            self._turns[topic] = (partition + 1) % self._topics[topic].partitions
            record = Token(self._run, topic, partition, self._sequences[topic][partition])
            self._sequences[topic][partition] += 1
            self._sent += 1
            self._offered[topic] += 1
            self._fresh[record.record] = self._items
            return record, self._phase

    def _tell_lag(self, lag: float, now: float) -> None:
        if lag > LAG_WORTH_TELLING and now - self._lag_told > 1:
            self._lag_told = now
            self._events.write({"at": now, "kind": "harness", "name": "load_lag", "seconds": lag})

    def _fail(self, error: Exception) -> None:
        self._failure = error
