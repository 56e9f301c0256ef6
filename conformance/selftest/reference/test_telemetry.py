"""What the program shows of itself: metrics as scrapers read them, health and readiness."""

from __future__ import annotations

import ast
import re
import socket
import struct
import threading
from collections import defaultdict
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import pytest
from prometheus_client.parser import text_string_to_metric_families

from isolane.conformance.selftest.reference.fakes import FakeLane, answer, config, eventually, pieces, reply
from isolane.conformance.selftest.reference.program_bench import A1, A, B, Bench
from isolane.reference import telemetry
from isolane.reference.backoff import Backoff
from isolane.reference.config import Telemetry as Place
from isolane.reference.consumer import TopicPartition
from isolane.reference.limiter import Dispatcher
from isolane.reference.outcome import Outcome, Reply
from isolane.reference.telemetry import METRICS, Metric, Telemetry, _Server, ailments

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from isolane.reference.otlp import Document
    from isolane.reference.program import State
    from isolane.reference.runtime import Runtime

FOLDER = Path(telemetry.__file__).parent
OPERATING = Path(__file__).parents[3] / "docs" / "operating.md"


class Answer(NamedTuple):
    """An answer of the server."""

    status: int
    text: str


class Scraped:
    """A bench whose program is served."""

    def __init__(self, bench: Bench, runtime: Runtime) -> None:
        """Serve it on any free port."""
        self.server = Telemetry(Place(port=0), bench.program.state)
        self.server.start(runtime)

    def get(self, path: str, method: str = "GET") -> Answer:
        """Ask for a path."""
        try:
            with urlopen(Request(f"http://127.0.0.1:{self.server.port}{path}", method=method)) as answer:
                return Answer(answer.status, answer.read().decode())
        except HTTPError as refusal:
            with refusal:
                return Answer(refusal.status or 0, refusal.read().decode())

    def samples(self) -> dict[str, dict[tuple[str, ...], float]]:
        """Scrape, and return the values of each metric by the values of its labels, in alphabetical order of names."""
        samples: dict[str, dict[tuple[str, ...], float]] = defaultdict(dict)
        for family in text_string_to_metric_families(self.get("/metrics").text):
            for sample in family.samples:
                labels = tuple(value for _, value in sorted(sample.labels.items()))
                samples[sample.name][labels] = sample.value
        return samples


@pytest.fixture
def scraped(runtime: Runtime) -> Iterator[Callable[[Bench], Scraped]]:
    """Serves the programs of benches, for as long as the test lasts."""
    served: list[Scraped] = []

    def serve(bench: Bench) -> Scraped:
        served.append(Scraped(bench, runtime))
        return served[-1]

    yield serve
    for each in served:
        each.server.close()


def _labels(place: TopicPartition, tenant: str) -> tuple[str, ...]:
    return str(place.partition), tenant, place.topic


def test_a_stalled_tenant_shows_in_its_own_metrics(
    bench_of: Callable[..., Bench], scraped: Callable[[Bench], Scraped]
) -> None:
    """OPS-1: cap, slots, waiters, lag, what is in flight and paused are those of the stalled tenant and its partition.

    The other tenant's are those of one whose records were all delivered.
    """
    bench = bench_of()
    server = scraped(bench)
    bench.clusters["a"].answer(None)
    sent = bench.produce(A, 300)
    bench.produce(B, 30, items=2)
    bench.own(A, B)
    bench.commits(B, 30)
    assert bench.consumer is not None
    consumer = bench.consumer
    eventually(lambda: consumer.paused == {A})
    eventually(lambda: server.samples()["isolane_partition_lag_records"] == {_labels(A, "a"): 300, _labels(B, "b"): 0})
    seen = server.samples()
    assert seen["isolane_tenant_slots"] == {("a",): 1, ("b",): 0}
    assert seen["isolane_tenant_cap"][("a",)] == 1
    assert seen["isolane_tenant_at_risk"] == {("a",): 1, ("b",): 0}
    assert seen["isolane_partition_in_flight_records"] == {_labels(A, "a"): 20, _labels(B, "b"): 0}
    assert seen["isolane_tenant_waiting_records"] == {("a",): 20 - len(bench.clusters["a"].attempts[-1]), ("b",): 0}
    assert 0 < seen["isolane_partition_in_flight_bytes"][_labels(A, "a")] <= seen["isolane_held_bytes"][()]
    assert seen["isolane_partition_paused"] == {_labels(A, "a"): 1, _labels(B, "b"): 0}
    assert seen["isolane_documents_total"]["accepted", "a"] == 0
    assert seen["isolane_documents_total"]["accepted", "b"] == 60
    bench.clusters["a"].answer()
    bench.commits(A, 300)
    seen = server.samples()
    assert seen["isolane_documents_total"]["accepted", "a"] == len(sent)
    assert seen["isolane_partition_in_flight_records"][_labels(A, "a")] == 0
    assert seen["isolane_tenant_slots"] == {("a",): 0, ("b",): 0}
    eventually(lambda: server.samples()["isolane_held_bytes"] == {(): 0})


