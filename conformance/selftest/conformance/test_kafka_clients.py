"""The suite's Kafka clients: a broker that is back is found soon, and one that is away costs nothing."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import psutil
import pytest
from kafka.errors import KafkaConnectionError
from kafka.net.inet import create_connection
from kafka.net.selector import NetworkSelector

from isolane.conformance.broker import Broker, UnreadableError, connected
from isolane.conformance.kafka_clients import CONNECTING
from isolane.conformance.producer import Producer
from isolane.conformance.reader import Reader
from isolane.fixtures.processes import free_ports
from isolane.fixtures.services import Kafka

AWAY = 20.0
"""Seconds after which a client that waits twice as long each time waits for about as long again."""

SOON = 8.0


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


@pytest.mark.parametrize("until", [None, 0.0], ids=["refused", "too late"])
def test_a_connection_that_fails_leaves_no_socket(until: float | None) -> None:
    """Not even as long as somebody knows why it failed: in an outage they would add up, and warn where nobody asked."""
    (port,) = free_ports(1)
    with closing(NetworkSelector()) as net:
        before = psutil.Process().num_fds()
        with pytest.raises(KafkaConnectionError) as failure:
            net.run(create_connection, net, "127.0.0.1", port, (), CONNECTING["proxy_url"], until)
        assert psutil.Process().num_fds() == before, failure


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
