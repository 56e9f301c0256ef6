"""The ground that a world stands on: its parts, its names, its phases, and the one loop in which it waits."""

from __future__ import annotations

import math
import random
import time
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Any

from isolane.conformance import bounds
from isolane.conformance.broker import Broker
from isolane.conformance.errors import ImplementationNotStartedError
from isolane.conformance.history_files import HistoryWriter
from isolane.conformance.load import Load
from isolane.conformance.members import Members
from isolane.conformance.observe import PERIOD, CommitObserver
from isolane.conformance.progress import Progress
from isolane.conformance.recording import Clusters
from isolane.conformance.shape import Shape, TenantShape
from isolane.fixtures.counting_proxy import Proxy
from isolane.fixtures.implementations.descriptor import Descriptor

STILL = 10.0
"""Seconds without an acceptance, at healthy clusters, after which the rest of a burst is not waited for."""


@dataclass(frozen=True, slots=True)
class WorldTenant:
    """A tenant of this world: its shape, its full name, and its topics' names by their numbers."""

    shape: TenantShape
    name: str
    topics: Mapping[int, str]


class Ground:
    """What every part of a world has: what it is made of, who is in it, and how it waits."""

    def __init__(
        self,
        descriptor: Descriptor,
        *,
        load: Load,
        members: Members,
        clusters: Clusters,
        commits: CommitObserver,
        progress: Progress,
        broker: Broker,
        shape: Shape,
        tenants: Mapping[str, WorldTenant],
        events: HistoryWriter,
        phase_began: Callable[[str], None],
        proxy: Proxy | None = None,
        seed: int = 0,
    ) -> None:
        """Put the parts together; they belong to whoever made them. `seed` is for what a story leaves to chance."""
        self.random = random.Random(seed)
        self.descriptor = descriptor
        self.load, self.members = load, members
        self._clusters, self._commits, self._progress = clusters, commits, progress
        self._broker = broker
        self._shape, self._tenants = shape, tenants
        self._events = events
        self.scale = 1.0  # of the shape's rates, since the load was begun
        self._given_up: set[int] = set()
        self._phase_began = phase_began
        self._proxy = proxy

    def tell(self, kind: str, name: str, **detail: Any) -> None:  # noqa: ANN401 - what JSON can say
        """Write an event to the history."""
        self._events.write({"at": time.monotonic(), "kind": kind, "name": name, **detail})

    def phase(self, name: str) -> None:
        """Begin a phase; it ends the one before, whose offered records are told."""
        ended, offered = self.load.phase(name)
        by_tenant = {
            tenant.name: sum(offered.get(topic, 0) for topic in tenant.topics)
            for tenant in self._tenants.values()
            if tenant.shape.role != "nobody"
        }
        for tenant, records in by_tenant.items():
            if records:
                self.tell("load", "offered", phase=ended, tenant=tenant, records=records)
        self.tell("phase", name)
        self._phase_began(name)

    @property
    def patience(self) -> float:
        """Seconds within which things must happen that only need the implementation to go on; its claims are capped.

        Where it publishes when a cluster is tried again, that is waited for, and an attempt that may be open before it.
        """
        believed = bounds.effective(self.descriptor)
        usual = 20 + believed["session_timeout"] + believed["metadata_max_age"]
        if "probe_interval" not in believed:
            return usual
        return max(usual, believed["probe_interval"] + believed["request_timeout"])

    def name_of(self, tenant: str) -> str:
        """The full name of a tenant of the shape."""
        return self._tenants[tenant].name

    def topics_of(self, tenant: str) -> tuple[str, ...]:
        """The names of a tenant's topics."""
        return tuple(self._tenants[tenant].topics.values())

    def await_that(self, condition: Callable[[], bool], timeout: float, what: str) -> bool:
        """Whether a condition of the caller's own came true within `timeout` seconds; `what` says what it is."""
        return self._await(condition, timeout, what)

    def run_for(self, seconds: float) -> None:
        """Let the world live on, while its members do: a phase has a length, it is not a wait for something.

        What comes meanwhile is followed: all of it in one go, when a heal begins, would starve the load, and the drain.
        """

        def over() -> bool:
            self._progress.follow()
            return False

        self._await(over, seconds, "the end of the phase")

    def _await_none(
        self, missing: Callable[[], Collection[int]], timeout: float, what: str, *, going_on: float = 0.0
    ) -> bool:
        """Whether none of the records is missing any more within `timeout` seconds, or `going_on` while they come.

        What is committed past will hardly come any more: when nothing else is missing, and nothing comes for a while,
        there is nothing to wait for.
        """
        fewest: float = math.inf
        latest = began = time.monotonic()

        def over() -> bool:
            nonlocal fewest, latest
            left, now = missing(), time.monotonic()
            if len(left) < fewest:
                fewest, latest = len(left), now
            still = now - latest > STILL
            return not left or (still and (now - began >= timeout or all(map(self._is_passed, left))))

        return self._await(over, max(timeout, going_on), what) and not fewest

    def _is_passed(self, record: int) -> bool:
        """Whether the committed offset is past a record."""
        place = self.load.place(record)
        if place is None:
            return False
        topic, partition, offset = place
        names = {number: name for tenant in self._tenants.values() for number, name in tenant.topics.items()}
        return self._commits.latest.get((names[topic], partition), 0) > offset

    def _missing(self) -> Mapping[int, int]:
        return self._progress.missing()

    def _await(self, condition: Callable[[], bool], timeout: float, what: str, *, alive: bool = False) -> bool:
        """Whether `condition` came true within `timeout` seconds; members that end are told meanwhile."""
        deadline = time.monotonic() + timeout
        while True:
            for number in self.members.ended():
                if alive:
                    raise ImplementationNotStartedError(
                        f"{self.descriptor.name}: the command ended before {what} came through; "
                        f"its last words:\n{self.members.last_words(number)}",
                    )
            if condition():
                return True
            left = deadline - time.monotonic()
            if left <= 0:
                return False
            time.sleep(min(PERIOD / 2, left))
