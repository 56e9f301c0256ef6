"""What members tell of their tenants and partitions, scrape by scrape, and what was open at the clusters meanwhile."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from isolane.conformance.checkers import slots
from isolane.conformance.history import History
from isolane.conformance.history_ledger import Attempt
from isolane.conformance.history_values import Phase
from isolane.conformance.metrics_text import Reading

EDGE = 1.0
"""Seconds by which what a member tells may be older, or younger, than what the clusters saw."""

THROUGHOUT, NEAR = 0.1, 0.5
"""Seconds around a scrape for which a request must be open to hold a slot for certain, and within which it may."""

Place = tuple[int, int]

Wrong = Callable[[History, Phase, Sequence[Reading]], Iterator[str]]
"""Yields what is wrong about a metric."""


def tenants(
    history: History, readings: Sequence[Reading], name: str
) -> Iterator[tuple[str, list[tuple[float, float]]]]:
    """Yield each tenant with what was told of it: when, and the value."""
    for tenant in history.by_tenant:
        yield tenant, [(each.at, each.tenants[name][tenant]) for each in readings if tenant in each.tenants[name]]


def partitions(
    history: History, readings: Sequence[Reading], name: str
) -> Iterator[tuple[Place, list[tuple[float, float]]]]:
    """Yield each partition of an owned topic with what was told of it: when, and the value."""
    for number, topic in enumerate(history.meta.topics):
        for partition in range(topic.partitions if topic.tenant else 0):
            place = topic.name, partition
            told = [(each.at, each.partitions[name][place]) for each in readings if place in each.partitions[name]]
            yield (number, partition), told


def place_name(history: History, place: Place) -> str:
    """Return what a partition is called."""
    return f"{history.topic(place[0])}/{place[1]}"


def open_through(history: History, tenant: str, reading: Reading) -> list[Attempt]:
    """Return the requests that were open at the tenant's cluster all through a scrape."""
    return [
        attempt
        for attempt in slots.attempts_of(history, tenant)
        if attempt.arrived < reading.began - THROUGHOUT and slots.end(attempt) > reading.at + THROUGHOUT
    ]
