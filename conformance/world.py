"""The world of one scenario: topics, consumer group, clusters, load, members and observers.

Whatever is done to it, and whatever is seen in it, goes to the scenario's history. Names of tenants and
topics carry the run's number, so that worlds on one Kafka never meet.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from isolane.conformance import bounds
from isolane.conformance.broker import Broker
from isolane.conformance.errors import ImplementationNotStartedError, NoTrafficError
from isolane.conformance.history_files import HistoryWriter
from isolane.conformance.load import PLAIN, Draft, Load
from isolane.conformance.members import Members
from isolane.conformance.nodes import Nodes
from isolane.conformance.observe import PERIOD, CommitObserver
from isolane.conformance.observe_letters import letter_topics
from isolane.conformance.progress import Progress
from isolane.conformance.reader import has_gaps
from isolane.conformance.recording import Clusters
from isolane.conformance.shape import Shape, TenantShape
from isolane.conformance.tokens import topic_of
from isolane.fixtures.cluster import Script, ScriptedClusters
from isolane.fixtures.implementations.descriptor import Descriptor

ACKNOWLEDGED_WITHIN = 20.0
"""Seconds that Kafka has to acknowledge the load."""

LOOKED_WITHIN = 20.0
"""Seconds that observers get to see how things are."""

KNOCK = 0.5
"""Seconds between canaries to a group that begins at the end of topics."""

STILL = 10.0
"""Seconds without an acceptance, at healthy clusters, after which the rest of a burst is not waited for."""


@dataclass(frozen=True, slots=True)
class WorldTenant:
    """A tenant of this world: its shape, its full name, and its topics' names by their numbers."""

    shape: TenantShape
    name: str
    topics: Mapping[int, str]


