"""Attempts at clusters that answer, refuse, stall, trickle, lie and vanish."""

from __future__ import annotations

import os
import socket
import threading
import zlib
from itertools import count
from typing import TYPE_CHECKING, Any

import orjson
import psutil
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from isolane.conformance.selftest.reference.raw_server import OK, http, read_request, serving
from isolane.fixtures.cluster import Script, ScriptedClusters, Trickle
from isolane.reference import node
from isolane.reference.config import Elasticsearch
from isolane.reference.exporter import Exporter, bulk_body
from isolane.reference.otlp import Document
from isolane.reference.outcome import REPLY_LIMIT, Outcome, Reply
from isolane.reference.runtime import Runtime

if TYPE_CHECKING:
    from collections.abc import Iterator

    from isolane.fixtures.cluster.tenant import Counters

ACCEPTED, RETRYABLE, ENVIRONMENT = Outcome.ACCEPTED, Outcome.RETRYABLE, Outcome.ENVIRONMENT
LONG = 30.0  # seconds: no test waits so long unless it fails
SHORT = 0.3  # seconds: a deadline that a test waits for

numbers = count()


@pytest.fixture(scope="module")
def clusters(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ScriptedClusters]:
    """One server for all tests of the module."""
    with ScriptedClusters.start(tmp_path_factory.mktemp("clusters")) as clusters:
        yield clusters


@pytest.fixture
def tenant(clusters: ScriptedClusters) -> Iterator[Tenant]:
    """A tenant with a healthy cluster, and its exporter."""
    name = f"tenant-{next(numbers)}"
    tenant = Tenant(clusters, name)
    yield tenant
    tenant.exporter.close()
    clusters.remove(name)


class Tenant:
    """A scripted cluster and an exporter that delivers to it."""

    def __init__(self, clusters: ScriptedClusters, name: str) -> None:
        """Make the cluster."""
        self._clusters, self._name = clusters, name
        self.exporter = exporter(clusters.add(name))

    def script(self, script: Script) -> None:
        """Set what the cluster does."""
        self._clusters.script(self._name, script)

    @property
    def counters(self) -> Counters:
        """What the cluster saw."""
        return self._clusters.counters(self._name)


def exporter(*endpoints: str, credential: dict[str, Any] | None = None) -> Exporter:
    """Return an exporter for a cluster at these endpoints."""
    cluster = Elasticsearch(endpoints=endpoints, **(credential or {}))
    return Exporter(cluster, Runtime(crash=_crash))


def _crash(name: str, error: Exception) -> None:
    raise AssertionError(f"thread {name} ended") from error


def documents(size: int = 3, padding: int = 0) -> list[Document]:
    """Return so many documents that no test has sent before."""
    batch = next(numbers)
    source = orjson.dumps({"message": "." * padding})
    return [Document("logs-otlp", f"topic:0:{batch}:{position}", source) for position in range(size)]


def retried(reply: Reply, size: int = 3) -> bool:
    """Tell whether the whole request is to be sent again."""
    return reply.request is RETRYABLE and list(reply.items) == [RETRYABLE] * size


def test_documents_are_created_once(tenant: Tenant) -> None:
    """A replay of documents that the cluster has is accepted, and makes no second documents (DEL-9)."""
    batch = documents(500)
    first = tenant.exporter.attempt(batch, timeout=LONG)
    second = tenant.exporter.attempt(batch, timeout=LONG)
    assert first.request is None
    assert list(first.items) == list(second.items) == [ACCEPTED] * 500
    assert tenant.counters["item_statuses"] == {201: 500, 409: 500}


@pytest.mark.parametrize(
    ("status", "outcome"),
    [(429, RETRYABLE), (503, RETRYABLE), (401, ENVIRONMENT), (404, ENVIRONMENT), (400, Outcome.TOO_LARGE)],
)
def test_refused_request_has_one_outcome(tenant: Tenant, status: int, outcome: Outcome) -> None:
    """The status of the whole request decides, and `Retry-After` is passed on (DEL-2, DEL-5, DEL-7)."""
    tenant.script(Script(status=status, retry_after=7))
    reply = tenant.exporter.attempt(documents(), timeout=LONG)
    assert (reply.request, reply.retry_after) == (outcome, 7.0)


