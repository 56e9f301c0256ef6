"""What all of kafka-python's clients are made with: a connection that fails leaves nothing behind."""

from __future__ import annotations

import select
import socket
import struct
import threading
from contextlib import closing
from typing import TYPE_CHECKING, Any

import psutil
import pytest
from kafka.errors import KafkaConnectionError, KafkaTimeoutError, RequestTimedOutError

from isolane.conformance.selftest.reference.fakes import config
from isolane.fixtures.processes import free_ports
from isolane.reference import kafka_client
from isolane.reference.kafka_client import (
    _Connections,
    _Network,
    _received,
    _TlsSocket,
    connection,
    unavailable,
)

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


def test_a_connection_that_is_being_made_ends_with_the_client() -> None:
    """LIF-2: a member may be told to stop as it connects to another broker; it leaves no socket to whoever follows."""
    with socket.create_server(("127.0.0.1", 0)) as silent:
        before = psutil.Process().num_fds()
        net = _Network()
        kafka = config(kafka={"brokers": [f"127.0.0.1:{silent.getsockname()[1]}"], **TLS}).kafka
        manager = _Connections(net, **connection(kafka))
        (node,) = manager.cluster.bootstrap_brokers()
        making = manager.call_soon(manager._build_transport, node, None)
        while not any(isinstance(key.fileobj, _TlsSocket) for key in net._selector.get_map().values()):
            net.poll(timeout_ms=10)
        net.close()
        assert psutil.Process().num_fds() == before, making


@pytest.mark.parametrize("end", [RequestTimedOutError, KafkaTimeoutError])
def test_the_end_of_the_search_hides_no_cause(end: type[Exception]) -> None:
    """OPS-2: the last connection may be given up as it begins, when the time to find a broker is over."""
    with closing(_Network()) as net:
        manager = _Connections(net, **connection(config(kafka={"brokers": ["127.0.0.1:1", "127.0.0.1:2"]}).kafka))
        one, other = sorted(manager.cluster.bootstrap_brokers(), key=lambda node: node.port)
        manager._failed(one, end("at first"))
        manager._failed(one, KafkaConnectionError("the cause"))
        manager._failed(one, end("at last"))
        manager._failed(other, end("a silent one"))
        assert [told.split("Error: ")[1] for told in manager.failures.values()] == ["the cause", "a silent one"]


class CountedSocket(socket.socket):
    """Counts how often it is read."""

    reads = 0

    def recv(self, *how: int) -> bytes:
        """Read as any socket does."""
        self.reads += 1
        return super().recv(*how)


@pytest.fixture
def connected() -> Iterator[tuple[CountedSocket, socket.socket]]:
    """A connection as the client has it, and its other end."""
    with socket.create_server(("127.0.0.1", 0)) as server, CountedSocket() as own:
        own.connect(server.getsockname())
        own.settimeout(0)
        other, _ = server.accept()
        with other:
            yield own, other


def test_a_fetch_is_read_in_few_parts(connected: tuple[CountedSocket, socket.socket]) -> None:
    """ISO-7: at each the interpreter is let go of, and in a drain the next turn is far away."""
    own, other = connected
    sender = threading.Thread(target=other.sendall, args=[bytes(200_000)])
    sender.start()
    received = 0
    while received < 200_000:
        assert select.select([own], [], [], 10)[0]
        part, trouble = _received(own)
        assert trouble is None
        received += len(part)
    sender.join()
    assert own.reads < 200_000 / 4096 / 2


def test_what_comes_with_the_end_of_a_connection_is_read(connected: tuple[CountedSocket, socket.socket]) -> None:
    """OPS-2: it may be why a broker lets nobody in; the end is found after it."""
    own, other = connected
    assert _received(own) == (b"", None)
    other.sendall(b"last words")
    other.close()
    assert select.select([own], [], [], 10)[0]
    assert _received(own) == (b"last words", None)
    assert select.select([own], [], [], 10)[0]
    words, trouble = _received(own)
    assert words == b""
    assert isinstance(trouble, KafkaConnectionError)


def test_a_connection_that_was_reset_has_failed(connected: tuple[CountedSocket, socket.socket]) -> None:
    """LIF-4: the client connects anew, whatever the system calls it."""
    own, other = connected
    other.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    other.close()
    assert select.select([own], [], [], 10)[0]
    assert isinstance(_received(own)[1], KafkaConnectionError)


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
