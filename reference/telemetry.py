"""What the program shows of itself over HTTP: `/metrics` for Prometheus, `/healthz` and `/readyz` (OPS-1).

Nothing is counted here: each request reads the state of the program's parts, each under its own lock.
"""

from __future__ import annotations

import socket
import sys
from http import HTTPStatus
from socketserver import TCPServer, ThreadingMixIn
from typing import TYPE_CHECKING, NamedTuple
from wsgiref.simple_server import WSGIRequestHandler, WSGIServer, make_server

from prometheus_client import CollectorRegistry, ProcessCollector, make_wsgi_app
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily
from prometheus_client.registry import Collector

from isolane.reference import log
from isolane.reference.config_source import ConfigError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from wsgiref.types import StartResponse, WSGIApplication, WSGIEnvironment

    from isolane.reference import config
    from isolane.reference.limiter import TenantState
    from isolane.reference.partition import PartitionState
    from isolane.reference.program import State
    from isolane.reference.runtime import Runtime

    Rows = Iterable[tuple[Sequence[str], float]]

# From when on the poll loop is stuck, beyond the grace for revoked partitions: to join, to find out where to begin and
# to commit take less, each at its longest.
_POLL_STUCK_AFTER = 20.0
# An attempt ends at its deadline: so long after it, the worker is stuck.
_SENDER_STUCK_AFTER = 10.0
_CLIENT_TIMEOUT = 10.0


class Metric(NamedTuple):
    """A metric as it is exposed.

    Attributes:
        name: With its unit; that of a counter ends in `_total`, every other is a gauge.
        meaning: For people.
        labels: The names of its labels.
        rows: Returns the labels' values, and the value, of each sample.
    """

    name: str
    meaning: str
    labels: Sequence[str]
    rows: Callable[[State], Rows]

    def family(self, state: State) -> GaugeMetricFamily | CounterMetricFamily:
        """Return its samples in a state of the program."""
        kind = CounterMetricFamily if self.name.endswith("_total") else GaugeMetricFamily
        family = kind(self.name, self.meaning, labels=self.labels)
        for labels, value in self.rows(state):
            family.add_metric(labels, value)
        return family


def _of_tenants(name: str, meaning: str, value: Callable[[TenantState], float]) -> Metric:
    def rows(state: State) -> Rows:
        return [([tenant], value(own)) for tenant, own in state.line.tenants.items()]

    return Metric(name, meaning, ("tenant",), rows)


def _of_outcomes(name: str, meaning: str, counts: Callable[[State], Mapping[tuple[str, str], int]]) -> Metric:
    def rows(state: State) -> Rows:
        # What was accepted is there from the start, for rates to begin at 0.
        return ({(tenant, "accepted"): 0 for tenant in state.line.tenants} | dict(counts(state))).items()

    return Metric(name, meaning, ("tenant", "outcome"), rows)


def _of_partitions(name: str, meaning: str, value: Callable[[PartitionState], float | None]) -> Metric:
    def rows(state: State) -> Rows:
        for own in state.receiver.partitions:
            if (known := value(own)) is not None:
                yield (own.tenant, own.place.topic, str(own.place.partition)), known

    return Metric(name, meaning, ("tenant", "topic", "partition"), rows)


def _of_process(name: str, meaning: str, value: Callable[[State], float]) -> Metric:
    return Metric(name, meaning, (), lambda state: [((), value(state))])


METRICS = (
    _of_tenants("isolane_tenant_cap", "Slots that the tenant may be granted now.", lambda own: own.cap),
    _of_tenants("isolane_tenant_slots", "Slots that it holds: its attempts under way.", lambda own: own.slots),
    _of_tenants(
        "isolane_tenant_waiting_records",
        "Records, or parts of records, that wait for a slot, retries included.",
        lambda own: own.waiting,
    ),
    _of_tenants(
        "isolane_tenant_at_risk",
        "1 while the tenant is only probed: nothing accepted yet, its last attempt bad, or one open for too long.",
        lambda own: own.at_risk,
    ),
    _of_outcomes(
        "isolane_attempts_total",
        "Attempts that ended: accepted, partial (accepted in part), retryable, environment, condemned or too_large.",
        lambda state: state.attempts,
    ),
    _of_outcomes(
        "isolane_documents_total",
        "Documents by what became of them each time they were sent; those delivered have the outcome accepted.",
        lambda state: state.documents,
    ),
    Metric(
        "isolane_dead_letters_total",
        "Records, or parts of records, of the tenant that were written as dead letters.",
        ("tenant",),
        lambda state: [([tenant], state.dead_letters.get(tenant, 0)) for tenant in state.line.tenants],
    ),
    _of_process(
        "isolane_undelivered_dead_letters",
        "Dead letters that are yet to be written.",
        lambda state: state.undelivered_letters,
    ),
    _of_partitions(
        "isolane_partition_lag_records",
        "Offsets between the end of the partition and what may be committed; absent until both are known.",
        lambda own: own.lag,
    ),
    _of_partitions(
        "isolane_partition_in_flight_records",
        "Records between admission and final outcome, waiting and retries included.",
        lambda own: own.records,
    ),
    _of_partitions("isolane_partition_in_flight_bytes", "What those records count for.", lambda own: own.bytes),
    _of_partitions(
        "isolane_partition_paused", "1 while nothing more of the partition is fetched.", lambda own: own.paused
    ),
    Metric(
        "isolane_unowned_partitions",
        "Partitions assigned to this member of a topic that no tenant owns; their records wait.",
        ("topic",),
        lambda state: [([topic], number) for topic, number in state.receiver.unowned.items()],
    ),
    _of_process(
        "isolane_held_bytes",
        "What the process holds of all partitions, fetched and in flight; at most about memory.budget.",
        lambda state: state.line.held,
    ),
    _of_process(
        "isolane_ready",
        "1 while the process can receive: it belongs to its group, and the broker answers.",
        lambda state: not unready(state),
    ),
)
"""All metrics of its own; beside them are those of the process, by their usual names (`process_...`)."""


