"""The load: what is sent where, what is written down of it, and what somebody must finish."""

from __future__ import annotations

import gc
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from types import FrameType
from typing import Any, cast

import orjson
import pytest

from isolane.conformance.errors import HarnessError
from isolane.conformance.history_files import HistoryWriter
from isolane.conformance.history_values import Kind
from isolane.conformance.load import TICK, Draft, Load, LoadTopic
from isolane.conformance.producer import Producers
from isolane.conformance.tokens import Token, find
from isolane.fixtures import payloads
from isolane.fixtures.implementations.descriptor import Policy

TOPICS = [
    LoadTopic("owned", 2),
    LoadTopic("packed", 3, codecs=("gzip", "zstd")),
    LoadTopic("compacted", 1, keyed=True),
    LoadTopic("nobodys", 1, owned=False),
    LoadTopic("late", 0),
]


@dataclass
class FakeProducer:
    """Takes records, and acknowledges them at once unless it refuses."""

    codec: str
    sent: list[tuple[str, int, bytes | None, bytes | None]] = field(default_factory=list)
    known: int = 99
    refuses: bool = False
    transactions: list[bool] = field(default_factory=list)
    learned: list[str] = field(default_factory=list)

    def learn(self, topics: Iterable[str]) -> None:
        """Remember which topics it was told of."""
        self.learned += topics

    def send(
        self,
        topic: str,
        partition: int,
        value: bytes | None,
        *,
        key: bytes | None,
        headers: Sequence[tuple[str, bytes]],
        acknowledged: Callable[[int], None],
        failed: Callable[[Exception], None],
    ) -> None:
        """Take one."""
        assert isinstance(headers, tuple)
        offset = sum((topic, partition) == each[:2] for each in self.sent)
        self.sent.append((topic, partition, value, key))
        if self.refuses:
            failed(OSError("too large"))
        else:
            acknowledged(offset)

    def await_partitions(self, topic: str, count: int, timeout: float) -> None:
        """Know all that it is asked for."""
        assert (topic, count, timeout > 0) == (topic, self.known, True)

    @contextmanager
    def transaction(self, *, commit: bool) -> Iterator[None]:
        """Remember how it ended."""
        yield
        self.transactions.append(commit)


class FakeProducers:
    """A producer for each codec, and one for transactions."""

    def __init__(self) -> None:
        """Begin with none but that for transactions."""
        self.made: dict[str, FakeProducer] = {}
        self.transactional = FakeProducer("transactional")

    def of(self, codec: str) -> FakeProducer:
        """The producer of a codec."""
        return self.made.setdefault(codec, FakeProducer(codec))

    def flush(self, _timeout: float) -> None:
        """Nothing waits."""

    def close(self) -> None:
        """Nothing is open."""


@dataclass
class Bench:
    """A load, its producers, and the file in which its records are written down."""

    load: Load
    producers: FakeProducers
    file: Path

    @property
    def lines(self) -> list[dict[str, Any]]:
        """What is written down."""
        return [orjson.loads(line) for line in self.file.read_bytes().splitlines()]


@contextmanager
def opened(folder: Path, undecodable: Policy | None = "dead_letter") -> Iterator[Bench]:
    """A load and its files; who opens it closes the load."""
    producers, file = FakeProducers(), folder / "produced.ndjson"
    with HistoryWriter(file) as produced, HistoryWriter(folder / "events.ndjson") as events:
        load = Load(
            cast("Producers", producers),
            TOPICS,
            run=7,
            items=2,
            encoding="otlp_proto",
            undecodable=undecodable,
            seed=1,
            produced=produced,
            events=events,
        )
        yield Bench(load, producers, file)


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Callable[..., Bench]]:
    """Makes loads that end with the test."""
    with ExitStack() as stack:

        def make(undecodable: Policy | None = "dead_letter") -> Bench:
            made = stack.enter_context(opened(tmp_path, undecodable))
            stack.callback(made.load.close)
            return made

        yield make


def nothing(_encoding: payloads.Encoding, _signal: payloads.Signal, _tokens: Sequence[str]) -> bytes | None:
    """No value."""
    return None


