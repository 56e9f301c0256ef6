"""Attempts over TLS: trust, and deadlines at every stage of a connection."""

from __future__ import annotations

import os
import socket
import ssl
import threading
from pathlib import Path
from typing import TYPE_CHECKING

import orjson
import pytest
import trustme

from isolane.conformance.selftest.reference.raw_server import http, read_request, serving
from isolane.reference.config import Elasticsearch
from isolane.reference.exporter import Exporter
from isolane.reference.otlp import Document
from isolane.reference.outcome import Outcome
from isolane.reference.runtime import Runtime

if TYPE_CHECKING:
    from collections.abc import Callable

    from isolane.conformance.selftest.reference.raw_server import Answer

LONG = 30.0  # seconds: no test waits so long unless it fails
SHORT = 0.3  # seconds: a deadline that a test waits for
DOCUMENTS = [Document("logs-otlp", f"topic:0:0:{position}", b"{}") for position in range(3)]
ACCEPTANCE = orjson.dumps(
    {"errors": False, "items": [{"create": {"_id": each.id, "status": 201}} for each in DOCUMENTS]}
)


class Identity:
    """A certificate authority of the tests' own, and a certificate for loopback that it has signed."""

    def __init__(self, folder: Path) -> None:
        """Make both; the authority's certificate goes to `folder`."""
        authority = trustme.CA()
        self.ca_file = folder / "ca.pem"
        authority.cert_pem.write_to_path(self.ca_file)
        self.context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        authority.issue_cert("127.0.0.1").configure_cert(self.context)

    def secured(self, answer: Answer) -> Answer:
        """Return what shakes hands first and then answers."""

        def talk(connection: socket.socket) -> None:
            with self.context.wrap_socket(connection, server_side=True) as tls:
                answer(tls)

        return talk

    def exporter(self, url: str, *, trusted: bool = True) -> Exporter:
        """Return an exporter for this server, over TLS."""
        ca_file = self.ca_file if trusted else None
        cluster = Elasticsearch(endpoints=(url.replace("http:", "https:"),), ca_file=ca_file)
        return Exporter(cluster, Runtime(crash=_crash))


@pytest.fixture(scope="module")
def identity(tmp_path_factory: pytest.TempPathFactory) -> Identity:
    """The servers' identity."""
    return Identity(tmp_path_factory.mktemp("identity"))


def _crash(name: str, error: Exception) -> None:
    raise AssertionError(f"thread {name} ended") from error


def accept_all(connection: socket.socket) -> None:
    """Accept every request of a connection."""
    while True:
        read_request(connection)
        connection.sendall(http(ACCEPTANCE))


def test_documents_are_accepted_over_one_connection(identity: Identity) -> None:
    """Attempts one after another share a connection, and its handshake."""
    connections = []

    def count(connection: socket.socket) -> None:
        connections.append(connection)
        accept_all(connection)

    with serving(identity.secured(count)) as url:
        client = identity.exporter(url)
        outcomes = [list(client.attempt(DOCUMENTS, timeout=LONG).items) for _ in range(3)]
        client.close()
    assert outcomes == [[Outcome.ACCEPTED] * 3] * 3
    assert len(connections) == 1


def test_cluster_that_is_not_trusted_gets_nothing(identity: Identity) -> None:
    """A certificate that no known authority has signed is refused, and the reason says so."""
    with serving(identity.secured(accept_all)) as url:
        client = identity.exporter(url, trusted=False)
        reply = client.attempt(DOCUMENTS, timeout=LONG)
        client.close()
    assert reply.request is Outcome.RETRYABLE
    assert "certificate verify failed" in reply.reason


Over = threading.Event


def _trickled_handshake(connection: socket.socket, over: Over) -> None:
    connection.recv(1)
    for byte in b"\x16\x03\x03\x40\x00" + bytes(0x4000):
        connection.sendall(bytes([byte]))
        if over.wait(0.05):
            return


def _trickled_head(connection: socket.socket, over: Over) -> None:
    read_request(connection)
    connection.sendall(b"HTTP/1.1 200 OK\r\n")
    while not over.wait(0.05):
        connection.sendall(b"x-more: and more\r\n")


def _no_answer(connection: socket.socket, over: Over) -> None:
    read_request(connection)
    over.wait(LONG)


def _no_reading(_: socket.socket, over: Over) -> None:
    over.wait(LONG)


@pytest.mark.parametrize(
    ("answer", "handshake"),
    [
        pytest.param(_no_reading, False, id="no handshake"),
        pytest.param(_trickled_handshake, False, id="handshake that trickles"),
        pytest.param(_no_answer, True, id="no answer"),
        pytest.param(_trickled_head, True, id="headers that trickle"),
        pytest.param(_no_reading, True, id="body that nobody reads"),
    ],
)
def test_deadline_holds_at_every_stage(
    identity: Identity,
    answer: Callable[[socket.socket, Over], None],
    handshake: bool,  # noqa: FBT001 - a column of the table
) -> None:
    """From the handshake to the last byte, all of it together ends by the deadline (DEL-6)."""
    large, over = Document("logs-otlp", "a", os.urandom(4 * 1024**2)), threading.Event()

    def talk(connection: socket.socket) -> None:
        answer(connection, over)

    with serving(identity.secured(talk) if handshake else talk) as url:
        client = identity.exporter(url)
        reply = client.attempt([large], timeout=SHORT)
        over.set()
        client.close()
    assert reply.request is Outcome.RETRYABLE
    assert reply.reason == "no whole answer in time (0.3s)"


@pytest.mark.parametrize("in_handshake", [True, False])
def test_attempt_can_be_cut_at_every_stage(
    identity: Identity,
    in_handshake: bool,  # noqa: FBT001 - a parameter of the table
) -> None:
    """An attempt ends when it is cut, also while it shakes hands."""
    stalled = threading.Event()

    def stall(connection: socket.socket) -> None:
        if in_handshake:
            connection.recv(1)
        else:
            read_request(connection)
        stalled.set()
        while connection.recv(65536):
            pass

    with serving(stall if in_handshake else identity.secured(stall)) as url:
        client = identity.exporter(url)
        replies = []
        attempt = threading.Thread(target=lambda: replies.append(client.attempt(DOCUMENTS, timeout=LONG)))
        attempt.start()
        assert stalled.wait(LONG)
        client.cut()
        attempt.join(LONG)
        client.close()
    assert replies[0].request is Outcome.RETRYABLE
    assert replies[0].reason == "cut"
