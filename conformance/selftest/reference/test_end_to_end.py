"""The reference as a process, between a real Kafka and scripted clusters."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import uuid
from typing import TYPE_CHECKING, Any, get_args
from urllib.error import HTTPError
from urllib.request import urlopen

import orjson
import pytest
import yaml
from kafka import KafkaAdminClient, KafkaProducer

from isolane.conformance.selftest.reference.fakes import eventually
from isolane.conformance.selftest.reference.kafka_bench import closing
from isolane.fixtures.cluster import Script, ScriptedClusters
from isolane.fixtures.payloads import value
from isolane.fixtures.processes import Process, free_ports
from isolane.fixtures.services import Kafka
from isolane.reference.config import Mode

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

MODES = get_args(Mode)


@pytest.fixture(scope="module")
def kafka(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Kafka]:
    """One broker for all tests here; each has tenants and a group of its own."""
    with Kafka.native(tmp_path_factory.mktemp("kafka")) as kafka:
        yield kafka


@pytest.fixture(scope="module")
def clusters(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ScriptedClusters]:
    """One server for the clusters of all tests here."""
    with ScriptedClusters.start(tmp_path_factory.mktemp("clusters")) as clusters:
        yield clusters


class Bench:
    """Two tenants, their topics and clusters, and the reference as a process that serves them."""

    def __init__(self, folder: Path, kafka: Kafka, clusters: ScriptedClusters, **partition_processing: object) -> None:
        """Make the topics and the configuration; the process is not started."""
        self.run = uuid.uuid4().hex[:6]
        self.folder = folder
        self.kafka = kafka
        self.clusters = clusters
        self.well, self.sick = f"well{self.run}", f"sick{self.run}"
        endpoints = {tenant: clusters.add(tenant) for tenant in (self.well, self.sick)}
        self.produced: dict[str, int] = dict.fromkeys(endpoints, 0)
        self.config: dict[str, Any] = {
            "kafka": {
                "brokers": [kafka.bootstrap],
                "topics": [rf"^managed_otlp\.logs\..+{self.run}"],
                "group_id": self.run,
                "session_timeout": "6s",
                "heartbeat_interval": "1s",
                "autocommit": {"interval": "200ms"},
                "partition_processing": partition_processing,
            },
            "tenants": {
                tenant: {"topics": [self.topic(tenant)], "elasticsearch": {"endpoints": [endpoint]}}
                for tenant, endpoint in endpoints.items()
            },
        }
        admin = KafkaAdminClient(bootstrap_servers=kafka.bootstrap)
        admin.create_topics({self.topic(tenant): {"num_partitions": 2} for tenant in endpoints}, wait_for_metadata=True)
        admin.close()

    def topic(self, tenant: str) -> str:
        """Return the topic of a tenant."""
        return f"managed_otlp.logs.{tenant}"

    def start(self) -> Process:
        """Start the reference."""
        return start(self.folder, self.config)

    def elasticsearch(self, tenant: str) -> dict[str, Any]:
        """Return the settings of a tenant's cluster, to be changed."""
        settings: dict[str, Any] = self.config["tenants"][tenant]["elasticsearch"]
        return settings

    def reload(self, process: Process, event: str, times: int = 1) -> None:
        """Write the configuration anew and let the process read it; wait until it has told so many such events."""
        (self.folder / "config.yaml").write_text(yaml.safe_dump(self.config))
        os.kill(process.pid, signal.SIGHUP)
        eventually(lambda: events(process).count(event) == times, timeout=60)

    def produce(self, tenant: str, number: int) -> None:
        """Produce records of two items each, to both partitions in turn."""
        producer = KafkaProducer(bootstrap_servers=self.kafka.bootstrap, linger_ms=5)
        for _ in range(number):
            count = self.produced[tenant]
            tokens = [f"isotok{count:020x}{item:04x}" for item in range(2)]
            producer.send(self.topic(tenant), value("otlp_proto", "logs", tokens), partition=count % 2)
            self.produced[tenant] += 1
        producer.close()

    def await_delivery(self, tenant: str) -> None:
        """Wait until the tenant's cluster has a document for each item that was produced."""
        eventually(lambda: self.documents(tenant) == 2 * self.produced[tenant], timeout=60)

    def documents(self, tenant: str) -> int:
        """Return how many documents the tenant's cluster has."""
        return self.clusters.counters(tenant)["documents"]

    def committed(self, tenant: str) -> int:
        """Return the sum of the committed offsets of a tenant's partitions."""
        admin = KafkaAdminClient(bootstrap_servers=self.kafka.bootstrap)
        offsets = admin.list_group_offsets(self.run)[self.run]
        admin.close()
        return sum(entry.offset for place, entry in offsets.items() if place.topic == self.topic(tenant))