def test_page_of_a_proxy_keeps_its_status(tenant: Tenant) -> None:
    """An answer in HTML is judged by its status, not by its media type."""
    tenant.script(Script(status=413, not_json=True))
    assert tenant.exporter.attempt(documents(), timeout=LONG).request is Outcome.TOO_LARGE
    tenant.script(Script(status=403, not_json=True))
    assert tenant.exporter.attempt(documents(), timeout=LONG).request is ENVIRONMENT


def test_page_in_place_of_a_reply_is_retried(tenant: Tenant) -> None:
    """A 200 that is not JSON confirms nothing (DEL-2)."""
    tenant.script(Script(not_json=True))
    assert retried(tenant.exporter.attempt(documents(), timeout=LONG))


def test_body_over_the_limit_is_to_be_split(tenant: Tenant) -> None:
    """A 413 is for the request as a whole; one document alone is condemned by it (DEL-4)."""
    tenant.script(Script(body_limit=1000))
    together = tenant.exporter.attempt(documents(2, padding=2000), timeout=LONG)
    alone = tenant.exporter.attempt(documents(1, padding=2000), timeout=LONG)
    assert (together.request, alone.request) == (Outcome.TOO_LARGE, Outcome.CONDEMNED)


def test_each_item_has_its_own_outcome(tenant: Tenant) -> None:
    """Inside a 200 the statuses of items are paired with their documents (DEL-3)."""
    tenant.script(Script(items=(201, 429, 400, 403, 503)))
    reply = tenant.exporter.attempt(documents(5), timeout=LONG)
    assert list(reply.items) == [ACCEPTED, RETRYABLE, Outcome.CONDEMNED, ENVIRONMENT, RETRYABLE]
    assert sorted(reply.reasons) == [1, 2, 3, 4]


def test_reply_that_contradicts_itself_confirms_only_what_it_states(tenant: Tenant) -> None:
    """`errors: false` beside items that failed does not make them accepted (DEL-3)."""
    tenant.script(Script(items=(201, 429, 503), contradict=True))
    assert list(tenant.exporter.attempt(documents(), timeout=LONG).items) == [ACCEPTED, RETRYABLE, RETRYABLE]


def test_items_missing_in_the_reply_are_retried(tenant: Tenant) -> None:
    """A reply with too few items says nothing of the rest (DEL-3)."""
    tenant.script(Script(short_reply=2))
    assert list(tenant.exporter.attempt(documents(), timeout=LONG).items) == [ACCEPTED, RETRYABLE, RETRYABLE]


@pytest.mark.parametrize(
    "script",
    [
        pytest.param(Script(black_hole=True), id="black hole"),
        pytest.param(Script(latency=LONG), id="slow"),
        pytest.param(Script(trickle=Trickle(size=1, interval=0.05)), id="trickle"),
    ],
)
def test_silence_becomes_a_retry_at_the_deadline(tenant: Tenant, script: Script) -> None:
    """Each attempt has a total deadline, which a trickling reply does not stretch (DEL-6)."""
    tenant.script(script)
    reply = tenant.exporter.attempt(documents(), timeout=SHORT)
    assert retried(reply)
    assert reply.reason == "no whole answer in time (0.3s)"


@pytest.mark.parametrize(
    "script",
    [
        pytest.param(Script(refuse=True), id="refused"),
        pytest.param(Script(reset_after=0), id="reset before the body"),
        pytest.param(Script(reset_after=20), id="reset in the body"),
        pytest.param(Script(lose_reply=True), id="reply lost"),
    ],
)
def test_broken_connection_is_retried_and_the_next_attempt_succeeds(tenant: Tenant, script: Script) -> None:
    """What breaks a connection costs one attempt; nothing has to be restarted (DEL-2)."""
    batch = documents()
    tenant.script(script)
    broken = tenant.exporter.attempt(batch, timeout=LONG)
    tenant.script(Script())
    assert retried(broken)
    assert list(tenant.exporter.attempt(batch, timeout=LONG).items) == [ACCEPTED] * 3