def test_attempts_are_counted_by_their_outcome(
    bench_of: Callable[..., Bench], scraped: Callable[[Bench], Scraped]
) -> None:
    """OPS-1: each attempt counts once, by what it came to; each document by what became of it; so do dead letters."""
    bench = bench_of()
    server = scraped(bench)
    answers = iter([Outcome.RETRYABLE, Outcome.ENVIRONMENT])

    def refuse_twice_then_condemn_one(documents: Sequence[Document]) -> Reply:
        if outcome := next(answers, None):
            return Reply.whole(outcome, len(documents), "as scripted")
        bad = [document.id.endswith(":1:0") for document in documents]
        return reply(*[Outcome.CONDEMNED if each else Outcome.ACCEPTED for each in bad])

    bench.clusters["a"].answer(refuse_twice_then_condemn_one)
    bench.produce(A, 5)
    bench.own(A)
    bench.commits(A, 5)
    seen = server.samples()
    cluster = bench.clusters["a"]
    attempts = {outcome: int(n) for (outcome, tenant), n in seen["isolane_attempts_total"].items() if tenant == "a"}
    assert attempts["retryable"] == attempts["environment"] == attempts["partial"] == 1
    assert sum(attempts.values()) == len(cluster.attempts)
    documents = {outcome: int(n) for (outcome, tenant), n in seen["isolane_documents_total"].items() if tenant == "a"}
    assert (documents["accepted"], documents["condemned"]) == (4, 1)
    assert sum(documents.values()) == sum(map(len, cluster.attempts))
    assert seen["isolane_dead_letters_total"] == {("a",): 1, ("b",): 0}
    assert seen["isolane_undelivered_dead_letters"] == {(): 0}


def test_the_metrics_of_each_mode_add_up(bench: Bench, scraped: Callable[[Bench], Scraped]) -> None:
    """OPS-1: in the baselines, too, slots are attempts under way, and nothing is left when all is delivered."""
    server = scraped(bench)
    bench.clusters["a"].answer(None)
    bench.produce(A, 1)
    bench.own(A, B)
    eventually(lambda: bench.clusters["a"].open)
    assert server.samples()["isolane_tenant_slots"] == {("a",): 1, ("b",): 0}
    bench.clusters["a"].answer()
    bench.commits(A, 1)
    eventually(lambda: server.samples()["isolane_tenant_slots"] == {("a",): 0, ("b",): 0})
    seen = server.samples()
    assert seen["isolane_tenant_waiting_records"] == {("a",): 0, ("b",): 0}
    assert seen["isolane_documents_total"]["accepted", "a"] == 1


def test_a_topic_that_nobody_owns_is_named(bench_of: Callable[..., Bench], scraped: Callable[[Bench], Scraped]) -> None:
    """TEN-4: its name and how many of its partitions wait here, for as long as they are assigned."""
    bench = bench_of()
    server = scraped(bench)
    nobodys = [TopicPartition("managed_otlp.logs.nobody", number) for number in range(2)]
    bench.own(A, *nobodys)
    eventually(lambda: server.samples()["isolane_unowned_partitions"] == {(nobodys[0].topic,): 2})
    bench.own(A)
    eventually(lambda: not server.samples()["isolane_unowned_partitions"])


