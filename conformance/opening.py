"""Opening a world: its topics, clusters, load, observers and members, and their end whatever happens."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from isolane.conformance import bounds
from isolane.conformance.broker import connected
from isolane.conformance.depth import Depth
from isolane.conformance.history_files import (
    COMMITS,
    DEAD_LETTERS,
    EVENTS,
    FETCHED,
    META,
    PRODUCED,
    SAMPLES,
    HistoryWriter,
)
from isolane.conformance.history_values import Meta
from isolane.conformance.load import Load, LoadTopic
from isolane.conformance.members import Members
from isolane.conformance.observe import GROUP_PERIOD, CommitObserver, GroupObserver, ProcessSampler, periodically
from isolane.conformance.observe_letters import LetterObserver, letter_topics, source_of
from isolane.conformance.producer import Producers
from isolane.conformance.progress import Progress
from isolane.conformance.recording import Clusters, recorded
from isolane.conformance.shape import Shape
from isolane.conformance.world import World, WorldTenant
from isolane.fixtures.counting_proxy import counting
from isolane.fixtures.implementations.descriptor import Descriptor
from isolane.fixtures.implementations.rendering import TenantView, WorldView
from isolane.fixtures.services import Listener


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


@dataclass(frozen=True, slots=True)
class Plan:
    """What a world is for: a scenario's name and shape, and the ids that it declares to judge."""

    scenario: str
    judges: tuple[str, ...]
    shape: Shape
    depth: Depth
    seed: int


@dataclass(frozen=True, slots=True)
class _Names:
    """This world's own names: its number, and what tenants and topics are called in it."""

    run: int
    tenants: dict[str, WorldTenant]
    topics: list[LoadTopic]

    @property
    def owning(self) -> tuple[WorldTenant, ...]:
        """The tenants that the implementation is told of."""
        return tuple(tenant for tenant in self.tenants.values() if tenant.shape.role != "nobody")

    @property
    def owners(self) -> dict[int, str]:
        return {number: tenant.name for tenant in self.owning for number in tenant.topics}

    @property
    def settings(self) -> dict[str, Mapping[str, str]]:
        return {name: tenant.shape.settings for tenant in self.tenants.values() for name in tenant.topics.values()}


