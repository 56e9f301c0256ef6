"""One endpoint of a cluster, as the Elasticsearch client's transport sees it: HTTP with a total deadline."""

from __future__ import annotations

from collections import deque
from http.client import HTTPConnection, HTTPException, IncompleteRead
from typing import TYPE_CHECKING

from elastic_transport import ApiResponseMeta, BaseNode, ConnectionTimeout, HttpHeaders, NodeConfig
from elastic_transport import ConnectionError as NoAnswer
from elastic_transport._node import NodeApiResponse
from elastic_transport.client_utils import DEFAULT, DefaultType
from urllib3.util.wait import wait_for_read

from isolane.reference.deadline import Deadline, DeadlineSocket, DeadlineTlsSocket, connect
from isolane.reference.outcome import REPLY_LIMIT

if TYPE_CHECKING:
    import ssl
    from collections.abc import Mapping

_PART = 64 * 1024


class Connection(HTTPConnection):
    """A connection that lasts for many attempts, each with a deadline of its own."""

    sock: DeadlineSocket | DeadlineTlsSocket | None

    def __init__(self, host: str, port: int, tls: ssl.SSLContext | None) -> None:
        """Connect later, at the first exchange."""
        super().__init__(host, port)
        self._tls = tls
        self._deadline: Deadline | None = None

    def connect(self) -> None:
        """Open the connection for the exchange under way; the base class calls this when it sends."""
        assert self._deadline is not None
        self.sock = connect(self.host, self.port, self._deadline, self._tls)
        self.sock.deadline = self._deadline

    def close(self) -> None:
        """Close the connection; no attempt can be cut by it any more."""
        if self._deadline is not None:
            self._deadline.hold(None)
        super().close()

    def exchange(
        self, method: str, target: str, body: bytes | None, headers: Mapping[str, str], deadline: Deadline
    ) -> tuple[int, HttpHeaders, bytes]:
        """Return the status, headers and body of the answer; blocks until the deadline at most.

        Of a body that is longer than `REPLY_LIMIT` somewhat more than that is returned.

        Raises:
            OSError: the connection failed, the time is over (TimeoutError), or the attempt was cut (AttemptCut).
            HTTPException: the answer is not HTTP, or not whole.
            ValueError: no resolver takes such a host.
        """
        if self.sock is not None and wait_for_read(self.sock, timeout=0):
            self.close()  # the other side closed it, or sent what nobody asked for
        self._deadline = deadline
        if self.sock is not None:
            self.sock.deadline = deadline
            deadline.hold(self.sock)
        self._send(method, target, body, headers)
        sock = self.sock
        response = self.getresponse()
        deadline.hold(sock)  # again: when it is the last answer, the base class has closed the connection
        try:
            content = bytearray()
            # Part by part: of a chunk of negative size `read` takes all there is, or raises ValueError.
            while len(content) <= REPLY_LIMIT and (part := response.read1(_PART)):
                content += part
        finally:
            deadline.hold(None)
            response.close()
        if len(content) > REPLY_LIMIT:
            self.close()  # the rest is still to come
        elif response.length:
            raise IncompleteRead(bytes(content), response.length)
        return response.status, HttpHeaders(response.getheaders()), bytes(content)

    def _send(self, method: str, target: str, body: bytes | None, headers: Mapping[str, str]) -> None:
        try:
            self.request(method, target, body, headers)
        except (BrokenPipeError, ConnectionResetError):
            # A server may refuse a body before it has read it all: its answer says more than the broken pipe.
            if self.sock is None:
                raise


class DeadlineNode(BaseNode):
    """Connections to one endpoint: as many as there are attempts at once, kept for the next ones."""

    def __init__(self, config: NodeConfig) -> None:
        """Connect later, at the first request."""
        super().__init__(config)
        self._idle: deque[Connection] = deque()  # appended to and popped from without a lock: both are atomic
        self._closed = False

    def perform_request(
        self,
        method: str,
        target: str,
        body: bytes | None = None,
        headers: HttpHeaders | None = None,
        request_timeout: DefaultType | float | None = DEFAULT,
    ) -> NodeApiResponse:
        """Do one exchange; `request_timeout` is the attempt's `Deadline`.

        Raises:
            ConnectionTimeout: there was no whole answer within the deadline.
            NoAnswer: the connection failed, the answer is not HTTP, or the attempt was cut.
        """
        assert isinstance(request_timeout, Deadline)
        connection = self._connection()
        all_headers = {**self.headers, **(headers or {})}
        try:
            status, answer_headers, content = connection.exchange(
                method, f"{self.path_prefix}{target}", body, all_headers, request_timeout
            )
        except TimeoutError as error:
            connection.close()
            raise ConnectionTimeout(f"no whole answer in time ({request_timeout:g}s)") from error
        except (OSError, HTTPException, ValueError) as error:
            connection.close()
            raise NoAnswer(f"no answer: {type(error).__name__}: {error}") from error
        self._keep(connection)
        meta = ApiResponseMeta(status, "1.1", answer_headers, request_timeout.elapsed(), self.config)
        return NodeApiResponse(meta, content)

    def close(self) -> None:
        """Close the connections; those in use are closed when their exchange has ended."""
        self._closed = True
        while self._idle:
            self._idle.pop().close()

    def _connection(self) -> Connection:
        try:
            return self._idle.pop()
        except IndexError:
            return Connection(self.host, self.port, self.config.ssl_context)

    def _keep(self, connection: Connection) -> None:
        self._idle.append(connection)
        if self._closed:
            self.close()