def test_partitions_that_moved_away_are_shown_no_more(
    bench_of: Callable[..., Bench], scraped: Callable[[Bench], Scraped]
) -> None:
    """OPS-1: a partition has metrics where it is owned, and nowhere else."""
    bench = bench_of()
    server = scraped(bench)
    bench.own(A, A1)
    eventually(lambda: len(server.samples()["isolane_partition_paused"]) == 2)
    bench.own(A1)
    eventually(lambda: set(server.samples()["isolane_partition_paused"]) == {_labels(A1, "a")})


def test_readiness_follows_the_broker(bench_of: Callable[..., Bench], scraped: Callable[[Bench], Scraped]) -> None:
    """/readyz tells why nothing can be received, and recovers by itself; nothing of that is a reason to restart."""
    bench = bench_of()
    server = scraped(bench)
    eventually(lambda: server.get("/readyz") == Answer(200, "ok\n"))
    assert bench.consumer is not None
    bench.consumer.silent = "the group's broker does not answer"
    eventually(lambda: server.get("/readyz") == Answer(503, "the group's broker does not answer\n"))
    assert server.samples()["isolane_ready"] == {(): 0}
    assert server.get("/healthz") == Answer(200, "ok\n")
    bench.consumer.silent = None
    eventually(lambda: server.get("/readyz").status == 200)


def test_health_tells_what_does_not_advance(bench_of: Callable[..., Bench]) -> None:
    """/healthz: a poll loop that hangs beyond its grace, and an attempt beyond its deadline, are reasons to restart."""
    well = bench_of().program.state()._replace(revoke_grace=5.0)
    assert ailments(well) == []
    hung = well._replace(receiver=well.receiver._replace(polled=25.1))
    assert ailments(hung) == ["the poll loop has not advanced for 25s"]
    assert ailments(hung._replace(revoke_grace=10.0)) == []
    stuck = well._replace(line=well.line._replace(overrun=11.0))
    assert ailments(stuck) == ["an attempt has outlasted its deadline by 11s"]


def test_who_is_stuck_is_not_ready(
    bench_of: Callable[..., Bench], scraped: Callable[[Bench], Scraped], monkeypatch: pytest.MonkeyPatch
) -> None:
    """OPS-1: the gauge says what /readyz says, also when the broker was well at the last look of a loop that hangs."""
    bench = bench_of()
    state = bench.program.state
    eventually(lambda: state().receiver.trouble is None)
    monkeypatch.setattr(bench.program, "state", lambda: _hung(state()))
    server = scraped(bench)
    assert server.get("/readyz") == Answer(503, "the poll loop has not advanced for 60s\n")
    assert server.samples()["isolane_ready"] == {(): 0}


def _hung(state: State) -> State:
    return state._replace(receiver=state.receiver._replace(polled=60.0))


def test_an_attempt_beyond_its_deadline_is_measured() -> None:
    """/healthz: an attempt that goes on after its deadline shows by how long; one that is in time does not."""
    settings = config()
    backoff = Backoff(settings.retry, lambda: 0.5)
    dispatcher = Dispatcher(settings.limiter, backoff, workers=4, flush_bytes=100, timeout=30.0)
    dispatcher.submit(FakeLane("a"), pieces(1), now=10.0)
    (grant,), _ = dispatcher.decide(now=10.0)
    assert dispatcher.overrun(now=10.0 + grant.timeout) == 0
    assert dispatcher.overrun(now=10.0 + grant.timeout + 7) == 7
    dispatcher.settle(grant, answer(Outcome.ACCEPTED, grant.flush), now=20.0)
    assert dispatcher.overrun(now=100.0) == 0


def test_other_paths_are_refused(bench_of: Callable[..., Bench], scraped: Callable[[Bench], Scraped]) -> None:
    """What is not there is 404, and says what is."""
    answer = scraped(bench_of()).get("/")
    assert answer.status == 404
    assert "/metrics" in answer.text


