"""What all of kafka-python's clients need: how to reach the brokers, to hear a refusal, and to be closed after it."""

from __future__ import annotations

import socket
import ssl
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any

from kafka import errors
from kafka.net.compat import KafkaNetClient
from kafka.net.inet import KafkaNetSocket
from kafka.net.manager import KafkaConnectionManager
from kafka.net.selector import NetworkSelector

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from isolane.reference.config import Kafka

REFUSED = (errors.SaslAuthenticationFailedError, errors.UnsupportedSaslMechanismError)
"""What brokers answer to whom they do not let in."""

# As long as the client takes for a connection without TLS.
_HANDSHAKE = 10.0
# What is read of a connection in one go, in bytes: a fetch.
_AT_ONCE = 256 * 1024
_OF_ANOTHER_PROTOCOL = ("socket disconnected", "Invalid frame length", "EOF occurred", "(EOF)", "IllegalSaslState")


def connection(kafka: Kafka) -> dict[str, object]:
    """Return the settings of a client by which it reaches the brokers, also soon after an outage, and authenticates."""
    settings: dict[str, object] = {
        "bootstrap_servers": list(kafka.brokers),
        "reconnect_backoff_max_ms": 1000,
        "proxy_url": "direct://",
    }
    sasl = kafka.auth.sasl
    if sasl is not None:
        settings["sasl_mechanism"] = sasl.mechanism
        settings["sasl_plain_username"] = sasl.username
        settings["sasl_plain_password"] = sasl.password.get_secret_value()
    if kafka.tls is not None:
        context = ssl.create_default_context(cafile=kafka.tls.ca_file)
        context.sslsocket_class = _TlsSocket
        settings["ssl_context"] = context
    transport = "PLAINTEXT" if kafka.tls is None else "SSL"
    settings["security_protocol"] = transport if sasl is None else f"SASL_{transport}"
    return settings


def refusal(kafka: Kafka, error: BaseException) -> str:
    """Return who was refused, how it had authenticated itself, and why; never the password (OPS-3)."""
    sasl = kafka.auth.sasl
    return f"authentication as {sasl.username!r} by {sasl.mechanism} failed: {error}" if sasl else str(error)


def unavailable(error: BaseException) -> str:
    """Return why no broker can be reached: what `closing_when_it_fails` let through, with what was wrong with one."""
    told = "; ".join([str(error), *getattr(error, "__notes__", [])])
    wrong_door = any(sign in told for sign in _OF_ANOTHER_PROTOCOL)
    return f"{told}: TLS or authentication is not what the broker expects there" if wrong_door else told


class _Direct(KafkaNetSocket):  # type: ignore[misc]  # kafka-python has no types
    """Connects without a proxy, and closes the socket of an attempt that fails.

    The client leaves it to the garbage collector: in an outage descriptors would add up. It chooses among such classes
    by the scheme of `proxy_url`.
    """

    SCHEMES = ("direct",)

    async def sock_connect(self, net: Any, sock: Any, *address: Any, **limits: Any) -> Any:  # noqa: ANN401 - as above
        """Connect, or close the socket and raise why."""
        try:
            return await super().sock_connect(net, sock, *address, **limits)
        except BaseException:
            sock.close()
            raise


class _TlsSocket(ssl.SSLSocket):
    """Closes itself when the other side is not who it should be, which is the client's business likewise."""

    _given_up = False

    def do_handshake(self, block: bool = False) -> None:  # noqa: FBT001, FBT002 - as it is inherited
        """Go on with the handshake, or close the socket and raise why."""
        if self._given_up:
            self.close()
            raise TimeoutError("the server accepts connections, and is silent")
        try:
            super().do_handshake(block)
        except (ssl.SSLWantReadError, ssl.SSLWantWriteError):
            raise
        except BaseException:
            self.close()
            raise

    def give_up(self) -> None:
        """End a handshake that goes on: whoever waits for the other side calls it once more, and it fails."""
        if self.version() is None and self.fileno() != -1:
            self._given_up = True
            socket.socket.shutdown(self, socket.SHUT_RDWR)


