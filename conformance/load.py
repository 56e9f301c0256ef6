"""Open-loop load: records are due at times that do not depend on how the implementation fares.

A closed loop would slow down with the system under test and hide its worst moments (coordinated omission,
as Gil Tene named it); so every record keeps the time at which it was due, and delay counts from there.
"""

from __future__ import annotations

import heapq
import math
import random
import threading
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from isolane.conformance.broker import TopicPartition
from isolane.conformance.errors import HarnessError
from isolane.conformance.history_files import HistoryWriter
from isolane.conformance.history_values import Kind, Place
from isolane.conformance.producer import Codec, Header, Producer, Producers
from isolane.conformance.tokens import Token
from isolane.fixtures import payloads
from isolane.fixtures.implementations.descriptor import Policy

PADDING = 120
"""Bytes by which the text of each item is lengthened where nothing else is said."""

LAG_WORTH_TELLING = 0.1
"""Seconds that a record may leave late before the history tells it; checkers have bounds of their own."""

TICK = 0.05
"""Seconds between the times at which records are due, those of all topics together, as from producers that linger.

Were each due by itself, every one would cost a request to Kafka and a fetch: of two cores, a few hundred a second would
take a seventh from those who are measured.
"""

_AT_ONCE = 100
_TAKEN_WITHIN = 20.0
_METADATA_WITHIN = 10.0

Shaper = Callable[[payloads.Encoding, payloads.Signal, Sequence[str]], bytes | None]
"""Makes a record's value from the encoding and signal of its topic and the tokens of its items."""


@dataclass(frozen=True, slots=True)
class LoadTopic:
    """A topic that gets load.

    Attributes:
        name: Its name.
        partitions: How many it has; 0 while it does not exist.
        signal: What it carries.
        codecs: How its batches are compressed: the first partition's with the first one, and so on round and round.
        owned: Whether any tenant owns it, so that somebody must finish its records.
        keyed: Whether each record has a key of its own, as compacted topics need.
        padding: Bytes by which the text of each item is lengthened.
    """

    name: str
    partitions: int
    signal: payloads.Signal = "logs"
    codecs: tuple[Codec, ...] = ("none",)
    owned: bool = True
    keyed: bool = False
    padding: int = PADDING


@dataclass(frozen=True, slots=True)
class Draft:
    """A record that is not like all others.

    Attributes:
        kind: What it is.
        value: Makes its value; None for that of any other record.
        key: Its key.
        headers: Its headers.
        partition: Where it goes; None for the next in turn.
    """

    kind: Kind = "data"
    value: Shaper | None = None
    key: bytes | None = None
    headers: tuple[Header, ...] = ()
    partition: int | None = None


PLAIN = Draft()
"""A record like all others."""