@pytest.mark.parametrize("path", ["/metrics", "/healthz", "/readyz"])
def test_only_reading_is_allowed(
    bench_of: Callable[..., Bench], scraped: Callable[[Bench], Scraped], path: str
) -> None:
    """HEAD is answered as GET is, without the content; what would change something is 405."""
    server = scraped(bench_of())
    eventually(lambda: server.get("/readyz").status == 200)
    assert server.get(path, "HEAD") == Answer(200, "")
    for method in ("POST", "PUT", "DELETE"):
        assert server.get(path, method) == Answer(405, "GET and HEAD are allowed\n")


def test_clients_that_go_away_are_not_worth_a_word(
    bench_of: Callable[..., Bench], scraped: Callable[[Bench], Scraped], capfd: pytest.CaptureFixture[str]
) -> None:
    """Probes that connect and hang up, and connections left open, put no traceback among the lines of JSON."""
    server = scraped(bench_of())
    for said in (b"", b"GET /me"):
        with socket.create_connection(("127.0.0.1", server.server.port)) as client:
            client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))  # a reset at the end
            client.sendall(said)
    serving = _Server.process_request_thread.__name__
    eventually(lambda: not any(serving in thread.name for thread in threading.enumerate()))
    assert server.get("/healthz").status == 200
    assert capfd.readouterr().err == ""


def test_the_process_itself_is_measured(bench_of: Callable[..., Bench], scraped: Callable[[Bench], Scraped]) -> None:
    """Memory and descriptors are exposed under the names that everybody knows."""
    samples = scraped(bench_of()).samples()
    assert samples["process_resident_memory_bytes"][()] > 0
    assert samples["process_open_fds"][()] > 0


@pytest.mark.parametrize("metric", METRICS, ids=lambda metric: metric.name)
def test_names_follow_the_conventions(metric: Metric) -> None:
    """OPS-1: lower case, one prefix, and base units (Prometheus' naming practices)."""
    assert re.fullmatch(r"isolane(_[a-z]+)+", metric.name)
    assert not re.search(r"_(ms|milliseconds|kb|mb|kib|mib|count)(_|$)", metric.name)


def test_each_event_is_documented() -> None:
    """The table of events in docs/operating.md names all that the program tells, and nothing else."""
    told = {event for path in FOLDER.glob("*.py") for event in _events(ast.parse(path.read_text()))}
    section = OPERATING.read_text().partition("| event | tells |")[2].partition("\n\n")[0]
    first_cells = re.findall(r"^\| (`.+?`) \|", section, re.MULTILINE)
    assert {name for cell in first_cells for name in re.findall(r"`(.+?)`", cell)} == told


def _events(module: ast.Module) -> Iterator[str]:
    """Yield the first argument of each call of a function of `log`."""
    for node in ast.walk(module):
        match node:
            case ast.Call(ast.Attribute(ast.Name("log")), [ast.Constant(str(event)), *_]):
                yield event


def test_nobody_is_asked_for_the_name_of_the_address(runtime: Runtime, monkeypatch: pytest.MonkeyPatch) -> None:
    """LIF-4: the start does not wait for a resolver that is away; Python's server would ask it for its own name."""

    def asked(*_: object) -> str:
        raise AssertionError("the resolver is away")

    monkeypatch.setattr(socket, "getfqdn", asked)
    server = Telemetry(Place(port=0), lambda: pytest.fail("nobody asked"))
    server.start(runtime)
    server.close()


def test_each_metric_is_documented() -> None:
    """The table in docs/operating.md is that of the code: names, kinds, labels, meanings, in the same order."""
    rows = re.findall(r"^\| `(isolane_\w+)` \| (\w+) \| (.*?) \| (.+) \|$", OPERATING.read_text(), re.MULTILINE)
    assert rows == [
        (
            metric.name,
            "counter" if metric.name.endswith("_total") else "gauge",
            ", ".join(metric.labels) or "none",
            metric.meaning,
        )
        for metric in METRICS
    ]
