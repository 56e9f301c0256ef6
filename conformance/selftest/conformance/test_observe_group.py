"""The observer of the group: each change of it, once, with how often it was formed anew where that may be seen."""

from __future__ import annotations

import time
import uuid
from collections.abc import Iterator, Mapping
from contextlib import closing, nullcontext, suppress
from pathlib import Path
from typing import Any, cast

import pytest
from kafka import KafkaConsumer

from isolane.conformance.broker import Broker, GroupDescription, UnreadableError
from isolane.conformance.history_files import HistoryWriter, Line, read_lines
from isolane.conformance.observe_group import GroupObserver, generation_of
from isolane.fixtures.services.kafka import Kafka

M0, BOTH = {"m0": (("t", 0), ("other", 0))}, {"m0": (("t", 0),), "m1": (("t", 1),)}


class Described:
    """A broker whose group is as it is told, once a reading; None: the coordinator does not answer."""

    bootstrap = ""

    def __init__(self, *answers: GroupDescription | None) -> None:
        """Remember the answers."""
        self._answers = list(answers)

    def group(self, _name: str) -> GroupDescription:
        """The next answer."""
        answer = self._answers.pop(0)
        if answer is None:
            raise UnreadableError("no coordinator")
        return answer


class Counted:
    """Generations as they are told."""

    def __init__(self, *generations: int) -> None:
        """Remember them."""
        self._generations = list(generations)

    def latest(self) -> int:
        """The next one."""
        return self._generations.pop(0)


def observed(answers: list[GroupDescription | None], generations: list[int]) -> list[Mapping[str, Any]]:
    """What is written of these readings."""
    written: list[Mapping[str, Any]] = []

    class Lines:
        def write(self, line: Mapping[str, Any]) -> None:
            written.append(line)

    observer = GroupObserver(
        cast("Any", Described(*answers)), "g", {"t": 7}, cast("Any", Lines()), cast("Any", Counted(*generations))
    )
    for answer in answers:
        with nullcontext() if answer else pytest.raises(UnreadableError):
            observer.read()
    return written


def test_a_group_is_told_of_when_it_changes() -> None:
    """A reading that says the same, or could not be made, writes nothing; topics of others are left out."""
    first, then = GroupDescription("Stable", M0), GroupDescription("Stable", BOTH)
    written = observed([first, first, None, GroupDescription("PreparingRebalance", {}), then], [1] * 4)
    assert [(line["state"], line["members"]) for line in written] == [
        ("Stable", {"m0": ["7/0"]}),
        ("PreparingRebalance", {}),
        ("Stable", {"m0": ["7/0"], "m1": ["7/1"]}),
    ]


def test_a_rebalance_that_nobody_saw_is_told_by_its_generation() -> None:
    """The same members have the same partitions, and the group was formed anew between two readings."""
    written = observed([GroupDescription("Stable", M0)] * 3, [4, 4, 5])
    assert [line["generation"] for line in written] == [4, 5]


@pytest.mark.parametrize(
    ("key", "value", "generation"),
    [
        (b"\x00\x02\x00\x01g", b"\x00\x03\x00\x08consumer\x00\x00\x00\x07\x00\x05range", 7),
        (b"\x00\x02\x00\x01g", b"\x00\x03\x00\x00\x00\x00\x00\x00\xff\xff", 0),
        (b"\x00\x02\x00\x01g", b"\x00\x04\x09consumer\x00\x00\x00\x07\x06range", 7),
        (b"\x00\x03\x00\x01g", b"\x00\x00\x00\x00\x01\x02", 258),
    ],
    ids=["classic", "new", "flexible", "consumer"],
)
def test_generations_are_read_from_what_kafka_keeps(key: bytes, value: bytes, generation: int) -> None:
    """Of groups of the classic protocol in both forms that there are, and of the newer one."""
    assert generation_of(key, value) == generation


@pytest.fixture(scope="module")
def kafka(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Kafka]:
    """A broker."""
    with Kafka.native(tmp_path_factory.mktemp("kafka")) as kafka:
        yield kafka


@pytest.mark.services
def test_a_real_group_is_followed_from_its_beginning(kafka: Kafka, tmp_path: Path) -> None:
    """Nobody, then one member with both partitions, then nobody again, with generations that rise."""
    name = f"followed-{uuid.uuid4().hex[:8]}"
    path = tmp_path / "groups.ndjson"
    with (
        closing(Broker(kafka.bootstrap)) as broker,
        HistoryWriter(path) as states,
        closing(GroupObserver.of(broker, name, {name: 0}, states)) as observer,
    ):
        broker.create_topics({name: 2})
        _read_until(observer, path, lambda line: not line["members"])
        with closing(KafkaConsumer(name, bootstrap_servers=kafka.bootstrap, group_id=name)) as consumer:
            while not consumer.assignment():
                consumer.poll(10)
            _read_until(observer, path, lambda line: list(line["members"].values()) == [["0/0", "0/1"]])
        _read_until(observer, path, lambda line: not line["members"] and (line["generation"] or 0) > 1)
        generations = [line["generation"] for _, line in read_lines(path) if line["generation"] is not None]
    assert generations == sorted(generations)


def _read_until(observer: GroupObserver, path: Path, wanted: Any) -> None:  # noqa: ANN401 - of a line
    """Read until the last line is as wanted; a new Kafka has no coordinator before it is asked for the first time."""
    deadline = time.monotonic() + 20
    lines: list[Line] = []
    while not (lines and wanted(lines[-1])):
        assert time.monotonic() < deadline, f"the group never was as it should be: {lines}"
        with suppress(UnreadableError):
            observer.read()
        lines = [line for _, line in read_lines(path)]