def test_headers_that_trickle_do_not_stretch_the_deadline() -> None:
    """Each header line may come just in time for a read: the attempt's deadline holds for all together (DEL-6)."""
    stop = threading.Event()

    def trickle(connection: socket.socket) -> None:
        read_request(connection)
        connection.sendall(b"HTTP/1.1 200 OK\r\n")
        while not stop.wait(0.05):
            connection.sendall(b"x-more: and more\r\n")

    with serving(trickle) as url:
        client = exporter(url)
        reply = client.attempt(documents(), timeout=SHORT)
        stop.set()
        client.close()
    assert retried(reply)


def test_request_that_nobody_reads_ends_at_the_deadline() -> None:
    """A body larger than all buffers on the way does not block beyond the deadline (DEL-6)."""
    stop = threading.Event()

    def ignore(_: socket.socket) -> None:
        stop.wait(LONG)

    with serving(ignore) as url:
        client = exporter(url)
        assert retried(client.attempt([Document("logs-otlp", "a", os.urandom(4 * 1024**2))], timeout=SHORT), 1)
        stop.set()
        client.close()


def test_answer_before_the_body_was_read_is_heard() -> None:
    """A server that refuses a large body at its head, and hangs up, is understood and not taken for a broken one."""

    def refuse(connection: socket.socket) -> None:
        connection.recv(4096)
        connection.sendall(b"HTTP/1.1 413 Too Large\r\ncontent-length: 0\r\nconnection: close\r\n\r\n")
        connection.shutdown(socket.SHUT_WR)
        while connection.recv(65536):
            pass

    with serving(refuse) as url:
        client = exporter(url)
        assert client.attempt(documents(100), timeout=LONG).request is Outcome.TOO_LARGE
        client.close()


def bulk_reply(batch: list[Document]) -> bytes:
    """Return the body that accepts all documents."""
    return orjson.dumps({"errors": False, "items": [{"create": {"_id": each.id, "status": 201}} for each in batch]})


def test_connection_is_used_again() -> None:
    """Attempts one after another go through one connection; attempts at once have one each."""
    batch, connections = documents(), []

    def answer_all(connection: socket.socket) -> None:
        connections.append(connection)
        while True:
            read_request(connection)
            connection.sendall(http(bulk_reply(batch)))

    with serving(answer_all) as url:
        client = exporter(url)
        for _ in range(5):
            assert list(client.attempt(batch, timeout=LONG).items) == [ACCEPTED] * 3
        client.close()
    assert len(connections) == 1


def test_connection_that_the_server_closed_is_replaced() -> None:
    """An idle connection that the server has closed costs no attempt."""
    batch, closed = documents(), threading.Event()

    def once(connection: socket.socket) -> None:
        read_request(connection)
        connection.sendall(http(bulk_reply(batch)))
        connection.shutdown(socket.SHUT_RDWR)
        closed.set()

    with serving(once) as url:
        client = exporter(url)
        for _ in range(3):
            assert list(client.attempt(batch, timeout=LONG).items) == [ACCEPTED] * 3
            assert closed.wait(LONG)
            closed.clear()
        client.close()


