"""The total deadline of one attempt, kept by the sockets themselves (DEL-6).

HTTP clients count their time-outs anew for each read, so that a reply which trickles in, headers included, can last
for ever. Here each operation on the socket is given the time that is left of the whole attempt. The same object
ends an attempt from another thread, by shutting its socket down under it.
"""

from __future__ import annotations

import socket
import ssl
from contextlib import suppress
from typing import TYPE_CHECKING, Self

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer, WriteableBuffer

    from isolane.reference.runtime import Runtime


class AttemptCut(OSError):  # noqa: N818 - named for the fact
    """The attempt was ended early by this process."""


class Deadline(float):
    """The time of one attempt: as a number, its length in seconds.

    A number, because that is what the Elasticsearch client takes for a time-out and hands, untouched, to the node that
    does the exchange.

    Attributes:
        is_cut: Whether the attempt was ended early.
    """

    def __new__(cls, seconds: float, runtime: Runtime) -> Self:  # noqa: ARG004 - `__init__` uses it
        """Make the number."""
        return super().__new__(cls, seconds)

    def __init__(self, seconds: float, runtime: Runtime) -> None:  # noqa: ARG002 - `__new__` used it
        """Begin to count now."""
        self._now = runtime.now
        self._began = runtime.now()
        self._lock = runtime.lock()  # guards the two below
        self.is_cut = False
        self._socket: socket.socket | None = None

    def remaining(self) -> float:
        """Return the seconds that are left, more than none.

        Raises:
            TimeoutError: none are left.
            AttemptCut: the attempt was ended early.
        """
        if self.is_cut:
            raise AttemptCut
        remaining = self - self.elapsed()
        if remaining <= 0:
            raise TimeoutError("over")
        return remaining

    def elapsed(self) -> float:
        """Return the seconds since the attempt began."""
        return self._now() - self._began

    def hold(self, sock: socket.socket | None) -> None:
        """Take the socket that the attempt uses from now on, or None when it no longer does."""
        with self._lock:
            self._socket = sock

    def cut(self) -> None:
        """End the attempt as soon as possible, from any thread; it does not block."""
        with self._lock:
            self.is_cut = True
            if self._socket is not None:
                with suppress(OSError):
                    # Not the method of a TLS socket, which is not safe beside a read in another thread.
                    socket.socket.shutdown(self._socket, socket.SHUT_RDWR)


class DeadlineSocket(socket.socket):
    """A connection whose operations end, all together, by the deadline of the attempt that uses it."""

    deadline: Deadline

    def recv_into(self, buffer: WriteableBuffer, nbytes: int = 0, flags: int = 0) -> int:
        """Receive as the base class does; raises what `Deadline.remaining` raises."""
        self.settimeout(self.deadline.remaining())
        return super().recv_into(buffer, nbytes, flags)

    def sendall(self, data: ReadableBuffer, flags: int = 0) -> None:
        """Send as the base class does, whose time-out is for all data together; raises as `recv_into` does."""
        self.settimeout(self.deadline.remaining())
        super().sendall(data, flags)


class DeadlineTlsSocket(ssl.SSLSocket):
    """The same with TLS; the base class sends all data through `send`."""

    deadline: Deadline

    def recv_into(self, buffer: WriteableBuffer, nbytes: int | None = None, flags: int = 0) -> int:
        """Receive as the base class does; raises what `Deadline.remaining` raises."""
        self.settimeout(self.deadline.remaining())
        return super().recv_into(buffer, nbytes, flags)

    def send(self, data: ReadableBuffer, flags: int = 0) -> int:
        """Send as the base class does; raises as `recv_into` does."""
        self.settimeout(self.deadline.remaining())
        return super().send(data, flags)


def connect(host: str, port: int, deadline: Deadline, tls: ssl.SSLContext | None) -> DeadlineSocket | DeadlineTlsSocket:
    """Open a connection to the first address of `host` that answers; blocks until the deadline at most.

    Only the resolver, which the operating system gives no time-out to, may take longer; addresses need none.

    Args:
        host: A name or an address.
        port: Of TCP.
        deadline: Of the attempt, which can be cut at any stage.
        tls: How to secure the connection, or None; its `sslsocket_class` is `DeadlineTlsSocket`.

    Raises:
        OSError: no address answered, the certificate is not to be trusted, the time is over or the attempt was cut.
    """
    failure: OSError | None = None
    for family, kind, protocol, _, address in socket.getaddrinfo(host, port, type=socket.SOCK_STREAM):
        sock = DeadlineSocket(family, kind, protocol)
        try:
            deadline.hold(sock)
            sock.settimeout(deadline.remaining())
            sock.connect(address)
            # Headers and body leave in two writes; the second must not wait for the first one's acknowledgement.
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        except OSError as error:
            deadline.hold(None)
            sock.close()
            failure = error
        else:
            return sock if tls is None else _secured(sock, host, deadline, tls)
    raise failure or OSError(f"{host} has no address")


def _secured(sock: DeadlineSocket, host: str, deadline: Deadline, tls: ssl.SSLContext) -> DeadlineTlsSocket:
    secured = tls.wrap_socket(sock, server_hostname=host, do_handshake_on_connect=False)
    assert isinstance(secured, DeadlineTlsSocket)
    try:
        deadline.hold(secured)
        secured.settimeout(deadline.remaining())
        secured.do_handshake()
    except BaseException:
        deadline.hold(None)
        secured.close()
        raise
    return secured
