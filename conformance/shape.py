"""The shape of a scenario's world: which tenants there are, their topics and partitions, and their load."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Role = Literal["sick", "healthy"]


@dataclass(frozen=True, slots=True)
class TenantShape:
    """One tenant: its partitions (one topic a signal) and its load in records a second, all topics together."""

    name: str
    role: Role
    partitions: int
    rate: float


@dataclass(frozen=True, slots=True)
class Shape:
    """The tenants of a world."""

    tenants: tuple[TenantShape, ...]

    @property
    def rate(self) -> float:
        """Records a second of all tenants together."""
        return sum(tenant.rate for tenant in self.tenants)