class ProgramCollector(Collector):
    """Reads all metrics of the program anew for each scrape."""

    def __init__(self, state: Callable[[], State]) -> None:
        """Take who tells what is to be seen."""
        self._state = state

    def collect(self) -> Iterator[GaugeMetricFamily | CounterMetricFamily]:
        """See `Collector`."""
        state = self._state()
        for metric in METRICS:
            yield metric.family(state)


def ailments(state: State) -> list[str]:
    """Return what does not advance in the process, so that only a restart would help; nothing if all is well."""
    found = []
    if state.receiver.polled > state.revoke_grace + _POLL_STUCK_AFTER:
        found.append(f"the poll loop has not advanced for {state.receiver.polled:.0f}s")
    if state.line.overrun > _SENDER_STUCK_AFTER:
        found.append(f"an attempt has outlasted its deadline by {state.line.overrun:.0f}s")
    return found


def unready(state: State) -> list[str]:
    """Return why the process cannot receive, or does not advance; nothing if it can."""
    trouble = state.receiver.trouble
    return [*ailments(state), *([trouble] if trouble else [])]


class Telemetry:
    """The HTTP server. Whoever connects is served in a thread of its own, and dropped when silent for too long."""

    def __init__(self, place: config.Telemetry, state: Callable[[], State]) -> None:
        """Bind the port; nothing is served yet.

        Args:
            place: Where to serve; port 0 is any that is free.
            state: Returns what is to be seen of the program; called from any thread.

        Raises:
            ConfigError: The port cannot be bound.
        """
        self._state = state
        registry = CollectorRegistry()
        registry.register(ProgramCollector(state))
        ProcessCollector(registry=registry)
        self._metrics: WSGIApplication = make_wsgi_app(registry)
        try:
            self._server = make_server(place.host, place.port, self._answer, _Server, _Handler)
        except OSError as error:
            where = f"{place.host} port {place.port}"
            raise ConfigError([f"telemetry: {where} cannot be bound: {error.strerror}"]) from None

    @property
    def port(self) -> int:
        """The port that it serves on."""
        return self._server.server_port

    def start(self, runtime: Runtime) -> None:
        """Serve from now on, in a thread of its own."""
        runtime.spawn("telemetry", self._server.serve_forever)
        log.info("telemetry", host=self._server.server_address[0], port=self.port)

    def close(self) -> None:
        """Serve no more."""
        self._server.shutdown()
        self._server.server_close()

    def _answer(self, environ: WSGIEnvironment, respond: StartResponse) -> Iterable[bytes]:
        method = environ["REQUEST_METHOD"]
        if method not in {"GET", "HEAD"}:
            return _say(respond, HTTPStatus.METHOD_NOT_ALLOWED, "GET and HEAD are allowed", ("allow", "GET, HEAD"))
        content = self._content({**environ, "REQUEST_METHOD": "GET"}, respond)
        return content if method == "GET" else []

    def _content(self, environ: WSGIEnvironment, respond: StartResponse) -> Iterable[bytes]:
        path = environ["PATH_INFO"]
        if path == "/metrics":
            return self._metrics(environ, respond)
        if path not in {"/healthz", "/readyz"}:
            return _say(respond, HTTPStatus.NOT_FOUND, "/metrics, /healthz and /readyz are here")
        found = (ailments if path == "/healthz" else unready)(self._state())
        status = HTTPStatus.SERVICE_UNAVAILABLE if found else HTTPStatus.OK
        return _say(respond, status, "\n".join(found or ["ok"]))


def _say(respond: StartResponse, status: HTTPStatus, text: str, *headers: tuple[str, str]) -> Iterable[bytes]:
    respond(f"{status.value} {status.phrase}", [("content-type", "text/plain; charset=utf-8"), *headers])
    return [f"{text}\n".encode()]


class _Server(ThreadingMixIn, WSGIServer):
    daemon_threads = True

    def __init__(self, address: tuple[str, int], handler: type[WSGIRequestHandler]) -> None:
        self.address_family = socket.AF_INET6 if ":" in address[0] else socket.AF_INET
        super().__init__(address, handler)

    def server_bind(self) -> None:
        """Bind as the base class does, without asking the resolver for a name of the address."""
        TCPServer.server_bind(self)
        self.server_name, self.server_port = str(self.server_address[0]), self.server_address[1]
        self.setup_environ()

    def handle_error(self, request: object, client_address: object) -> None:  # noqa: ARG002 - the base class's signature
        """Say nothing of clients that went away, or were silent for too long; of anything else as one event."""
        error = sys.exception()
        if error is not None and not isinstance(error, OSError):
            log.warning("telemetry failed", error=repr(error), client=client_address)


class _Handler(WSGIRequestHandler):
    timeout = _CLIENT_TIMEOUT

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the base class's name
        """Say nothing of each request."""
