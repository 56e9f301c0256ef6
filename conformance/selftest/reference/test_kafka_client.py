"""What all of kafka-python's clients are made with: a connection that fails leaves nothing behind."""

from __future__ import annotations

import socket
import threading
from contextlib import closing
from typing import TYPE_CHECKING, Any

import psutil
import pytest
from kafka.errors import KafkaConnectionError

from isolane.conformance.selftest.reference.fakes import config
from isolane.fixtures.processes import free_ports
from isolane.reference import kafka_client
from isolane.reference.kafka_client import _Connections, _Network, connection, unavailable

if TYPE_CHECKING:
    from collections.abc import Iterator

PLAIN: dict[str, Any] = {}
TLS: dict[str, Any] = {"tls": {}}


@pytest.fixture
def refusing() -> int:
    """A port on which nobody listens."""
    return free_ports(1)[0]


@pytest.fixture
def strange() -> Iterator[int]:
    """The port of a server that answers one connection with something that is not TLS."""

    def answer() -> None:
        stream, _ = server.accept()
        with stream:
            stream.sendall(b"who is there?\n")
            stream.recv(4096)

    with socket.create_server(("127.0.0.1", 0)) as server:
        thread = threading.Thread(target=answer)
        thread.start()
        yield server.getsockname()[1]
        thread.join()


@pytest.mark.parametrize("settings", [PLAIN, TLS], ids=["plain", "tls"])
def test_a_refused_connection_leaves_no_socket(refusing: int, settings: dict[str, Any]) -> None:
    """LIF-4: an outage may last long, and each attempt would leave a descriptor until somebody collects garbage."""
    attempt(refusing, None, **settings)


def test_a_connection_that_takes_too_long_leaves_no_socket(refusing: int) -> None:
    """Likewise."""
    attempt(refusing, 0.0)


def test_a_server_that_speaks_no_tls_leaves_no_socket(strange: int) -> None:
    """Likewise."""
    attempt(strange, None, **TLS)


def test_a_server_that_is_silent_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """LIF-4: the client waits no longer for TLS than for a connection; it leaves no socket, and may try another."""
    monkeypatch.setattr(kafka_client, "_HANDSHAKE", 0.1)
    with socket.create_server(("127.0.0.1", 0)) as silent:  # the system accepts what the process does not
        assert "is silent" in attempt(silent.getsockname()[1], None, **TLS)


def attempt(port: int, until: float | None, **settings: Any) -> str:  # noqa: ANN401 - parts of a configuration
    """Fail to connect, hold on to why, which must not keep a socket open, and return it."""
    kafka = config(kafka={"brokers": [f"127.0.0.1:{port}"], **settings}).kafka
    with closing(_Network()) as net:
        manager = _Connections(net, **connection(kafka))
        (node,) = manager.cluster.bootstrap_brokers()
        before = psutil.Process().num_fds()
        with pytest.raises(KafkaConnectionError) as failure:
            net.run(manager._build_transport, node, until)
        assert psutil.Process().num_fds() == before, failure
    return str(failure.value)


@pytest.mark.parametrize(
    "end",
    [
        "EOF occurred in violation of protocol (_ssl.c:992)",
        "TLS/SSL connection has been closed (EOF) (_ssl.c:992)",
        "[SSL: UNEXPECTED_EOF_WHILE_READING] EOF occurred in violation of protocol",
    ],
)
def test_a_handshake_that_the_broker_ends_is_explained(end: str) -> None:
    """OPS-2: a listener of another protocol hangs up, and OpenSSL has several words for that."""
    told = unavailable(KafkaConnectionError(f"Handshake failed: {end}"))
    assert told.endswith(f"{end}: TLS or authentication is not what the broker expects there")