def test_each_producer_learns_of_its_topics_before_anything_is_due(bench: Callable[..., Bench]) -> None:
    """Those that exist already: the first record of a topic that is new to a producer would leave late."""
    made = bench().producers.made
    assert {codec: producer.learned for codec, producer in made.items()} == {
        "none": ["owned", "compacted", "nobodys"],
        "gzip": ["packed"],
        "zstd": ["packed"],
    }


def test_records_go_round_the_partitions_with_their_codecs(bench: Callable[..., Bench]) -> None:
    """The first partition's batches are compressed with the first codec, and so on round and round."""
    made = bench()
    made.load.send(1, count=6)
    assert [each[1] for each in made.producers.of("gzip").sent] == [0, 2, 0, 2]
    assert [each[1] for each in made.producers.of("zstd").sent] == [1, 1]


def test_every_record_is_written_down_with_its_token(bench: Callable[..., Bench]) -> None:
    """Also one whose value holds none; each of its items has a token of its own otherwise."""
    made = bench()
    made.load.phase("this")
    made.load.send(0)
    made.load.send(0, Draft("tombstone", value=nothing, key=b"k", partition=0))
    plain, tombstone = made.lines
    (_, _, value, _), (_, _, none, key) = made.producers.of("none").sent
    assert value is not None
    assert [token.item for token in find(value)] == [0, 1]
    assert (plain["kind"], plain["items"], plain["bytes"], plain["phase"]) == ("data", 2, len(value), "this")
    assert (none, key, tombstone["kind"], tombstone["bytes"]) == (None, b"k", "tombstone", 0)
    assert tombstone["token"] == str(Token(7, 0, 0, 1))


def test_records_of_all_topics_are_due_together(bench: Callable[..., Bench]) -> None:
    """A few times a second, at their rates: one by one each would cost those who are measured a request and a fetch."""
    made = bench()
    made.load.rates({0: 200, 2: 100})
    while len({line["scheduled"] for line in made.lines}) < 20:
        time.sleep(TICK)
    made.load.close()
    due = {topic: [line["scheduled"] for line in made.lines if line["topic"] == topic] for topic in (0, 2)}
    ticks = sorted({*due[0], *due[2]})
    assert all(later - earlier > TICK * 0.99 for earlier, later in pairwise(ticks))
    assert set(due[0]) & set(due[2])
    assert len(due[0]) == pytest.approx(200 * TICK * len(ticks), rel=0.2)


def test_records_of_compacted_topics_have_keys(bench: Callable[..., Bench]) -> None:
    """Their own where they have one."""
    made = bench()
    made.load.send(2)
    made.load.send(2, Draft("superseded", key=b"mine"))
    assert [each[3] for each in made.producers.of("none").sent] == [str(Token(7, 2, 0, 0)).encode(), b"mine"]


def test_what_cannot_be_decoded_has_one_item(bench: Callable[..., Bench]) -> None:
    """There are no items in it that could be told apart."""
    made = bench()
    made.load.send(0, Draft("poison"))
    assert made.lines[0]["items"] == 1
    assert list(made.load.take_sent().values()) == [1]


def test_a_transaction_is_one_of_records_or_of_nothing(bench: Callable[..., Bench]) -> None:
    """What is aborted is written down as such, and nobody waits for it."""
    made = bench()
    made.load.transaction(0, 3, commit=True)
    made.load.transaction(0, 3, commit=False)
    assert made.producers.transactional.transactions == [True, False]
    assert [line["kind"] for line in made.lines] == ["data"] * 3 + ["aborted"] * 3
    assert len(made.load.take_sent()) == 3


@pytest.mark.parametrize(
    ("kind", "finished", "passed"),
    [
        ("data", True, True),
        ("tombstone", False, True),
        ("empty", False, True),
        ("aborted", False, False),
        ("superseded", False, False),
        ("early", False, False),
    ],
)
def test_who_waits_for_what(kind: Kind, finished: bool, passed: bool, bench: Callable[..., Bench]) -> None:  # noqa: FBT001 - columns of the table
    """Some records must be finished, the commit must pass some more, and nobody waits for the others."""
    made = bench()
    made.load.send(0, Draft(kind, partition=1))
    assert bool(made.load.take_sent()) is finished
    assert made.load.ends() == ({("owned", 1): 1} if passed else {})