def start(folder: Path, config: object) -> Process:
    """Start the reference with a configuration."""
    path = folder / "config.yaml"
    path.write_text(yaml.safe_dump(config))
    argv = [sys.executable, "-m", "isolane.reference", "--config", str(path)]
    return Process.start(argv, log=folder / "reference.log", name="reference")


def told_by(process: Process) -> list[dict[str, Any]]:
    """Return what a process has told, in order."""
    return [orjson.loads(line) for line in process.log.read_bytes().splitlines() if line.startswith(b"{")]


def events(process: Process) -> list[str]:
    """Return the events that a process has told."""
    return [told["event"] for told in told_by(process)]


@pytest.fixture
def bench(tmp_path: Path, kafka: Kafka, clusters: ScriptedClusters) -> Bench:
    """A bench in the mode that isolates."""
    return Bench(tmp_path, kafka, clusters)


@pytest.mark.services
@pytest.mark.parametrize("mode", MODES)
def test_delivers_commits_and_stops(tmp_path: Path, kafka: Kafka, clusters: ScriptedClusters, mode: Mode) -> None:
    """TEN-2, OFF-4, LIF-2: in each mode everything arrives once, is committed, and SIGTERM ends it with exit code 0."""
    bench = Bench(tmp_path, kafka, clusters, mode=mode)
    bench.produce(bench.well, 300)
    with bench.start() as process:
        bench.produce(bench.sick, 20)
        for tenant in (bench.well, bench.sick):
            bench.await_delivery(tenant)
        eventually(lambda: bench.committed(bench.well) == 300, timeout=60)
        bench.produce(bench.well, 50)
        bench.await_delivery(bench.well)
        assert process.stop(20) == 0
        assert events(process)[-1] == "stopped"
    assert bench.committed(bench.well) == 350
    assert bench.committed(bench.sick) == 20


@pytest.mark.services
def test_a_slow_cluster_delays_only_its_own_tenant(bench: Bench) -> None:
    """ISO-1, OFF-1: while one cluster takes a minute for a request the other's records pass, and SIGTERM works."""
    bench.clusters.script(bench.sick, Script(latency=60))
    with bench.start() as process:
        bench.produce(bench.sick, 200)
        for _ in range(5):
            bench.produce(bench.well, 20)
            bench.await_delivery(bench.well)
        assert bench.documents(bench.sick) == 0
        assert process.stop(20) == 0
    assert bench.committed(bench.well) == 100
    assert bench.committed(bench.sick) == 0


@pytest.mark.services
def test_the_process_shows_how_it_does(bench: Bench) -> None:
    """OPS-1: the port is told in the log; it is ready when it has joined, and metrics tell what was delivered."""
    bench.config["telemetry"] = {"port": 0}
    with bench.start() as process:
        eventually(lambda: "telemetry" in events(process), timeout=60)
        (port,) = (told["port"] for told in told_by(process) if told["event"] == "telemetry")
        eventually(lambda: status(port, "/readyz") == 200, timeout=60)
        assert status(port, "/healthz") == 200
        bench.produce(bench.well, 20)
        bench.await_delivery(bench.well)
        accepted = f'isolane_documents_total{{outcome="accepted",tenant="{bench.well}"}} 40.0'
        eventually(lambda: accepted in metrics(port))  # the cluster has them before the process has its answer
        assert process.stop(20) == 0


