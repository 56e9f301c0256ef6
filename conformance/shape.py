"""The shape of a scenario's world: which tenants there are, their topics and partitions, and their load."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from isolane.conformance.load import PADDING
from isolane.conformance.producer import Codec

Role = Literal["sick", "healthy", "nobody"]
"""A tenant's part. `nobody` is none: its topics match the pattern, and no tenant of the configuration owns them."""


@dataclass(frozen=True, slots=True)
class TenantShape:
    """One tenant.

    Attributes:
        name: Its name, to which the world adds its number.
        role: Its part.
        partitions: Of each of its topics.
        rate: Its load in records a second, all topics together.
        signals: Whether it has a topic of each signal that the implementation takes, or of the first one only.
        late: Whether its topics are made only when the story says so.
        codecs: How the batches of its partitions are compressed, round and round.
        settings: Kafka's settings of its topics.
        padding: Bytes by which the text of each item of its load is lengthened.
    """

    name: str
    role: Role
    partitions: int
    rate: float
    signals: Literal["one", "all"] = "one"
    late: bool = False
    codecs: tuple[Codec, ...] = ("none",)
    settings: Mapping[str, str] = field(default_factory=dict)
    padding: int = PADDING


@dataclass(frozen=True, slots=True)
class Shape:
    """The tenants of a world, and what the implementation is told of it.

    Attributes:
        tenants: The tenants.
        initial_offset: Where a group that has committed nothing begins.
        encoding: Which of the encodings that the implementation names is used.
        counted: Whether members reach Kafka through a proxy that counts what they fetch, and can let Kafka be away,
            where Kafka can have one.
        scraped: Whether the members' own metrics are read, where they have any.
    """

    tenants: tuple[TenantShape, ...]
    initial_offset: Literal["earliest", "latest"] = "earliest"
    encoding: Literal["first", "last"] = "first"
    counted: bool = False
    scraped: bool = False

    @property
    def rate(self) -> float:
        """Records a second of all tenants together."""
        return sum(tenant.rate for tenant in self.tenants)
