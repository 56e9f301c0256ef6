"""The stage of one timeline: a Kafka, a node for each tenant, and Toxiproxy between them and the members.

Everything is the timeline's own, and ends with it: nothing that one timeline leaves can reach another.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from isolane.chaos.happenings import KAFKA
from isolane.chaos.timeline import Timeline
from isolane.conformance.broker import Broker, UnreadableError, connected
from isolane.conformance.errors import HarnessError
from isolane.conformance.nodes import ANSWERS_WITHIN, Nodes
from isolane.conformance.opening import Services
from isolane.fixtures.services.elasticsearch_conditions import Counts, counts
from isolane.fixtures.services.elasticsearch_probe import NotAnsweringError
from isolane.fixtures.services.kafka_cluster import KafkaCluster
from isolane.fixtures.services.toxiproxy import Toxiproxy
from isolane.fixtures.services.toxiproxy_control import Proxy


class ProxiedNodes(Nodes):
    """Nodes that tenants reach through a proxy each; the world itself searches them directly.

    Attributes:
        proxies: The proxy of each tenant that has a node, by its full name.
    """

    def __init__(self, folder: Path, progress: Callable[[str], None], toxiproxy: Toxiproxy, timeline: Timeline) -> None:
        """Begin to start the nodes of the timeline's tenants, each with its own settings."""
        super().__init__(folder, progress, ahead=[tenant.node for tenant in timeline.tenants])
        self._toxiproxy = toxiproxy
        self.proxies: dict[str, Proxy] = {}

    def add(self, tenant: str) -> str:
        """Give a tenant a node that is empty, and return the URL of the proxy before it."""
        upstream = urlsplit(super().add(tenant)).netloc
        self.proxies[tenant] = self._toxiproxy.proxy(tenant, upstream)
        return f"http://{self.proxies[tenant].listen}"

    def remove(self, tenant: str) -> None:
        """End a tenant's node, and its proxy."""
        self.proxies.pop(tenant).close()
        super().remove(tenant)

    def counts(self, tenant: str) -> Counts:
        """What a tenant's node has counted since it was started; nothing while it does not answer."""
        try:
            return counts(self.node(tenant).endpoint, timeout=ANSWERS_WITHIN)
        except NotAnsweringError:
            return Counts()


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
    kafka: KafkaCluster
    nodes: ProxiedNodes
    toxiproxy: Toxiproxy
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
def set_up(timeline: Timeline, folder: Path, progress: Callable[[str], None]) -> Iterator[Stage]:
    """The stage of a timeline, its logs and data below `folder`, while the block runs.

    Raises:
        FixtureError: A service does not start, or is left with a toxic; the message says what to do.
    """
    with (
        Toxiproxy(folder / "toxiproxy", progress=progress) as toxiproxy,
        ProxiedNodes(folder / "elasticsearch", progress, toxiproxy, timeline) as nodes,
        KafkaCluster(folder / "kafka", brokers=timeline.brokers, progress=progress) as kafka,
        connected(kafka.bootstrap) as broker,
    ):
        doors = {
            number: toxiproxy.proxy(f"{KAFKA}-{number}", each.listeners[0].address, listen=each.listeners[0].advertised)
            for number, each in kafka.brokers.items()
        }
        entrance = ",".join(door.listen for door in doors.values())
        described = {"kafka": kafka.described, "elasticsearch": nodes.described, "between": toxiproxy.described}
        services = Services(kafka.bootstrap, nodes, described, entrance=entrance)
        yield Stage(services, kafka, nodes, toxiproxy, doors, broker)