@pytest.mark.services
def test_the_broker_may_be_away_at_the_start_and_later(bench: Bench) -> None:
    """LIF-4: the process waits, says that it is not ready, and goes on by itself; it is well all the time."""
    bench.config["telemetry"] = {"port": 0}
    bench.kafka.kill()
    try:
        process = bench.start()
        eventually(lambda: "Kafka is not available" in events(process), timeout=60)
        (port,) = (told["port"] for told in told_by(process) if told["event"] == "telemetry")
        assert status(port, "/readyz") == 503
        assert status(port, "/healthz") == 200
    finally:
        bench.kafka.start()
    with process:
        bench.produce(bench.well, 10)
        bench.await_delivery(bench.well)
        bench.kafka.kill()
        try:
            eventually(lambda: status(port, "/readyz") == 503, timeout=60)
            assert status(port, "/healthz") == 200
        finally:
            bench.kafka.start()
        bench.produce(bench.well, 10)
        bench.await_delivery(bench.well)
        eventually(lambda: bench.committed(bench.well) == 20, timeout=60)
        assert status(port, "/readyz") == 200
        assert process.stop(20) == 0


def metrics(port: int) -> list[str]:
    """Return the lines of the process's metrics."""
    with urlopen(f"http://127.0.0.1:{port}/metrics") as answer:
        lines: list[str] = answer.read().decode().splitlines()
    return lines


def status(port: int, path: str) -> int:
    """Return the status that the process answers with."""
    try:
        with urlopen(f"http://127.0.0.1:{port}{path}") as answer:
            return int(answer.status)
    except HTTPError as refusal:
        with refusal:
            return refusal.code


@pytest.mark.services
def test_tenants_change_while_the_process_runs(bench: Bench) -> None:
    """OPS-4: on SIGHUP a wrong API key is replaced and a tenant removed; a file that is wrong leaves all as it was."""
    bench.clusters.script(bench.sick, Script(status=401))
    bench.elasticsearch(bench.sick)["api_key"] = "d3Jvbmc6a2V5"
    with bench.start() as process:
        bench.produce(bench.sick, 10)
        bench.produce(bench.well, 10)
        bench.await_delivery(bench.well)
        eventually(lambda: "refused" in events(process), timeout=60)
        assert bench.documents(bench.sick) == 0

        bench.config["kafka"]["group_id"] = "other"
        bench.config["tenants"][bench.well]["topics"] = []
        bench.reload(process, "configuration refused")
        bench.config["tenants"][bench.well]["topics"] = [bench.topic(bench.well)]
        bench.reload(process, "configuration refused", times=2)
        refusals = [told["errors"] for told in told_by(process) if told["event"] == "configuration refused"]
        assert refusals == [
            [f"tenants.{bench.well}.topics: a list is empty; at least one is needed"],
            ["kafka.group_id: cannot change while the process runs; restart it"],
        ]

        bench.config["kafka"]["group_id"] = bench.run
        bench.elasticsearch(bench.sick)["api_key"] = "cmlnaHQ6a2V5"
        bench.clusters.script(bench.sick)
        bench.reload(process, "configuration changed")
        bench.await_delivery(bench.sick)
        del bench.config["tenants"][bench.well]
        bench.reload(process, "configuration changed", times=2)
        bench.produce(bench.well, 5)
        bench.produce(bench.sick, 5)
        bench.await_delivery(bench.sick)
        assert bench.documents(bench.well) == 20
        assert process.stop(20) == 0
    output = process.log.read_text()
    assert "d3Jvbmc6a2V5" not in output
    assert "cmlnaHQ6a2V5" not in output


