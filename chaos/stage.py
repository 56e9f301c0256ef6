"""The stage of one timeline: a Kafka, a node for each tenant, and Toxiproxy between them and the members.

Everything is the timeline's own, and ends with it: nothing that one timeline leaves can reach another.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, Protocol, get_args
from urllib.parse import urlsplit

from isolane.chaos.happenings import KAFKA
from isolane.chaos.timeline import Timeline
from isolane.conformance.broker import Broker, UnreadableError, connected
from isolane.conformance.errors import HarnessError
from isolane.conformance.nodes import ANSWERS_WITHIN, Make, Nodes, Settings
from isolane.conformance.opening import Services
from isolane.fixtures.services import Kafka
from isolane.fixtures.services.container_services import ContainerElasticsearch, ContainerKafka, ContainerToxiproxy
from isolane.fixtures.services.elasticsearch_conditions import Counts, counts
from isolane.fixtures.services.elasticsearch_probe import NotAnsweringError
from isolane.fixtures.services.errors import ServiceError
from isolane.fixtures.services.kafka_cluster import KafkaCluster
from isolane.fixtures.services.toxiproxy import Toxiproxy
from isolane.fixtures.services.toxiproxy_control import Control, Proxy

Place = Literal["native", "containers"]
"""Where services come from."""

PLACES: tuple[Place, ...] = get_args(Place)


class Between(Protocol):
    """A Toxiproxy, wherever it runs."""

    control: Control
    described: str

    def proxy(self, name: str, upstream: str, *, listen: str | None = None) -> Proxy:
        """Make a proxy."""

    def connections(self, proxy: str) -> int:
        """How many connections a proxy has accepted."""

    def open_connections(self, ports: Collection[int]) -> int:
        """How many connections are open to proxies on these ports."""


class Brokers(Protocol):
    """A Kafka, wherever it runs."""

    @property
    def brokers(self) -> Mapping[int, Kafka]:
        """Each broker, by its number."""

    @property
    def bootstrap(self) -> str:
        """Where clients begin."""

    @property
    def described(self) -> str:
        """What it is, for reports."""


@dataclass(frozen=True)
class _One:
    """A Kafka of one broker that is started already."""

    broker: Kafka
    described: str

    @property
    def brokers(self) -> Mapping[int, Kafka]:
        return {1: self.broker}

    @property
    def bootstrap(self) -> str:
        return self.broker.bootstrap


class ProxiedNodes(Nodes):
    """Nodes that tenants reach through a proxy each; the world itself searches them directly.

    Attributes:
        proxies: The proxy of each tenant that has a node, by its full name.
    """

    def __init__(
        self, folder: Path, progress: Callable[[str], None], toxiproxy: Between, timeline: Timeline, make: Make | None
    ) -> None:
        """Begin to start the nodes of the timeline's tenants, each with its own settings."""
        super().__init__(folder, progress, ahead=[tenant.node for tenant in timeline.tenants], make=make)
        self._toxiproxy = toxiproxy
        self.proxies: dict[str, Proxy] = {}

    def add(self, tenant: str) -> str:
        """Give a tenant a node that is empty, and return the URL of the proxy before it."""
        user, at, upstream = urlsplit(super().add(tenant)).netloc.rpartition("@")
        self.proxies[tenant] = self._toxiproxy.proxy(tenant, upstream)
        return f"http://{user}{at}{self.proxies[tenant].listen}"

    def remove(self, tenant: str) -> None:
        """End a tenant's node, and its proxy."""
        self.proxies.pop(tenant).close()
        super().remove(tenant)

    def counts(self, tenant: str) -> Counts:
        """What a tenant's node has counted since it was started.

        Raises:
            HarnessError: It does not answer: it is killed or frozen, say.
        """
        try:
            return counts(self.node(tenant).endpoint, timeout=ANSWERS_WITHIN)
        except NotAnsweringError as error:
            raise HarnessError(f"{tenant}'s node does not say what it has answered: {error}") from error


@dataclass(frozen=True)
class Stage:
    """What a timeline is lived on.

    Attributes:
        services: What the world stands on.
        kafka: The brokers.
        nodes: The tenants' nodes.
        toxiproxy: What is between.
        doors: The proxy before each broker, by its number.
        broker: A connection to Kafka, past the proxies.
    """

    services: Services
    kafka: Brokers
    nodes: ProxiedNodes
    toxiproxy: Between
    doors: Mapping[int, Proxy]
    broker: Broker

    def door(self, which: str, group: str, topics: Collection[str]) -> Proxy:
        """The proxy before the broker that is meant: by number, `coordinator` of the group, or `leader` of partitions.

        Raises:
            HarnessError: There is no such broker now.
        """
        if which.isdigit():
            return self.doors[int(which)]
        try:
            coordinator = self.broker.coordinator(group)
            leaders = set(self.broker.leaders(topics).values()) - {coordinator, -1}
        except UnreadableError as error:
            raise HarnessError(f"Kafka does not say who leads: {error}") from error
        if which == "coordinator":
            return self.doors[coordinator]
        if not leaders:
            raise HarnessError("no broker leads partitions and not the group: there are too few of one or the other")
        return self.doors[min(leaders)]


@contextmanager
def set_up(
    timeline: Timeline, folder: Path, progress: Callable[[str], None], place: Place = "native"
) -> Iterator[Stage]:
    """The stage of a timeline, its logs and data below `folder`, while the block runs.

    Raises:
        FixtureError: A service does not start, or is left with a toxic; the message says what to do.
    """
    with ExitStack() as stack:
        toxiproxy, kafka, make = _started(stack, timeline, folder, progress, place)
        nodes = stack.enter_context(ProxiedNodes(folder / "elasticsearch", progress, toxiproxy, timeline, make))
        broker = stack.enter_context(connected(kafka.bootstrap))
        doors = {
            number: toxiproxy.proxy(f"{KAFKA}-{number}", each.listeners[0].address, listen=each.listeners[0].advertised)
            for number, each in kafka.brokers.items()
        }
        entrance = ",".join(door.listen for door in doors.values())
        elasticsearch = nodes.described if make is None else ContainerElasticsearch.described
        described = {"kafka": kafka.described, "elasticsearch": elasticsearch, "between": toxiproxy.described}
        services = Services(kafka.bootstrap, nodes, described, entrance=entrance)
        yield Stage(services, kafka, nodes, toxiproxy, doors, broker)


def _started(
    stack: ExitStack, timeline: Timeline, folder: Path, progress: Callable[[str], None], place: Place
) -> tuple[Between, Brokers, Make | None]:
    """Toxiproxy and Kafka, started, and what makes a node."""
    if place == "native":
        toxiproxy = stack.enter_context(Toxiproxy(folder / "toxiproxy", progress=progress))
        cluster = KafkaCluster(folder / "kafka", brokers=timeline.brokers, progress=progress)
        return toxiproxy, stack.enter_context(cluster), None
    if timeline.brokers > 1:
        raise ServiceError(f"{timeline.name} takes {timeline.brokers} brokers: only native services have so many")
    between = stack.enter_context(ContainerToxiproxy(progress=progress))
    broker = stack.enter_context(ContainerKafka(folder / "kafka", progress=progress))

    def make(_folder: Path, settings: Settings) -> ContainerElasticsearch:
        return ContainerElasticsearch(progress=progress, settings=settings)

    return between, _One(broker, broker.described), make