@pytest.mark.parametrize(
    "answer",
    [
        pytest.param(b"", id="nothing"),
        pytest.param(b"SSH-2.0-OpenSSH_9.6\r\n", id="not HTTP"),
        pytest.param(b"HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\n{}", id="cut off"),
        pytest.param(b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n2\r\n{}\r\n", id="chunks cut off"),
        pytest.param(b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nxyz\r\n", id="chunks of no size"),
        pytest.param(OK + b"transfer-encoding: chunked\r\n\r\n-1\r\n{}\r\n0\r\n\r\n", id="chunk of all there is"),
        pytest.param(OK + b"transfer-encoding: chunked\r\n\r\n-2\r\n{}\r\n0\r\n\r\n", id="chunk of less than nothing"),
        pytest.param(b"HTTP/1.1 200 OK\r\n" + b"a: b\r\n" * 200 + b"\r\n", id="too many headers"),
        pytest.param(b"HTTP/1.1 200 OK\r\n\r\n" + b" " * (REPLY_LIMIT + 1), id="endless"),
    ],
)
def test_answer_that_is_not_http_is_retried(answer: bytes) -> None:
    """Whatever comes over the wire, an attempt ends with a reply and holds no more than a bounded part of it."""

    def send(connection: socket.socket) -> None:
        read_request(connection)
        connection.sendall(answer)

    with serving(send) as url:
        client = exporter(url)
        assert retried(client.attempt(documents(), timeout=LONG))
        client.close()


def test_host_that_no_resolver_takes_is_retried() -> None:
    """What an attempt raises ends the process, and everybody's delivery: not even this may (ISO-2)."""
    cluster = Elasticsearch.model_construct(endpoints=("http://node1..example:9200",), api_key=None, basic=None)
    assert retried(Exporter(cluster, Runtime(crash=_crash)).attempt(documents(), timeout=LONG))


def test_no_more_of_an_answer_is_read_than_the_limit_whatever_a_chunk_says(monkeypatch: pytest.MonkeyPatch) -> None:
    """MEM-5: what a reply may take of memory does not depend on how it is framed."""
    monkeypatch.setattr(node, "REPLY_LIMIT", 1024**2)
    part, sent = b" " * 1024**2, count()

    def send(connection: socket.socket) -> None:
        read_request(connection)
        connection.sendall(b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n-1\r\n")
        while next(sent) < 64:
            connection.sendall(part)

    with serving(send) as url:
        client = exporter(url)
        assert retried(client.attempt(documents(), timeout=LONG))
        client.close()
    assert next(sent) < 32  # buffers on the way included


def test_answer_that_is_too_long_is_asked_for_in_parts() -> None:
    """MEM-3: however many documents a record has, what is said of fewer is shorter; the next attempt is not harmed."""
    batch, padding = documents(), iter([REPLY_LIMIT + 1024**2, 0])

    def answer(connection: socket.socket) -> None:
        read_request(connection)
        connection.sendall(http(bulk_reply(batch)[:-1] + b" " * next(padding) + b"}"))

    with serving(answer) as url:
        client = exporter(url)
        first, second = (client.attempt(batch, timeout=LONG) for _ in range(2))
        client.close()
    assert first.request is Outcome.TOO_LARGE
    assert list(second.items) == [ACCEPTED] * 3


@pytest.fixture(scope="module")
def parrot() -> Iterator[tuple[Exporter, list[bytes]]]:
    """A server that answers each connection's first request with the bytes at the end of a list."""
    says = [b""]

    def send(connection: socket.socket) -> None:
        read_request(connection)
        connection.sendall(says[-1])

    with serving(send) as url:
        client = exporter(url)
        yield client, says
        client.close()


@settings(max_examples=60, deadline=None)
@given(st.binary(max_size=60), st.sampled_from([b"", b"HTTP/1.1 200 OK\r\n", OK + b"content-length: 30\r\n\r\n"]))
def test_any_bytes_end_an_attempt_and_accept_nothing(
    parrot: tuple[Exporter, list[bytes]], noise: bytes, head: bytes
) -> None:
    """No bytes in place of an answer raise, or are taken for an acceptance."""
    client, says = parrot
    says.append(head + noise)
    assert ACCEPTED not in client.attempt(documents(), timeout=LONG).items


class Stalled:
    """A server that takes requests, never answers, and tells how many it has."""

    def __init__(self) -> None:
        """Begin with none."""
        self.requests = threading.Semaphore(0)

    def __call__(self, connection: socket.socket) -> None:
        """Take one request and wait until the client is gone."""
        read_request(connection)
        self.requests.release()
        connection.recv(1)


def test_cut_ends_the_attempts_of_one_key_only() -> None:
    """What belongs to a lost partition is ended at once, and the tenant's other attempts go on (design decision 8)."""
    stalled = Stalled()
    replies: dict[str, Reply] = {}
    with serving(stalled) as url:
        client = exporter(url)

        def attempt(key: str) -> None:
            replies[key] = client.attempt(documents(), timeout=LONG, key=key)

        lost, kept = (threading.Thread(target=attempt, args=(key,)) for key in ("lost", "kept"))
        lost.start()
        kept.start()
        assert stalled.requests.acquire(timeout=LONG)
        assert stalled.requests.acquire(timeout=LONG)
        client.cut("lost")
        lost.join(LONG)
        assert retried(replies["lost"])
        assert kept.is_alive()
        client.cut()
        kept.join(LONG)
        assert retried(replies["kept"])
        client.close()


def test_failed_attempts_leave_no_descriptors_and_no_threads(tenant: Tenant) -> None:
    """Attempts that end badly, in whatever way, give back what they used (LIM-8, REB-8)."""
    process = psutil.Process()
    tenant.exporter.attempt(documents(), timeout=LONG)
    before = process.num_fds(), threading.active_count()
    for script in (Script(black_hole=True), Script(reset_after=5), Script(lose_reply=True), Script(refuse=True)):
        tenant.script(script)
        for _ in range(3):
            tenant.exporter.attempt(documents(), timeout=0.05)
    tenant.script(Script())
    tenant.exporter.attempt(documents(), timeout=LONG)
    assert (process.num_fds(), threading.active_count()) == before


def test_attempt_under_way_closes_its_connection_after_close() -> None:
    """Closing does not wait for attempts; each closes its own connection when it ends."""
    stalled = Stalled()
    process = psutil.Process()
    before = process.num_fds()
    with serving(stalled) as url:
        client = exporter(url)
        last = threading.Thread(target=client.attempt, args=(documents(),), kwargs={"timeout": LONG})
        last.start()
        assert stalled.requests.acquire(timeout=LONG)
        client.close()
        client.cut()
        last.join(LONG)
    assert process.num_fds() == before


def test_several_endpoints_are_nodes_of_one_cluster(clusters: ScriptedClusters) -> None:
    """Attempts go to each endpoint in turn, and one that is gone costs single attempts only."""
    name = f"tenant-{next(numbers)}"
    alive = clusters.add(name)
    with socket.create_server(("127.0.0.1", 0)) as listener:
        gone = f"http://127.0.0.1:{listener.getsockname()[1]}"
    client = exporter(alive, gone)
    outcomes = [client.attempt(documents(1), timeout=LONG).items[0] for _ in range(6)]
    client.close()
    clusters.remove(name)
    assert outcomes.count(RETRYABLE) == 1
    assert outcomes.count(ACCEPTED) == 5


@pytest.mark.parametrize(
    ("credential", "header"),
    [
        ({"api_key": "c2VjcmV0"}, b"authorization: ApiKey c2VjcmV0"),
        ({"basic": {"username": "u", "password": "p\u00fc"}}, b"authorization: Basic dTpww7w="),
    ],
)
def test_request_is_a_gzipped_bulk_with_the_tenants_credential(credential: dict[str, Any], header: bytes) -> None:
    """The request is what Elasticsearch expects: method, path, media type, credential, and a body of whole lines."""
    batch, requests = documents(2), []

    def record(connection: socket.socket) -> None:
        requests.append(read_request(connection))
        connection.sendall(http(bulk_reply(batch)))

    with serving(record) as url:
        client = exporter(f"{url}/prefix", credential=credential)
        assert list(client.attempt(batch, timeout=LONG).items) == [ACCEPTED] * 2
        client.close()
    head, _, body = requests[0].partition(b"\r\n\r\n")
    assert head.startswith(b"POST /prefix/_bulk?filter_path=errors,items.")
    assert header in head
    assert b"content-type: application/x-ndjson" in head
    assert body == bulk_body(batch)
    lines = zlib.decompress(body, 31).split(b"\n")
    assert [orjson.loads(line) for line in lines[:4:2]] == [
        {"create": {"_index": each.index, "_id": each.id}} for each in batch
    ]
    assert lines[1::2] == [batch[0].source, batch[1].source]
    assert lines[4] == b""


class ChangesOnce(dict[Any, Any]):
    """Nodes of which one is taken out, as by another thread, while somebody looks at them for the first time."""

    looked_at = False

    def items(self) -> Any:  # noqa: ANN401 - as the base class has it
        """Yield the items."""
        for item in super().items():
            yield item
            if not self.looked_at:
                self.looked_at = True
                del self[item[0]]


def test_node_that_is_marked_dead_while_another_attempt_chooses_costs_nothing() -> None:
    """ISO-2: many threads choose among nodes that fail, and what an attempt raises ends the process of all tenants."""
    client = exporter("http://127.0.0.1:1", "http://127.0.0.1:2")
    pool = client._connected().transport.node_pool
    alive = pool._alive_nodes = ChangesOnce(pool._alive_nodes)
    assert retried(client.attempt(documents(), timeout=LONG))
    assert alive.looked_at
    client.close()