def test_a_reload_during_the_start_waits_for_it(tmp_path: Path) -> None:
    """OPS-4: SIGHUP while the process starts does not end it: what was written meanwhile is read when all is wired.

    The file is a pipe, so that the signal comes while the process reads it.
    """
    (port,) = free_ports(1)
    tenants: dict[str, Any] = {"a": {"topics": ["^a$"], "elasticsearch": {"endpoints": ["http://127.0.0.1:1"]}}}
    config = {"kafka": {"brokers": [f"127.0.0.1:{port}"], "topics": ["^a$"]}, "tenants": tenants}
    path = tmp_path / "config.yaml"
    os.mkfifo(path)
    argv = [sys.executable, "-m", "isolane.reference", "--config", str(path)]
    with Process.start(argv, log=tmp_path / "reference.log", name="reference") as process:
        with path.open("w") as pipe:  # when the process has opened it, too
            os.kill(process.pid, signal.SIGHUP)
            pipe.write(yaml.safe_dump(config))
        eventually(lambda: "started" in events(process), timeout=60)
        tenants["a"]["elasticsearch"]["endpoints"] = ["http://127.0.0.1:2"]
        path.write_text(yaml.safe_dump(config))
        eventually(lambda: "configuration changed" in events(process), timeout=60)
        assert process.stop(20) == 0


@pytest.mark.services
def test_a_killed_process_loses_nothing(bench: Bench) -> None:
    """DEL-1: after SIGKILL in the middle of deliveries the next process delivers whatever is missing."""
    bench.clusters.script(bench.sick, Script(status=503))
    with bench.start() as process:
        bench.produce(bench.sick, 100)
        bench.produce(bench.well, 500)
        eventually(lambda: bench.documents(bench.well) > 100, timeout=60)
        process.kill()
    bench.clusters.script(bench.sick)
    with bench.start() as process:
        for tenant in (bench.well, bench.sick):
            bench.await_delivery(tenant)
        eventually(lambda: bench.committed(bench.well) == 500, timeout=60)
        assert process.stop(20) == 0


@pytest.mark.services
def test_trouble_that_does_not_pass_ends_the_process(bench: Bench) -> None:
    """A thread that ends ends the program: never a process that holds its partitions and does nothing."""
    bench.config["kafka"]["session_timeout"] = "24h"  # more than a broker allows
    with bench.start() as process:
        assert process.wait(60) == 1
        last = told_by(process)[-1]
        assert last["event"] == "crashed"
        assert "session timeout is outside of the allowed range on the broker" in last["error"]


@pytest.mark.services
def test_sigterm_works_before_kafka_is_there(tmp_path: Path) -> None:
    """LIF-2, LIF-4: with no broker the process waits, and SIGTERM ends it."""
    (port,) = free_ports(1)
    tenants = {"a": {"topics": ["^a$"], "elasticsearch": {"endpoints": ["http://127.0.0.1:1"]}}}
    config = {"kafka": {"brokers": [f"127.0.0.1:{port}"], "topics": ["^a$"], "revoke_grace": "1s"}, "tenants": tenants}
    with start(tmp_path, config) as process:
        eventually(lambda: "started" in events(process), timeout=60)
        assert process.stop(20) == 0


@pytest.mark.services
def test_sigterm_works_while_the_broker_is_away(bench: Bench) -> None:
    """LIF-2, DEL-1: the process ends although it can neither commit nor leave its group; the next one goes on."""
    bench.config["telemetry"] = {"port": 0}
    with bench.start() as process:
        bench.produce(bench.well, 50)
        bench.await_delivery(bench.well)
        (port,) = (told["port"] for told in told_by(process) if told["event"] == "telemetry")
        bench.clusters.script(bench.sick, Script(latency=60))
        bench.produce(bench.sick, 50)
        eventually(lambda: bench.clusters.counters(bench.sick)["open"], timeout=60)
        bench.kafka.kill()
        try:
            eventually(lambda: status(port, "/readyz") == 503, timeout=60)
            assert process.stop(15) == 0
        finally:
            bench.kafka.start()
    bench.clusters.script(bench.sick)
    with bench.start() as process:
        bench.await_delivery(bench.sick)
        eventually(lambda: (bench.committed(bench.well), bench.committed(bench.sick)) == (50, 50), timeout=60)
        assert process.stop(15) == 0