@pytest.mark.parametrize(
    ("policy", "finished", "passed"),
    [("dead_letter", True, True), ("skip", False, True), ("hold", False, False), (None, False, False)],
)
def test_who_waits_for_what_cannot_be_decoded(
    policy: Policy | None,
    finished: bool,  # noqa: FBT001 - a column of the table
    passed: bool,  # noqa: FBT001 - a column of the table
    bench: Callable[..., Bench],
) -> None:
    """It depends on what the implementation does with it."""
    made = bench(policy)
    made.load.send(0, Draft("poison", partition=1))
    assert bool(made.load.take_sent()) is finished
    assert bool(made.load.ends()) is passed


def test_nobody_waits_for_what_is_behind_a_record_that_is_held(bench: Callable[..., Bench]) -> None:
    """In its partition; what was before it, and other partitions, must be finished all the same."""
    made = bench("hold")
    made.load.send(0, Draft(partition=0))
    made.load.send(0, Draft("poison", partition=0))
    made.load.send(0, Draft(partition=0))
    made.load.send(0, Draft(partition=1))
    assert len(made.load.take_sent()) == 2
    assert made.load.ends() == {("owned", 0): 1, ("owned", 1): 1}


def test_nobody_waits_for_records_that_nobody_owns(bench: Callable[..., Bench]) -> None:
    """They are written down, and get no canary."""
    made = bench()
    made.load.send(3)
    made.load.canaries()
    assert [line["topic"] for line in made.lines].count(3) == 1
    assert len(made.load.take_sent()) == 2 + 3 + 1


def test_a_topic_that_is_not_there_gets_no_load_before_it_is(bench: Callable[..., Bench]) -> None:
    """Its partitions are known when its producers know them."""
    made = bench()
    made.load.rates({4: 1000.0})
    assert ("late", 0) not in made.load.partitions
    made.producers.of("none").known = 2
    made.load.has(4, 2)
    assert made.load.partitions[-2:] == [("late", 0), ("late", 1)]
    made.load.send(4, count=3)
    assert [each[:2] for each in made.producers.of("none").sent] == [("late", 0), ("late", 1), ("late", 0)]


def test_a_record_is_found_by_its_place_when_kafka_has_it(bench: Callable[..., Bench]) -> None:
    """Topic number, partition and offset."""
    made = bench()
    made.load.send(0, count=3)
    assert made.load.place(Token(7, 0, 0, 1).record) == (0, 0, 1)
    assert made.load.place(Token(7, 0, 0, 9).record) is None


def test_a_record_that_kafka_refuses_fails_the_harness(bench: Callable[..., Bench]) -> None:
    """It is not the implementation's fault that it does not arrive."""
    made = bench()
    made.producers.of("none").refuses = True
    made.load.send(0)
    with pytest.raises(HarnessError, match="Kafka refused a record of the load: too large"):
        made.load.flush(1)


@pytest.mark.parametrize("step", range(30))
def test_a_load_ends_wherever_its_rates_were_broken_off(step: int, tmp_path: Path) -> None:
    """Ctrl-C at any step, also between two of a lock's own: the schedule is not waited for in vain."""
    with opened(tmp_path) as made:
        made.load.rates({})
        with suppress(KeyboardInterrupt), broken_off_at(step):
            made.load.rates({})
        time.sleep(0.01)  # the schedule may have been woken, and may go back to rest
        closing = threading.Thread(target=made.load.close, daemon=True)  # a load that does not end is a red test
        closing.start()
        closing.join(10)
        assert not closing.is_alive()


@contextmanager
def broken_off_at(number: int) -> Iterator[None]:
    """Raise KeyboardInterrupt at step `number` of what the block does, where CPython looks for signals.

    A step is the begin of a function, or the end of one that is called. Nothing is raised when there are fewer. No
    garbage is collected meanwhile: it would take steps, too, and swallow what is raised in them.
    """
    left = number

    def profile(_frame: FrameType, event: str, _of: object) -> None:
        nonlocal left
        if event in {"call", "c_return"}:
            left -= 1
            if left == -1:
                sys.setprofile(None)
                time.sleep(0.01)  # other threads get on, as they do while the handler of a signal runs
                raise KeyboardInterrupt

    gc.disable()
    sys.setprofile(profile)
    try:
        yield
    finally:
        sys.setprofile(None)
        gc.enable()