class World:
    """One living scenario; `opening.opened` makes it."""

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
    ) -> None:
        """Put the parts together; they belong to whoever made them."""
        self.descriptor = descriptor
        self.load, self.members = load, members
        self._clusters, self._commits, self._progress = clusters, commits, progress
        self._broker = broker
        self._shape, self._tenants = shape, tenants
        self._events = events
        self.scale = 1.0  # of the shape's rates, since the load was begun
        self._given_up: set[int] = set()
        self._phase_began = phase_began

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
        """Seconds within which things must happen that only need the implementation to go on; its claims are capped."""
        believed = bounds.effective(self.descriptor)
        return 20 + believed["session_timeout"] + believed["metadata_max_age"]

    def measure_capacity(self, records: int) -> float:
        """Records a second that the implementation delivers with no fault: a burst over all topics.

        What it loses of the burst is not waited for, here or later; that it is lost is for the checkers to say.

        Raises:
            NoTrafficError: It delivered nothing, or was still busy when the patience was over.
        """
        self.phase("capacity")
        topics = [topic for tenant in self._tenants.values() for topic in tenant.topics]
        sent = records // len(topics) * len(topics)
        began = time.monotonic()
        self.load.burst(dict.fromkeys(topics, records // len(topics)))
        self.load.settle(ACKNOWLEDGED_WITHIN)
        left, latest = sent, began

        def over() -> bool:
            nonlocal left, latest
            now = time.monotonic()
            if len(self._missing()) < left:
                left, latest = len(self._progress.outstanding), now
            return not left or now - latest > STILL

        if not self._await(over, self.patience, "the burst"):
            raise NoTrafficError(
                f"{self.descriptor.name}: of a burst of {sent} records {left} were not accepted yet after "
                f"{self.patience:g} s",
            )
        if left == sent:
            raise NoTrafficError(f"{self.descriptor.name}: of a burst of {sent} records none was accepted")
        self._given_up |= self._progress.outstanding.keys()
        capacity = (sent - left) / (latest - began)
        self.tell("load", "capacity", records_per_second=capacity, left=left)
        return capacity

    def load_within(self, limit: float) -> None:
        """Begin the load of the shape, scaled down where it would be more than `limit` records a second."""
        scale = self.scale = min(1.0, limit / self._shape.rate)
        self.rates({tenant.name: scale * tenant.rate for tenant in self._shape.tenants})

    def rates(self, rates: Mapping[str, float]) -> None:
        """Set the load: records a second by tenant, all its topics together; tenants not named get nothing."""
        by_topic = {
            topic: rate / len(self._tenants[tenant].topics)
            for tenant, rate in rates.items()
            for topic in self._tenants[tenant].topics
        }
        self.tell("load", "rates", rates={str(topic): rate for topic, rate in by_topic.items()}, scale=self.scale)
        self.load.rates(by_topic)

    def send(self, tenant: str, draft: Draft = PLAIN, count: int = 1) -> None:
        """Send that many records like `draft` to each topic of a tenant, beside the load."""
        for topic in self._tenants[tenant].topics:
            self.load.send(topic, draft, count)

    def transaction(self, tenant: str, count: int, *, commit: bool) -> None:
        """Send that many records to each topic of a tenant, in a transaction that is committed or aborted."""
        for topic in self._tenants[tenant].topics:
            self.load.transaction(topic, count, commit=commit)

    def create(self, tenant: str) -> None:
        """Make the topics of a tenant that is late."""
        shape, topics = self._tenants[tenant].shape, self._tenants[tenant].topics
        self._broker.create_topics(
            dict.fromkeys(topics.values(), shape.partitions), dict.fromkeys(topics.values(), shape.settings)
        )
        for topic in topics:
            self.load.has(topic, shape.partitions)
            self.tell("topic", "created", topic=topic, partitions=shape.partitions)

    def grow(self, tenant: str, partitions: int) -> None:
        """Give each topic of a tenant more partitions, so many in all."""
        for topic, name in self._tenants[tenant].topics.items():
            self._broker.add_partitions(name, partitions)
            self.load.has(topic, partitions)
            self.tell("topic", "partitions", topic=topic, partitions=partitions)

    @contextmanager
    def fault(self, tenant: str, name: str, script: Script, *, phase: str | None = None) -> Iterator[None]:
        """Let one tenant's cluster behave as `script` says while the block runs, in a phase of its own."""
        self.phase(phase or f"fault:{name}")
        self.inject(tenant, name, script)
        try:
            yield
        finally:
            self.heal(tenant, name)

    def inject(self, tenant: str, name: str, *layers: Script) -> None:
        """Let one tenant's cluster behave as the layers of the script say from now on, by the name of a fault."""
        full = self._tenants[tenant].name
        scripts = [layer.model_dump(mode="json", exclude_defaults=True) for layer in layers]
        self.tell("fault", name, tenant=full, script=scripts[0] if len(scripts) == 1 else {"layers": scripts})
        self._scripted.script(full, *layers)

    def behave(self, tenant: str, *layers: Script) -> None:
        """Let one tenant's cluster behave so, healthy or as the layers say, from now on; that is no fault."""
        self._scripted.script(self._tenants[tenant].name, *layers)

    def heal(self, tenant: str, name: str, *layers: Script) -> None:
        """Let one tenant's cluster be healthy again, or behave as the layers say: the end of the fault of that name."""
        full = self._tenants[tenant].name
        bitten = self.bitten(tenant)
        self._scripted.script(full, *layers)
        self.tell("heal", name, tenant=full, bitten=bitten)

    def bitten(self, tenant: str) -> int:
        """How many exchanges the present script of a tenant's cluster has affected."""
        return self._scripted.counters(self._tenants[tenant].name)["bitten"]

    def requests(self, tenant: str) -> int:
        """How many bulk requests have come to a tenant's cluster."""
        return self._scripted.counters(self._tenants[tenant].name)["requests"]

    def await_requests(self, tenant: str, count: int, timeout: float) -> bool:
        """Whether `count` bulk requests, from its begin on, had come to a tenant's cluster within `timeout` seconds."""
        return self._await(lambda: self.requests(tenant) >= count, timeout, f"requests of {tenant}")

    def await_standstill(self, tenant: str, seconds: float, timeout: float) -> bool:
        """Whether within `timeout` seconds nothing of a tenant was finished for so many seconds."""
        topics = frozenset(self._tenants[tenant].topics)
        left, since = -1, time.monotonic()

        def still() -> bool:
            nonlocal left, since
            now = sum(topic_of(record) in topics for record in self._missing())
            if now != left:
                left, since = now, time.monotonic()
            return time.monotonic() - since >= seconds

        return self._await(still, timeout, f"a standstill of {tenant}")

    def name_of(self, tenant: str) -> str:
        """The full name of a tenant of the shape."""
        return self._tenants[tenant].name

    @property
    def nodes(self) -> Nodes:
        """The real nodes; for scenarios that say that they need them."""
        assert isinstance(self._clusters, Nodes)
        return self._clusters

    def look(self) -> bool:
        """Wait until offsets were read, and real clusters searched, since this call; whether that was in time."""
        since = time.monotonic()
        names = [tenant.name for tenant in self._tenants.values() if tenant.shape.role != "nobody"]

        def looked() -> bool:
            self._missing()
            return self._commits.began > since and all(self._progress.searched.get(name, 0.0) > since for name in names)

        return self._await(looked, LOOKED_WITHIN, "a look")

    @property
    def _scripted(self) -> ScriptedClusters:
        assert isinstance(self._clusters, ScriptedClusters), "the scenario says that it needs real nodes"
        return self._clusters

    def close_letters(self, tenant: str) -> None:
        """Let the dead-letter topics of a tenant be missing, and nobody be able to make them.

        Kafka refuses a topic whose name differs from another's in dots and underscores only.
        """
        self._broker.create_topics({_rival(topic): 1 for topic in self._letter_topics(tenant)})
        self.tell("fault", "letters", tenant=self._tenants[tenant].name)

    def open_letters(self, tenant: str) -> None:
        """Make the dead-letter topics of a tenant."""
        topics = self._letter_topics(tenant)
        self._broker.delete_topics(map(_rival, topics))
        self._broker.create_topics(dict.fromkeys(topics, 1))
        self.tell("heal", "letters", tenant=self._tenants[tenant].name)

    def _letter_topics(self, tenant: str) -> list[str]:
        return sorted(letter_topics(self.descriptor.dead_letter, self._tenants[tenant].topics.values()))

    def count_documents(self) -> None:
        """Tell how many documents each tenant's cluster holds."""
        for tenant in self._tenants.values():
            if tenant.shape.role != "nobody":
                self.tell("documents", tenant.name, documents=self._scripted.counters(tenant.name)["documents"])

    def run_for(self, seconds: float) -> None:
        """Let the world live on, while its members do: a phase has a length, it is not a wait for something."""
        self._await(lambda: False, seconds, "the end of the phase")

    def await_ready(self, timeout: float) -> None:
        """Start of traffic: a canary through each partition. Works for every group protocol.

        One that was committed past was read, too: that it is lost is for the checkers to say.

        Raises:
            ImplementationNotStartedError: The member ended before the canaries came through.
            NoTrafficError: They did not come through within `timeout` seconds.
        """
        self.phase("ready")
        self.load.canaries()
        sent = self.load.settle(ACKNOWLEDGED_WITHIN)
        through = self._await(lambda: all(map(self._is_passed, self._missing())), timeout, "canaries", alive=True)
        self._given_up |= self._progress.outstanding.keys()
        if not through:
            came = sent - len(self._progress.outstanding)
            raise NoTrafficError(
                f"{self.descriptor.name}: {came} of {sent} canary records were accepted "
                f"within {timeout:g} s of the start: it consumes nothing, or not everything; "
                f"its last words:\n{self.members.last_words(0)}",
            )

    def await_accepted(self, timeout: float) -> bool:
        """Whether everything sent is accepted within `timeout` seconds, what was committed past included."""
        return self._await(lambda: not self._missing(), timeout, "everything accepted")

    def await_begun(self, timeout: float) -> None:
        """Wait for a group that begins at the end of topics: something sent now and then has arrived of each partition.

        What was sent before the group began there it need not deliver; whatever is sent after this it must.

        Raises:
            ImplementationNotStartedError: The member ended before that.
            NoTrafficError: It did not begin within `timeout` seconds.
        """
        self.phase("ready")
        places = {
            (topic, partition)
            for tenant in self._tenants.values()
            if tenant.shape.role != "nobody" and not tenant.shape.late
            for topic in tenant.topics
            for partition in range(tenant.shape.partitions)
        }

        def begun() -> bool:
            self._missing()
            return places <= self._progress.arrived

        deadline = time.monotonic() + timeout
        while time.monotonic() < deadline:
            self.load.canaries(Draft("early"))
            if self._await(begun, KNOCK, "canaries", alive=True):
                self.load.flush(ACKNOWLEDGED_WITHIN)
                return
        raise NoTrafficError(
            f"{self.descriptor.name}: nothing had arrived of {len(places - self._progress.arrived)} of {len(places)} "
            f"partitions {timeout:g} s after the start; its last words:\n{self.members.last_words(0)}",
        )

    def await_members(self, count: int, timeout: float) -> bool:
        """Whether the group was at rest with so many members within `timeout` seconds, as far as Kafka tells."""
        return self._await(
            lambda: self._broker.members(self.members.group) == count, timeout, f"{count} members in the group"
        )

    def compact(self, tenant: str, keys: int, rounds: int, timeout: float) -> bool:
        """Write keys again and again to a tenant's compacted topics; whether Kafka left any out within so many seconds.

        Only segments that are closed are compacted, and one is closed by a record that comes late enough.
        """
        topics = self._tenants[tenant].topics
        for turn in range(rounds):
            for key in range(keys):
                self.send(
                    tenant, Draft("data" if turn == rounds - 1 else "superseded", key=b"key %d" % key, partition=0)
                )
        self.load.flush(ACKNOWLEDGED_WITHIN)

        def gone() -> bool:
            self.send(tenant, Draft(partition=0))
            self.load.flush(ACKNOWLEDGED_WITHIN)
            return all(has_gaps(self._broker.bootstrap, topic) for topic in topics.values())

        compacted = self._await(gone, timeout, "compaction")
        self.tell("harness", "compacted" if compacted else "not_compacted", tenant=self._tenants[tenant].name)
        return compacted

    def behind(self, *tenants: str) -> set[int]:
        """The records of these tenants that were sent, and are not finished yet."""
        topics = {topic for tenant in tenants for topic in self._tenants[tenant].topics}
        return {record for record in self._missing() if topic_of(record) in topics}

    def await_backlog_of(self, *tenants: str, timeout: float) -> bool:
        """Whether everything of these tenants that was sent before this call is accepted within `timeout` seconds.

        What is not is given up: nothing waits for it again but the drain. What is committed past is not waited for as
        long.
        """
        behind = self.behind(*tenants) - self._given_up
        gone = self._await_none(
            lambda: behind & self._missing().keys(), timeout, f"the backlog of {', '.join(tenants)}"
        )
        self._given_up |= behind & self._progress.outstanding.keys()
        return gone

    def drain(self, timeout: float, *, silence: float = 0.0) -> bool:
        """Stop the load; whether everything produced was accepted within `timeout` seconds.

        What is committed past will hardly come any more, so that is not waited for as long. Commits get their interval
        and a margin to follow, and `silence` seconds more where the implementation may not have heard what was
        accepted; whether they did is for the checkers to say.
        """
        self.phase("drain")
        self.load.settle(ACKNOWLEDGED_WITHIN)
        drained = self._await_none(self._missing, timeout, "everything accepted")
        if drained:
            self.await_committed(silence)
        self.tell("harness", "drained" if drained else "not_drained", missing=len(self._progress.outstanding))
        return drained

    def await_committed(self, more: float = 0.0) -> bool:
        """Whether everything acknowledged is committed in the commit interval, a margin, and so many seconds more."""
        ends = self.load.ends()
        return self._await(
            lambda: all(self._commits.latest.get(at, 0) >= end for at, end in ends.items()),
            3 * self.descriptor.timing.commit_interval + 2 + more,
            "everything committed",
        )

    def _await_none(self, missing: Callable[[], Collection[int]], timeout: float, what: str) -> bool:
        """Whether none of the records is missing any more within `timeout` seconds.

        What is committed past will hardly come any more: when nothing else is missing, and nothing comes for a while,
        there is nothing to wait for.
        """
        fewest: float = math.inf
        latest = time.monotonic()

        def over() -> bool:
            nonlocal fewest, latest
            left, now = missing(), time.monotonic()
            if len(left) < fewest:
                fewest, latest = len(left), now
            return not left or (now - latest > STILL and all(map(self._is_passed, left)))

        return self._await(over, timeout, what) and not fewest

    def _is_passed(self, record: int) -> bool:
        """Whether the committed offset is past a record."""
        place = self.load.place(record)
        if place is None:
            return False
        topic, partition, offset = place
        names = {number: name for tenant in self._tenants.values() for number, name in tenant.topics.items()}
        return self._commits.latest.get((names[topic], partition), 0) > offset

    def _missing(self) -> dict[int, int]:
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


def _rival(topic: str) -> str:
    return topic.replace(".", "_")
