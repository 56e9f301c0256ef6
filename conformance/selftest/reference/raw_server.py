"""A server of raw bytes for one test: each connection is handed to a function that answers as badly as it likes."""

from __future__ import annotations

import socket
import threading
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    Answer = Callable[[socket.socket], None]

OK = b"HTTP/1.1 200 OK\r\nx-elastic-product: Elasticsearch\r\ncontent-type: application/json\r\n"


@contextmanager
def serving(answer: Answer) -> Iterator[str]:
    """Call `answer` with each connection, in a thread of its own, and yield the server's URL.

    A connection is closed when `answer` returns, and all are when the context ends.
    """
    listener = socket.create_server(("127.0.0.1", 0))
    connections: list[socket.socket] = []
    threads: list[threading.Thread] = []

    def talk(connection: socket.socket) -> None:
        with connection, suppress(OSError):
            answer(connection)

    def accept() -> None:
        with suppress(OSError):
            while True:
                connection, _ = listener.accept()
                connections.append(connection)
                threads.append(threading.Thread(target=talk, args=(connection,)))
                threads[-1].start()

    acceptor = threading.Thread(target=accept)
    acceptor.start()
    try:
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"
    finally:
        listener.shutdown(socket.SHUT_RDWR)
        listener.close()
        acceptor.join()
        for connection in connections:
            with suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)
        for thread in threads:
            thread.join()


def read_request(connection: socket.socket) -> bytes:
    """Return the head and body of one request; raises OSError when the client goes away before."""
    data = b""
    while b"\r\n\r\n" not in data:
        data += _received(connection)
    head, _, body = data.partition(b"\r\n\r\n")
    length = next(
        int(line.split(b":")[1]) for line in head.split(b"\r\n") if line.lower().startswith(b"content-length")
    )
    while len(body) < length:
        body += _received(connection)
    return head + b"\r\n\r\n" + body


def _received(connection: socket.socket) -> bytes:
    data = connection.recv(65536)
    if not data:
        raise ConnectionResetError
    return data


def http(body: bytes, head: bytes = OK) -> bytes:
    """Return a whole answer with its length."""
    return head + f"content-length: {len(body)}\r\n\r\n".encode() + body