def _named(plan: Plan, descriptor: Descriptor, folder: Path) -> _Names:
    run = random.Random(f"{plan.scenario} {plan.seed} {folder}").randrange(1 << 16)
    names = _Names(run, {}, [])
    for tenant in plan.shape.tenants:
        full, first = f"{tenant.name}-{run:04x}", len(names.topics)
        signals = descriptor.input.signals if tenant.signals == "all" else descriptor.input.signals[:1]
        topics = [
            LoadTopic(
                f"managed_otlp.{signal}.{full}",
                0 if tenant.late else tenant.partitions,
                signal,
                tenant.codecs,
                owned=tenant.role != "nobody",
                keyed=tenant.settings.get("cleanup.policy") == "compact",
                padding=tenant.padding,
            )
            for signal in signals
        ]
        named = {number: topic.name for number, topic in enumerate(topics, first)}
        names.tenants[tenant.name] = WorldTenant(tenant, full, named)
        names.topics.extend(topics)
    return names


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
    observers and load end, and topics and clusters are removed, unless services are to keep them.
    """
    folder.mkdir(parents=True)
    names = _named(plan, descriptor, folder)
    topics = names.topics
    counted = plan.shape.counted and bool(services.listeners)
    encoding = descriptor.input.encodings[0 if plan.shape.encoding == "first" else -1]
    view = WorldView(
        brokers=services.listeners[0].advertised if counted else services.entrance or services.bootstrap,
        group_id=f"isolane-{plan.scenario}-{names.run:04x}",
        topic_pattern=rf"^managed_otlp\.[a-z]+\.[a-z0-9]+-{names.run:04x}$",
        tenants=tuple(
            TenantView(
                name=tenant.name,
                topics=tuple(tenant.topics.values()),
                topic_pattern=rf"^managed_otlp\.(logs|metrics|traces)\.{tenant.name}$",
                endpoint=services.clusters.add(tenant.name),
            )
            for tenant in names.owning
        ),
        initial_offset=plan.shape.initial_offset,
        encoding=encoding,
    )
    meta = _meta(plan, descriptor, view.group_id, names)
    (folder / META).write_text(meta.model_dump_json(by_alias=True, indent=2) + "\n")
    with ExitStack() as stack:
        broker = stack.enter_context(connected(services.bootstrap))
        broker.create_topics({topic.name: topic.partitions for topic in topics if topic.partitions}, names.settings)
        aside = letter_topics(descriptor.dead_letter, (topic.name for topic in topics))
        if not services.keep:
            stack.callback(broker.delete_topics, {*(topic.name for topic in topics), *aside})
            for tenant in names.owning:
                stack.callback(services.clusters.remove, tenant.name)
        stack.enter_context(recorded(services.clusters, [tenant.name for tenant in names.owning], folder))
        produced, events, commits, samples, dead_letters = (
            stack.enter_context(HistoryWriter(folder / name))
            for name in (PRODUCED, EVENTS, COMMITS, SAMPLES, DEAD_LETTERS)
        )
        load = Load(
            Producers(services.bootstrap, transactional_id=view.group_id),
            topics,
            run=names.run,
            items=descriptor.output.items_per_record,
            encoding=encoding,
            undecodable=descriptor.dead_letter.policy,
            seed=plan.seed,
            produced=produced,
            events=events,
        )
        stack.callback(load.close)
        numbers = {topic.name: number for number, topic in enumerate(topics)}
        observer_broker = stack.enter_context(connected(services.bootstrap))
        observer = CommitObserver(observer_broker, view.group_id, numbers, lambda: load.partitions, commits)
        stack.enter_context(periodically("commit-observer", observer.read, events))
        group = GroupObserver(stack.enter_context(connected(services.bootstrap)), view.group_id, numbers, events)
        stack.enter_context(periodically("group-observer", group.read, events, period=GROUP_PERIOD))
        source = stack.enter_context(source_of(descriptor.dead_letter, services.bootstrap, aside, folder))
        if source is not None:
            letters = LetterObserver(source, descriptor.dead_letter.headers, numbers, dead_letters)
            stack.enter_context(periodically("dead-letter-observer", letters.read, events))
        if counted:
            address = services.listeners[0]
            proxy = counting(address.advertised, address.address, folder / FETCHED, folder / "counting-proxy.log")
            stack.enter_context(proxy)
        members = Members(descriptor, view, folder, events)
        sampler = ProcessSampler(lambda: members.pids, samples)
        stack.enter_context(periodically("process-sampler", sampler.read, events))
        stack.callback(members.kill_all)
        world = World(
            descriptor,
            load=load,
            members=members,
            clusters=services.clusters,
            commits=observer,
            progress=Progress(load, folder, names.run, names.owners),
            broker=broker,
            shape=plan.shape,
            tenants=names.tenants,
            events=events,
            phase_began=phase_began,
        )
        yield world
        world.phase("end")
        members.stop_all()


def _meta(plan: Plan, descriptor: Descriptor, group: str, names: _Names) -> Meta:
    return Meta.model_validate(
        {
            "schema": 1,
            "scenario": plan.scenario,
            "implementation": descriptor.name,
            "depth": plan.depth.name,
            "seed": plan.seed,
            "run": f"{names.run:04x}",
            "group": group,
            "tenants": [
                {"name": tenant.name, "role": tenant.shape.role, "topics": tuple(tenant.topics)}
                for tenant in names.owning
            ],
            "topics": [
                {"name": name, "tenant": names.owners.get(number), "partitions": tenant.shape.partitions}
                for tenant in names.tenants.values()
                for number, name in tenant.topics.items()
            ],
            "items_per_record": descriptor.output.items_per_record,
            "bounds": bounds.effective(descriptor),
            "features": descriptor.features,
            "judges": plan.judges,
            "dead_letter": {"kind": descriptor.dead_letter.kind, "undecodable": descriptor.dead_letter.policy},
        },
    )
