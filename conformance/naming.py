"""What a world is called: its tenants, topics and group, and what implementation and history are told of them."""

from __future__ import annotations

import base64
import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from isolane.conformance import bounds
from isolane.conformance.depth import Depth
from isolane.conformance.history_values import Meta
from isolane.conformance.load import LoadTopic
from isolane.conformance.shape import Shape
from isolane.conformance.world import WorldTenant
from isolane.fixtures.implementations.descriptor import Descriptor
from isolane.fixtures.implementations.rendering import TenantView, WorldView


@dataclass(frozen=True, slots=True)
class Plan:
    """What a world is for: a scenario's name and shape, and the ids that it declares to judge."""

    scenario: str
    judges: tuple[str, ...]
    shape: Shape
    depth: Depth
    seed: int


@dataclass(frozen=True, slots=True)
class Names:
    """A world's own names: its number, and what tenants and topics are called in it."""

    run: int
    tenants: dict[str, WorldTenant]
    topics: list[LoadTopic]

    @property
    def owning(self) -> tuple[WorldTenant, ...]:
        """The tenants that the implementation is told of."""
        return tuple(tenant for tenant in self.tenants.values() if tenant.shape.role != "nobody")

    @property
    def owners(self) -> dict[int, str]:
        """The full name of the tenant of each owned topic, by the topic's number."""
        return {number: tenant.name for tenant in self.owning for number in tenant.topics}

    @property
    def settings(self) -> dict[str, Mapping[str, str]]:
        """Kafka's settings of each topic, by its name."""
        return {name: tenant.shape.settings for tenant in self.tenants.values() for name in tenant.topics.values()}


def named(plan: Plan, descriptor: Descriptor, folder: Path) -> Names:
    """Make up the names of a world whose history goes to `folder`."""
    run = random.Random(f"{plan.scenario} {plan.seed} {folder}").randrange(1 << 16)
    names = Names(run, {}, [])
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


def view_of(
    plan: Plan, descriptor: Descriptor, names: Names, *, brokers: str, endpoint: Callable[[str], str]
) -> WorldView:
    """What templates see of a world; `endpoint` makes a tenant's cluster and returns its URL."""
    return WorldView(
        brokers=brokers,
        group_id=f"isolane-{plan.scenario}-{names.run:04x}",
        topic_pattern=rf"^managed_otlp\.[a-z]+\.[a-z0-9]+-{names.run:04x}$",
        tenants=tuple(
            TenantView(
                name=tenant.name,
                topics=tuple(tenant.topics.values()),
                topic_pattern=rf"^managed_otlp\.(logs|metrics|traces)\.{tenant.name}$",
                endpoint=endpoint(tenant.name),
                api_key=base64.b64encode(f"{tenant.name}:{_secret(tenant, 'key')}".encode()).decode(),
                username=tenant.name,
                password=_secret(tenant, "password"),
            )
            for tenant in names.owning
        ),
        initial_offset=plan.shape.initial_offset,
        encoding=descriptor.input.encodings[0 if plan.shape.encoding == "first" else -1],
    )


def _secret(tenant: WorldTenant, kind: str) -> str:
    return f"{kind}-{random.Random(f'{tenant.name} {kind}').randbytes(12).hex()}"


def _given(descriptor: Descriptor, tenant: TenantView) -> tuple[str, ...]:
    """Return those of a tenant's secrets that the descriptor says the implementation is given."""
    given = descriptor.config.credentials
    return (*((tenant.api_key,) if "api_key" in given else ()), *((tenant.password,) if "basic" in given else ()))


def meta_of(plan: Plan, descriptor: Descriptor, names: Names, view: WorldView) -> Meta:
    """What the history says of the scenario."""
    return Meta.model_validate(
        {
            "schema": 1,
            "scenario": plan.scenario,
            "implementation": descriptor.name,
            "depth": plan.depth.name,
            "seed": plan.seed,
            "run": f"{names.run:04x}",
            "group": view.group_id,
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
            "metrics": descriptor.metrics.model_dump() if descriptor.metrics else {},
            "secrets": [secret for tenant in view.tenants for secret in _given(descriptor, tenant)],
            "dead_letter": {"kind": descriptor.dead_letter.kind, "undecodable": descriptor.dead_letter.policy},
        },
    )
