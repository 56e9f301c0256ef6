"""Opening a world: its topics, clusters, load, observers and members, and their end whatever happens."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from isolane.conformance import self_watch
from isolane.conformance.broker import Broker, connected
from isolane.conformance.history_files import (
    COMMITS,
    DEAD_LETTERS,
    EVENTS,
    FETCHED,
    GROUPS,
    META,
    PRODUCED,
    SAMPLES,
    SCRAPES,
    HistoryWriter,
)
from isolane.conformance.history_values import COMMIT_OBSERVER, GROUP_OBSERVER, LETTER_OBSERVER
from isolane.conformance.load import Load
from isolane.conformance.members import Members
from isolane.conformance.naming import Plan, meta_of, named, view_of
from isolane.conformance.observe import PERIOD, CommitObserver, ProcessSampler, periodically
from isolane.conformance.observe_group import GroupObserver
from isolane.conformance.observe_letters import LetterObserver, letter_topics, source_of
from isolane.conformance.observe_metrics import MetricsScraper
from isolane.conformance.producer import Producers
from isolane.conformance.progress import Progress
from isolane.conformance.recording import Clusters, ended, recorded
from isolane.conformance.self_watch import ClockWatch, ClusterWatch
from isolane.conformance.world import World
from isolane.fixtures.cluster import ScriptedClusters
from isolane.fixtures.counting_proxy import Proxy, counting
from isolane.fixtures.implementations.descriptor import Descriptor
from isolane.fixtures.services import Listener

__all__ = ["Plan", "Services", "opened"]


@dataclass(frozen=True, slots=True)
class Services:
    """What worlds stand on.

    Attributes:
        bootstrap: Kafka's address (host:port).
        clusters: The tenants' clusters.
        described: What they are, in words.
        listeners: Kafka's spare listeners, to put proxies in front of.
        entrance: Where members begin to reach Kafka (`host:port`, or several with commas); empty for `bootstrap`.
        keep: Whether topics and clusters stay when their world ends, to be looked at.
    """

    bootstrap: str
    clusters: Clusters
    described: Mapping[str, str] = field(default_factory=dict)
    listeners: tuple[Listener, ...] = ()
    entrance: str = ""
    keep: bool = False


@contextmanager
def opened(
    plan: Plan,
    descriptor: Descriptor,
    services: Services,
    folder: Path,
    phase_began: Callable[[str], None],
) -> Iterator[World]:
    """A world whose history goes to `folder`; no member runs yet. `phase_began` hears of each phase.

    At the end members are stopped as their descriptor says (killed when the block was left by an exception),
    observers and load end, and topics and clusters are removed, unless services are to keep them. Nothing is written
    to the history after that.
    """
    folder.mkdir(parents=True)
    with ExitStack() as stack:
        opening = _Opening(plan, descriptor, services, folder, stack)
        world = opening.world(phase_began)
        yield world
        world.phase("end")
        world.members.stop_all()


class _Opening:
    """The parts of one world as they are put together; what is opened is closed by the stack, last opened first."""

    def __init__(self, plan: Plan, descriptor: Descriptor, services: Services, folder: Path, stack: ExitStack) -> None:
        self._plan, self._descriptor, self._services = plan, descriptor, services
        self._folder, self._stack = folder, stack
        self._names = named(plan, descriptor, folder)
        self._numbers = {topic.name: number for number, topic in enumerate(self._names.topics)}
        self._listener = services.listeners[0] if plan.shape.counted and services.listeners else None
        self._view = view_of(
            plan,
            descriptor,
            self._names,
            brokers=self._listener.advertised if self._listener else services.entrance or services.bootstrap,
            endpoint=services.clusters.add,
        )
        meta = meta_of(plan, descriptor, self._names, self._view)
        (folder / META).write_text(meta.model_dump_json(by_alias=True, indent=2) + "\n")
        self._aside = letter_topics(descriptor.dead_letter, self._numbers)

    def world(self, phase_began: Callable[[str], None]) -> World:
        """Open everything."""
        broker = self._broker()
        self._make(broker)
        events = self._file(EVENTS)
        load = self._load(events)
        commits = self._observe(load, events)
        proxy = self._put_between() if self._listener else None
        members = Members(self._descriptor, self._view, self._folder, events)
        self._sample(members, events)
        self._watch(events)
        self._stack.callback(members.kill_all)
        return World(
            self._descriptor,
            load=load,
            members=members,
            clusters=self._services.clusters,
            commits=commits,
            progress=Progress(load, self._folder, self._names.run, self._names.owners),
            broker=broker,
            shape=self._plan.shape,
            tenants=self._names.tenants,
            events=events,
            phase_began=phase_began,
            seed=self._plan.seed,
            proxy=proxy,
        )

    def _make(self, broker: Broker) -> None:
        """Make topics, and let clusters keep their ledgers."""
        self._stack.callback(ended, self._services.clusters)
        topics = {topic.name: topic.partitions for topic in self._names.topics if topic.partitions}
        broker.create_topics(topics, self._names.settings)
        tenants = [tenant.name for tenant in self._names.owning]
        if not self._services.keep:
            self._stack.callback(broker.delete_topics, {*self._numbers, *self._aside})
            for tenant in tenants:
                self._stack.callback(self._services.clusters.remove, tenant)
        self._stack.enter_context(recorded(self._services.clusters, tenants, self._folder))

    def _load(self, events: HistoryWriter) -> Load:
        load = Load(
            Producers(self._services.bootstrap, transactional_id=self._view.group_id),
            self._names.topics,
            run=self._names.run,
            items=self._descriptor.output.items_per_record,
            encoding=self._view.encoding,
            undecodable=self._descriptor.dead_letter.policy,
            seed=self._plan.seed,
            produced=self._file(PRODUCED),
            events=events,
        )
        self._stack.callback(load.close)
        return load

    def _observe(self, load: Load, events: HistoryWriter) -> CommitObserver:
        """Observe the group, its commits, and dead letters; each on a connection of its own."""
        group, letters = self._view.group_id, self._descriptor.dead_letter
        commits = CommitObserver(self._broker(), group, self._numbers, lambda: load.partitions, self._file(COMMITS))
        self._periodically(COMMIT_OBSERVER, commits.read, events)
        states = GroupObserver.of(self._broker(), group, self._numbers, self._file(GROUPS))
        self._stack.enter_context(closing(states))
        self._periodically(GROUP_OBSERVER, states.read, events)
        found = self._file(DEAD_LETTERS)
        source = self._stack.enter_context(source_of(letters, self._services.bootstrap, self._aside, self._folder))
        if source is not None:
            observer = LetterObserver(source, letters.headers, self._numbers, found)
            self._periodically(LETTER_OBSERVER, observer.read, events)
        return commits

    def _sample(self, members: Members, events: HistoryWriter) -> None:
        """Sample the members' processes, and what they tell of themselves."""
        self._periodically("process-sampler", ProcessSampler(lambda: members.pids, self._file(SAMPLES)).read, events)
        if self._plan.shape.scraped and self._descriptor.metrics:
            scraper = MetricsScraper(lambda: members.metrics_urls, self._file(SCRAPES))
            self._periodically("metrics-scraper", scraper.read, events)

    def _watch(self, events: HistoryWriter) -> None:
        """Watch over what measures."""
        self._periodically("clock-watch", ClockWatch(events).read, events, period=self_watch.PERIOD)
        clusters = self._services.clusters
        if isinstance(clusters, ScriptedClusters):
            watch = ClusterWatch(clusters, self._names.owning[0].name, events)
            self._periodically("cluster-watch", watch.read, events)

    def _put_between(self) -> Proxy:
        assert self._listener is not None
        listener, folder = self._listener, self._folder
        proxy = counting(listener.advertised, listener.address, folder / FETCHED, folder / "counting-proxy.log")
        return self._stack.enter_context(proxy)

    def _broker(self) -> Broker:
        return self._stack.enter_context(connected(self._services.bootstrap))

    def _file(self, name: str) -> HistoryWriter:
        return self._stack.enter_context(HistoryWriter(self._folder / name))

    def _periodically(
        self, name: str, read: Callable[[], None], events: HistoryWriter, *, period: float = PERIOD
    ) -> None:
        self._stack.enter_context(periodically(name, read, events, period=period))