class Load:
    """The one source of records of a scenario, on a thread of its own.

    Rates are set for each topic (records a second, evenly over its partitions, intervals seeded at ±50 %, then put off
    to the next tick); whatever else is sent is due at once. Each acknowledged record is a line of `produced.ndjson`.
    The lock guards the schedule and what is known of topics and records; records are sent outside of it.
    """

    def __init__(
        self,
        producers: Producers,
        topics: Sequence[LoadTopic],
        *,
        run: int,
        items: int,
        encoding: payloads.Encoding,
        undecodable: Policy | None,
        seed: int,
        produced: HistoryWriter,
        events: HistoryWriter,
    ) -> None:
        """Prepare the load of `topics`; nothing is sent before it is asked for.

        `undecodable` says what becomes of records that cannot be decoded, so that nobody waits for those in vain.
        """
        self._producers = producers
        self._topics = list(topics)
        self._run, self._items, self._encoding = run, items, encoding
        self._undecodable = undecodable
        self._produced, self._events = produced, events
        self._random = random.Random(seed)
        self._lock = threading.Lock()  # taken as itself where Ctrl-C may come: a condition's own end can be broken off
        self._changed = threading.Condition(self._lock)
        self._confirmed = threading.Condition(self._lock)  # of its own: an acknowledgement need not wake the schedule
        self._due: list[tuple[float, int]] = []
        self._rates: dict[int, float] = {}
        self._phase = ""
        self._closed = False
        self._sequences: Counter[tuple[int, int]] = Counter()
        self._turns = [0] * len(topics)
        self._offered: Counter[int] = Counter()
        self._fresh: dict[int, int] = {}
        self._held: set[tuple[int, int]] = set()
        self._sent = 0
        self._acknowledged = 0
        self._places: dict[int, Place] = {}
        self._ends: dict[TopicPartition, int] = {}
        self._failure: Exception | None = None
        self._lag_told = 0.0
        for codec in {codec for topic in topics for codec in topic.codecs}:  # connected before anything is due
            producers.of(codec).learn(topic.name for topic in topics if topic.partitions and codec in topic.codecs)
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
        """Set the load: records a second by topic number; topics not named, or not there, get nothing."""
        now = time.monotonic()
        with self._lock:
            self._rates = {topic: rate for topic, rate in rates.items() if rate > 0 and self._topics[topic].partitions}
            self._due = [(now + self._interval(topic) * self._random.random(), topic) for topic in self._rates]
            heapq.heapify(self._due)
            self._changed.notify_all()

    def has(self, topic: int, partitions: int) -> None:
        """Know that the topic has so many partitions from now on; blocks until its producers know, too.

        Raises:
            HarnessError: They did not within a few seconds.
        """
        known = replace(self._topics[topic], partitions=partitions)
        for codec in set(known.codecs):
            self._producers.of(codec).await_partitions(known.name, partitions, _METADATA_WITHIN)
        with self._lock:
            self._topics[topic] = known

    def send(self, topic: int, draft: Draft = PLAIN, count: int = 1) -> None:
        """Send that many records like `draft` to a topic, one after the other, beside the rates."""
        for number in range(1, count + 1):
            self._send(topic, time.monotonic(), draft)
            if number % _AT_ONCE == 0:
                self._producers.flush(_TAKEN_WITHIN)  # many at once would keep the rates from being kept

    def burst(self, records: Mapping[int, int]) -> None:
        """Send that many records to each topic, all of them due now, beside the rates."""
        now = time.monotonic()
        for topic, count in records.items():
            for _ in range(count):
                self._send(topic, now, PLAIN)

    def transaction(self, topic: int, count: int, *, commit: bool) -> None:
        """Send that many records to a topic in one transaction; blocks until it is over.

        Raises:
            HarnessError: Kafka does not take it.
        """
        producer, draft = self._producers.transactional, PLAIN if commit else Draft("aborted")
        with producer.transaction(commit=commit):
            for _ in range(count):
                self._send(topic, time.monotonic(), draft, producer)

    def canaries(self, draft: Draft = PLAIN) -> None:
        """Send one record to each partition that there is of each topic that a tenant owns."""
        for number, topic in enumerate(self._topics):
            if topic.owned:
                self.send(number, draft, topic.partitions)

    def settle(self, timeout: float) -> int:
        """Stop the load and wait until Kafka has acknowledged all of it; the number of records so far.

        Raises:
            HarnessError: Kafka refused a record, or did not acknowledge within `timeout` seconds.
        """
        self.rates({})
        return self.flush(timeout)

    def flush(self, timeout: float) -> int:
        """Wait until Kafka has acknowledged what was sent; the number of records so far.

        Raises:
            HarnessError: Kafka refused a record, or did not acknowledge within `timeout` seconds.
        """
        self._producers.flush(timeout)
        if self._failure is not None:
            raise HarnessError(f"Kafka refused a record of the load: {self._failure}") from self._failure
        with self._confirmed:
            if not self._confirmed.wait_for(lambda: self._acknowledged == self._sent, timeout):
                raise HarnessError(f"Kafka acknowledged {self._acknowledged} of {self._sent} records")
            return self._sent

    def take_sent(self) -> dict[int, int]:
        """Keys of records sent since the last call that somebody must finish, with their numbers of items."""
        with self._lock:
            taken, self._fresh = self._fresh, {}
            return taken

    def place(self, record: int) -> Place | None:
        """Where the record with this key lies in Kafka; None while it is not acknowledged."""
        with self._lock:
            return self._places.get(record)

    def ends(self) -> dict[TopicPartition, int]:
        """The offset behind the last acknowledged record of each partition that must be finished."""
        with self._lock:
            return dict(self._ends)

    @property
    def partitions(self) -> list[TopicPartition]:
        """Every partition that there is."""
        with self._lock:
            return [(topic.name, number) for topic in self._topics for number in range(topic.partitions)]

    def close(self) -> None:
        """End the thread and the producers."""
        with self._lock:
            self._closed = True
            self._changed.notify_all()  # a notification that was broken off may have left one who waits no more
        self._thread.join()
        self._producers.close()

    def _interval(self, topic: int) -> float:
        return self._random.uniform(0.5, 1.5) / self._rates[topic]

    def _run_schedule(self) -> None:
        while True:
            with self._changed:
                if self._closed:
                    return
                if not self._due:
                    self._changed.wait()
                    continue
                exact, topic = self._due[0]
                due = math.ceil(exact / TICK) * TICK
                if (wait := due - time.monotonic()) > 0:
                    self._changed.wait(wait)
                    continue
                heapq.heapreplace(self._due, (exact + self._interval(topic), topic))
            self._send(topic, due, PLAIN)

    def _send(self, number: int, due: float, draft: Draft, producer: Producer | None = None) -> None:
        topic = self._topics[number]
        record, phase, awaited = self._next(number, draft)
        tokens = [str(replace(record, item=item)) for item in range(self._items_of(draft))]
        value = self._value(topic, tokens, draft)
        producer = producer or self._producers.of(topic.codecs[record.partition % len(topic.codecs)])
        sent = time.monotonic()
        self._tell_lag(sent - due, sent)

        def acknowledged(offset: int) -> None:
            self._produced.write(
                {
                    "token": tokens[0],
                    "topic": number,
                    "partition": record.partition,
                    "offset": offset,
                    "items": len(tokens),
                    "bytes": len(value or b""),
                    "scheduled": due,
                    "sent": sent,
                    "acked": time.monotonic(),
                    "phase": phase,
                    "kind": draft.kind,
                },
            )
            with self._confirmed:
                self._places[record.record] = number, record.partition, offset
                if awaited:
                    at = (topic.name, record.partition)
                    self._ends[at] = max(self._ends.get(at, 0), offset + 1)
                self._acknowledged += 1
                self._confirmed.notify()

        producer.send(
            topic.name,
            record.partition,
            value,
            key=draft.key or (tokens[0].encode() if topic.keyed else None),
            headers=draft.headers,
            acknowledged=acknowledged,
            failed=self._fail,
        )

    def _items_of(self, draft: Draft) -> int:
        return (
            1 if draft.kind == "poison" else self._items
        )  # what cannot be decoded has no items that could be told apart

    def _value(self, topic: LoadTopic, tokens: Sequence[str], draft: Draft) -> bytes | None:
        if draft.value is not None:
            return draft.value(self._encoding, topic.signal, tokens)
        return payloads.value(self._encoding, topic.signal, tokens, padding=topic.padding)

    def _next(self, topic: int, draft: Draft) -> tuple[Token, str, bool]:
        with self._lock:
            partition = draft.partition
            if partition is None:
                partition = self._turns[topic] % self._topics[topic].partitions
                self._turns[topic] = partition + 1
            record = Token(self._run, topic, partition, self._sequences[topic, partition])
            self._sequences[topic, partition] += 1
            self._sent += 1
            self._offered[topic] += 1
            awaited = self._is_awaited(topic, partition, draft.kind)
            if awaited and (draft.kind == "data" or (draft.kind == "poison" and self._undecodable == "dead_letter")):
                self._fresh[record.record] = self._items_of(draft)
            return record, self._phase, awaited

    def _is_awaited(self, topic: int, partition: int, kind: Kind) -> bool:
        """Whether the commit must pass this record in the end."""
        if kind == "poison" and self._undecodable == "hold":
            self._held.add((topic, partition))
        return (
            self._topics[topic].owned
            and (topic, partition) not in self._held
            and kind not in {"aborted", "superseded", "early"}
            and not (kind == "poison" and self._undecodable is None)
        )

    def _tell_lag(self, lag: float, now: float) -> None:
        if lag > LAG_WORTH_TELLING and now - self._lag_told > 1:
            self._lag_told = now
            self._events.write({"at": now, "kind": "harness", "name": "load_lag", "seconds": lag})

    def _fail(self, error: Exception) -> None:
        self._failure = error