class _Network(NetworkSelector):  # type: ignore[misc]  # kafka-python has no types
    """The client's event loop, which gives up a server that accepts a connection and is silent when TLS begins.

    The client would wait for ever: to start, with whatever was to be sent there, and for no other broker (LIF-4).
    """

    def wait_read(self, sock: Any, *until: float | None, **limits: float | None) -> Any:  # noqa: ANN401 - as above
        """Return what waits until there is something to read."""
        if isinstance(sock, _TlsSocket) and sock.version() is None:
            self.call_later(_HANDSHAKE, sock.give_up)
        return super().wait_read(sock, *until, **limits)

    def close(self) -> None:
        """Close, with the sockets that something still waits for: those of connections that are being made, for one."""
        self.stop()
        waiting = [key.fileobj for key in (self._selector.get_map() or {}).values()]
        super().close()
        for sock in waiting:
            sock.close()


class _Connections(KafkaConnectionManager):  # type: ignore[misc]  # kafka-python has no types
    """The client's connections, which hear why a broker refuses them, and take it for an answer at the start.

    By themselves they would throw away what comes together with the end of a connection, which is how a broker refuses
    a password, and try again until the broker counts as away.

    Attributes:
        failures: Why the last connection to each broker failed, if one did.
    """

    def __init__(self, net: NetworkSelector, **settings: object) -> None:
        """See the base class."""
        super().__init__(net, **settings)
        self.failures: dict[str, str] = {}

    def _failed(self, node: Any, why: Exception) -> None:  # noqa: ANN401 - as above
        """Note why a connection failed; that the time to find a broker was over says less than what came before."""
        broker = f"{node.host}:{node.port}"
        if not (broker in self.failures and isinstance(why, errors.KafkaTimeoutError | errors.RequestTimedOutError)):
            self.failures[broker] = f"{broker}: {why}"

    async def _build_transport(self, node: Any, timeout_at: float | None = None) -> Any:  # noqa: ANN401 - as above
        transport = await super()._build_transport(node, timeout_at=timeout_at)
        transport._sock_recv = partial(_received, transport._sock)  # noqa: SLF001
        return transport

    async def _connect(self, node: Any, conn: Any, **options: object) -> None:  # noqa: ANN401 - as above
        conn.close_future.add_errback(partial(self._failed, node))
        await super()._connect(node, conn, **options)
        failure = conn.init_future.exception
        if isinstance(failure, REFUSED) and not self.bootstrapped:
            self._auth_failures[node.node_id] = failure


def _received(sock: socket.socket) -> tuple[bytes, Exception | None]:
    """Return what has come, or why nothing more will come; for the client, which would read 4 KiB at a time.

    Each reading lets go of the interpreter: while other threads work, a fetch would wait dozens of times for its turn
    (ISO-7). And what comes together with the end of a connection would be lost: the end is found by the next call.
    """
    parts: list[bytes] = []
    try:
        while part := sock.recv(_AT_ONCE):
            parts.append(part)
            if not isinstance(sock, ssl.SSLSocket):  # with TLS a part is a frame, of 16 KiB at most
                break
    except (BlockingIOError, InterruptedError, ssl.SSLWantReadError, ssl.SSLWantWriteError):
        return b"".join(parts), None
    except OSError as error:
        return b"".join(parts), None if parts else errors.KafkaConnectionError(error)
    return b"".join(parts), None if parts else errors.KafkaConnectionError("socket disconnected")


@contextmanager
def closing_when_it_fails() -> Iterator[Callable[..., Any]]:
    """Yield a maker of kafka-python's inner clients, and close what it made when an exception leaves the block.

    The outer clients do not clean up when they find no broker: their sockets and I/O threads would add up. Nor do they
    tell what was wrong with a broker: the exception gets a note of it.
    """
    made: list[tuple[Any, _Connections]] = []

    def make(**settings: object) -> Any:  # noqa: ANN401 - kafka-python has no types
        net = _Network(**settings)
        connections = _Connections(net, **settings)
        made.append((KafkaNetClient(net=net, manager=connections, **settings), connections))
        return made[-1][0]

    try:
        yield make
    except BaseException as error:
        for client, connections in made:
            for failure in connections.failures.values():
                error.add_note(failure)
            client.close()
        raise