@pytest.mark.services
def test_sigterm_works_while_partitions_change_hands(tmp_path: Path, kafka: Kafka, clusters: ScriptedClusters) -> None:
    """LIF-2, LIF-3, REB-7: told to stop as another member joins, it finishes what is under way; nothing comes twice."""
    bench = Bench(tmp_path, kafka, clusters, max_in_flight={"records": 10, "bytes": "1MiB"})
    tenants = bench.well, bench.sick
    for tenant in tenants:
        clusters.script(tenant, Script(latency=1.0))
        bench.produce(tenant, 400)
    with bench.start() as process, closing(KafkaAdminClient(bootstrap_servers=kafka.bootstrap)) as admin:
        eventually(lambda: all(bench.documents(tenant) for tenant in tenants), timeout=60)
        (tmp_path / "other").mkdir()
        with start(tmp_path / "other", bench.config) as other:
            eventually(lambda: len(admin.describe_groups([bench.run])[bench.run]["members"]) == 2, timeout=60)
            eventually(lambda: all(clusters.counters(tenant)["open"] for tenant in tenants), timeout=60)
            assert process.stop(15) == 0
            for tenant in tenants:
                clusters.script(tenant)
                bench.await_delivery(tenant)
            eventually(lambda: [bench.committed(tenant) for tenant in tenants] == [400, 400], timeout=60)
            assert other.stop(15) == 0
    assert [clusters.counters(tenant)["items"] for tenant in tenants] == [800, 800]


def test_a_check_says_whether_the_configuration_is_sound(tmp_path: Path) -> None:
    """OPS-2: `--check` connects to nothing, and ends with exit code 0, or with 2 and the mistakes."""
    path = tmp_path / "config.yaml"
    path.write_text("tenants: {a: {topics: [^a$], elasticsearch: {endpoints: ['http://127.0.0.1:1']}}}\n")
    assert ran("--config", str(path), "--check") == (0, "", "")
    path.write_text("tenants: {}\n")
    code, _, told = ran("--config", str(path), "--check")
    assert code == 2
    assert told.startswith("tenants: a mapping ")


def test_the_schema_describes_the_configuration() -> None:
    """`--print-schema` prints a JSON Schema that accepts what people write, with a description of each field."""
    code, printed, _ = ran("--print-schema")
    assert code == 0
    schema = orjson.loads(printed)
    models = [schema, *schema["$defs"].values()]
    fields = {f"{model['title']}.{name}": field for model in models for name, field in model["properties"].items()}
    assert [name for name, field in fields.items() if not field.keys() & {"description", "$ref"}] == []
    assert [model["title"] for model in models if "description" not in model] == []
    assert fields["Request.timeout"]["type"] == "string"
    assert {kind["type"] for kind in fields["Flush.max_bytes"]["anyOf"]} == {"string", "integer"}


def ran(*arguments: str) -> tuple[int, str, str]:
    """Run the reference until it ends by itself; return its exit code, and what it printed and told."""
    argv = [sys.executable, "-m", "isolane.reference", *arguments]
    done = subprocess.run(argv, capture_output=True, text=True, timeout=60, check=False)
    return done.returncode, done.stdout, done.stderr


def test_a_wrong_configuration_is_refused(tmp_path: Path) -> None:
    """OPS-2: it names the field, with exit code 2, and without a traceback."""
    with start(tmp_path, {"tenants": {}, "kafka": {"brokers": []}}) as process:
        assert process.wait(60) == 2
    lines = process.tail(10)
    assert any(line.startswith("kafka.brokers: ") for line in lines)
    assert not any("Traceback" in line for line in lines)
