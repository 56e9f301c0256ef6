"""The suite's Kafka clients: a broker that is back is found soon, however long it was away."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

import pytest

from isolane.conformance.broker import Broker, UnreadableError, connected
from isolane.conformance.producer import Producer
from isolane.conformance.reader import Reader
from isolane.conformance.selftest.reference.kafka_bench import refusing
from isolane.fixtures.services import Kafka

AWAY = 20.0
"""Seconds after which a client that waits twice as long each time waits for about as long again."""

SOON = 8.0


@refusing
@pytest.mark.usefixtures("refused_connections")
@pytest.mark.nightly
def test_a_broker_that_is_back_is_found_soon(tmp_path: Path) -> None:
    """By who writes, who reads and who observes: nobody else may be blamed for what they miss."""
    with Kafka.native(tmp_path / "kafka") as kafka, connected(kafka.bootstrap) as broker:
        broker.create_topics({"one": 1})
        producer, reader = Producer(kafka.bootstrap), Reader(kafka.bootstrap)
        producer.learn(["one"])
        reader.read(["one"])
        kafka.kill()
        time.sleep(AWAY)
        kafka.start()
        back = time.monotonic()
        with connected(kafka.bootstrap) as another:
            another.add_partitions("one", 2)
        producer.await_partitions("one", 2, SOON)
        _until_it_answers(lambda: reader.read(["one"]))
        _until_it_answers(lambda: _ends(broker))
        assert time.monotonic() - back < SOON
        producer.close()
        reader.close()


def _ends(broker: Broker) -> object:
    return broker.ends([("one", 0)])


def _until_it_answers(ask: Callable[[], object]) -> None:
    end = time.monotonic() + 60
    while True:
        try:
            ask()
        except UnreadableError:
            assert time.monotonic() < end
        else:
            return
