"""One tenant's cluster: one attempt at a time and an outcome for each document (design decision 10)."""

from __future__ import annotations

import base64
import ssl
import zlib
from contextlib import suppress
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import orjson
from elastic_transport import BaseNode, NodeConfig, NodePool, SerializerCollection, TransportError
from elasticsearch import Elasticsearch

from isolane.reference.deadline import Deadline, DeadlineTlsSocket
from isolane.reference.node import DeadlineNode
from isolane.reference.outcome import Outcome, Reply, judge

if TYPE_CHECKING:
    from collections.abc import Hashable, Sequence

    from isolane.reference import config
    from isolane.reference.otlp import Document
    from isolane.reference.runtime import Runtime

# What `judge` reads of a reply, and nothing else: `errors` too, which tells of a reply that contradicts itself.
_TARGET = "/_bulk?filter_path=errors,items.*._id,items.*.status,items.*.error.type,items.*.error.reason"
_HEADERS = {"content-type": "application/x-ndjson", "accept": "application/json", "content-encoding": "gzip"}
_COMPRESSION_LEVEL = 1  # on bulk bodies level 6 takes three times as long to save a twelfth of the bytes
_GZIP = 31
_CHUNK = 64 * 1024  # what is compressed at once: enough to be quick, and little beside the documents


class Exporter:
    """Sends documents to one tenant's cluster; its methods may be called from any thread.

    Connections are made when they are needed (TEN-5), one for each attempt at once, and kept for later attempts.
    Several endpoints are used in turn, and those that fail rest for a while, as the Elasticsearch client does it.
    """

    def __init__(self, cluster: config.Elasticsearch, runtime: Runtime) -> None:
        """Take the cluster's settings; nothing is connected, or read, before the first attempt."""
        self._cluster = cluster
        self._runtime = runtime
        self._lock = runtime.lock()  # guards the two below
        self._client: Elasticsearch | None = None
        self._running: dict[int, tuple[Deadline, Hashable]] = {}

    def attempt(self, documents: Sequence[Document], *, timeout: float, key: Hashable = None) -> Reply:
        """Send the documents once and return what became of them; blocks at most `timeout` seconds.

        Whatever the cluster or the network does, it is told by the reply and never raised.

        Args:
            documents: At least one; each is created under its own id.
            timeout: Seconds for all of it, a trickling answer included (DEL-6).
            key: By which `cut` can end this attempt.
        """
        deadline = Deadline(timeout, self._runtime)
        with self._lock:
            self._running[id(deadline)] = deadline, key
        try:
            meta, content = self._connected().transport.perform_request(
                "POST",
                _TARGET,
                body=bulk_body(documents),
                headers=_HEADERS,
                request_timeout=deadline,
                max_retries=0,
                retry_on_timeout=False,
            )
        except (TransportError, OSError) as error:
            reason = error.message if isinstance(error, TransportError) else str(error)
            return Reply.whole(Outcome.RETRYABLE, len(documents), "cut" if deadline.is_cut else reason)
        finally:
            with self._lock:
                del self._running[id(deadline)]
        return judge(meta.status, meta.headers, content, [document.id for document in documents])

    def cut(self, key: Hashable = None) -> None:
        """End the attempts with this key that are under way, or all of them; they become retryable. Does not block."""
        with self._lock:
            running = [deadline for deadline, own in self._running.values() if key is None or own == key]
        for deadline in running:
            deadline.cut()

    def close(self) -> None:
        """Close the connections; those of attempts under way are closed when the attempts end."""
        with self._lock:
            client = self._client
        if client is not None:
            client.close()

    def _connected(self) -> Elasticsearch:
        """Return the client, made by whoever comes first; files are read outside the lock."""
        client = self._client
        if client is None:
            made = _client(self._cluster)
            with self._lock:
                client = self._client = self._client or made
        return client


def bulk_body(documents: Sequence[Document]) -> bytes:
    """Return the gzipped body of a bulk request that creates the documents; it is compressed while it is made."""
    indices = {document.index: orjson.dumps(document.index) for document in documents}
    gzip = zlib.compressobj(_COMPRESSION_LEVEL, zlib.DEFLATED, _GZIP)
    parts: list[bytes] = []
    lines: list[bytes] = []
    size = 0
    for document in documents:
        action = b'{"create":{"_index":%b,"_id":"%b"}}' % (indices[document.index], document.id.encode())
        lines += action, document.source
        size += len(document.source)
        if size >= _CHUNK:
            parts.append(gzip.compress(b"\n".join([*lines, b""])))
            lines, size = [], 0
    return b"".join([*parts, gzip.compress(b"\n".join([*lines, b""])), gzip.flush()])


class _Nodes(NodePool):
    """Chooses again when another thread marked a node dead or alive meanwhile: the base class has no lock for that.

    Nor has this one: it would be held while the base class writes to the log.
    """

    def get(self) -> BaseNode:
        """Return the node to ask."""
        while True:
            with suppress(RuntimeError):
                return super().get()


class _Bytes(SerializerCollection):
    """Leaves bodies as they are, whatever their media type: the HTML of a proxy must not hide its status."""

    def dumps(self, data: bytes, mimetype: str | None = None) -> bytes:  # noqa: ARG002 - the base class's signature
        return data

    def loads(self, data: bytes, mimetype: str | None = None) -> bytes:  # noqa: ARG002 - the base class's signature
        return data


def _client(cluster: config.Elasticsearch) -> Elasticsearch:
    nodes = [_node(cluster, endpoint) for endpoint in cluster.endpoints]
    client = Elasticsearch(nodes, node_class=DeadlineNode, node_pool_class=_Nodes)
    client.transport.serializers = _Bytes()
    return client


def _node(cluster: config.Elasticsearch, endpoint: str) -> NodeConfig:
    url = urlsplit(endpoint)
    assert url.hostname is not None
    assert url.port is not None
    return NodeConfig(
        url.scheme,
        url.hostname,
        url.port,
        url.path,
        headers=_authorization(cluster),
        ssl_context=_tls(cluster, url.scheme),
    )


def _tls(cluster: config.Elasticsearch, scheme: str) -> ssl.SSLContext | None:
    if scheme == "http":
        return None
    context = ssl.create_default_context(cafile=cluster.ca_file)
    context.sslsocket_class = DeadlineTlsSocket
    return context


def _authorization(cluster: config.Elasticsearch) -> dict[str, str]:
    if cluster.api_key is not None:
        return {"authorization": f"ApiKey {cluster.api_key.get_secret_value()}"}
    if cluster.basic is not None:
        pair = f"{cluster.basic.username}:{cluster.basic.password.get_secret_value()}"
        return {"authorization": f"Basic {base64.b64encode(pair.encode()).decode()}"}
    return {}
