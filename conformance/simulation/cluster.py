"""The tenants' clusters: they do what the scripted cluster does, with its own vocabulary and decisions."""

from __future__ import annotations

import math
from collections import Counter
from typing import TYPE_CHECKING, NamedTuple

from isolane.conformance.simulation.settings import position_of
from isolane.fixtures.cluster.bulk import Action, Bulk
from isolane.fixtures.cluster.errors import scripted_refusal
from isolane.fixtures.cluster.exchange import Reading, decide, refuse
from isolane.fixtures.cluster.filter_path import FilterPath
from isolane.fixtures.cluster.indices import Indices
from isolane.fixtures.cluster.performance import Performance
from isolane.reference.consumer import TopicPartition
from isolane.reference.dead_letter import DeadLetterUnavailable
from isolane.reference.outcome import Outcome, Reply, judge

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Sequence

    from isolane.conformance.simulation.ledger import Ledger
    from isolane.conformance.simulation.scheduler import Scheduler, Task
    from isolane.conformance.simulation.story import Story
    from isolane.fixtures.cluster import exchange
    from isolane.fixtures.cluster.vocabulary import Script
    from isolane.reference.otlp import Document

_EVERYTHING = FilterPath.parse("")
_JSON = "application/json"
_HEALTHY = Performance()  # one for all: without scripts it draws and counts nothing
_WRITE = 0.003


class SimulatedCluster:
    """One tenant's cluster, whoever sends to it.

    Attributes:
        tenant: Whose it is.
        performance: The script that it follows.
        bitten: How many attempts a script has affected.
        travel: Seconds that a request, and a reply, is under way.
        admitted: How many requests it works on now.
    """

    def __init__(self, tenant: str, scheduler: Scheduler, ledger: Ledger, story: Story, travel: float = 0.002) -> None:
        """Begin healthy."""
        self.tenant = tenant
        self.performance = _HEALTHY
        self.bitten = 0
        self.travel = travel
        self.admitted = 0
        self.story = story
        self.scheduler = scheduler
        self._ledger = ledger
        self._indices = Indices()

    def perform(self, *layers: Script) -> None:
        """Follow other scripts from now on; none is health."""
        self.performance = Performance(layers) if layers else _HEALTHY

    def answer(self, documents: Sequence[Document], script: Script, performance: Performance) -> exchange.Reply:
        """Decide a request's answer as the scripted cluster does, and store what it accepts."""
        actions = [Action("create", document.index, document.id) for document in documents]
        sources = [document.source for document in documents]
        size = sum(map(len, sources))
        reading = Reading(Bulk(actions, sources), None, [None] * len(actions), size, _JSON, _EVERYTHING)
        answer, bitten = decide(reading, script, performance, self._indices, 0)
        self.bitten += bitten
        for document, status in zip(documents, answer.items or (), strict=False):
            if status < 300:
                self._ledger.accepted(self.tenant, document.id)
        return answer


class _Attempt:
    __slots__ = ("cut", "key", "task")

    def __init__(self, key: Hashable, task: Task) -> None:
        self.key = key
        self.task = task
        self.cut = False


class Ended(NamedTuple):
    """How an attempt ended without an answer."""

    why: str


class ClusterPort:
    """One process's way to a tenant's cluster. See `isolane.reference.sending.Cluster`.

    Attributes:
        open: The attempts under way.
    """

    def __init__(self, cluster: SimulatedCluster, begins: Callable[[str, Hashable, int], None]) -> None:
        """Take the cluster, and who looks at each attempt: its tenant, its key, and how many are open."""
        self.open: list[_Attempt] = []
        self._cluster = cluster
        self._begins = begins

    def attempt(self, documents: Sequence[Document], *, timeout: float, key: Hashable) -> Reply:
        """See `Cluster`."""
        cluster, scheduler = self._cluster, self._cluster.scheduler
        scheduler.point()
        attempt = _Attempt(key, scheduler.current)
        self.open.append(attempt)
        self._begins(cluster.tenant, key, len(self.open))
        answer = self._exchange(attempt, documents, scheduler.now + timeout)
        self.open.remove(attempt)
        if isinstance(answer, Ended):
            reply = Reply.whole(Outcome.RETRYABLE, len(documents), answer.why)
        else:
            headers = {name.lower(): value for name, value in answer.headers.items()}
            reply = judge(answer.status, headers, answer.body, [document.id for document in documents])
        if cluster.story.wanted:
            self._tell(documents, reply)
        return reply

    def cut(self, key: Hashable) -> None:
        """See `Cluster`."""
        self._cluster.scheduler.point()
        for attempt in self.open:
            if attempt.key == key:
                attempt.cut = True
                self._cluster.scheduler.wake(attempt.task)

    def _exchange(self, attempt: _Attempt, documents: Sequence[Document], deadline: float) -> exchange.Reply | Ended:
        cluster = self._cluster
        performance = cluster.performance
        script = performance.next(bulk=True)
        if performance.refuses:
            cluster.bitten += 1
            return Ended("connection refused")
        cluster.bitten += script.bites_always
        if (ended := self._wait(attempt, cluster.travel, deadline)) is not None:
            return ended
        if script.admit is not None and cluster.admitted >= script.admit:
            cluster.bitten += 1
            answer = refuse(scripted_refusal(429), _JSON, script)
        else:
            delay = math.inf if script.black_hole else performance.delay(script)
            cluster.admitted += 1
            try:
                ended = self._wait(attempt, delay, deadline) if delay else None
            finally:  # also when the process is killed meanwhile
                cluster.admitted -= 1
            if ended is not None:
                return ended
            answer = cluster.answer(documents, script, performance)
        if script.lose_reply or script.reset_after is not None:
            return Ended("connection reset")
        trickled = math.ceil(len(answer.body) / script.trickle.size) * script.trickle.interval if script.trickle else 0
        return self._wait(attempt, cluster.travel + trickled, deadline) or answer

    def _wait(self, attempt: _Attempt, seconds: float, deadline: float) -> Ended | None:
        """Block for so long; tell why the attempt ended before, if it did."""
        scheduler = self._cluster.scheduler
        until = scheduler.now + seconds
        while not attempt.cut and scheduler.now < min(until, deadline):
            scheduler.block("the cluster", min(until, deadline))
        if attempt.cut:
            return Ended("cut")
        return Ended("no whole answer in time") if until > deadline else None

    def _tell(self, documents: Sequence[Document], reply: Reply) -> None:
        topic, partition, first, _ = documents[0].id.rsplit(":", 3)
        last = documents[-1].id.rsplit(":", 2)[1]
        counts = Counter(outcome.name.lower() for outcome in reply.items)
        outcomes = ", ".join(f"{number} {name}" for name, number in sorted(counts.items()))
        place = TopicPartition(topic, int(partition))
        self._cluster.story.tell("sent", place, int(first), f"to {last}: {outcomes}; {reply.reason}".rstrip("; "))


class DeadLetterPort:
    """Where dead letters are written. See `isolane.reference.letters.Destination`.

    Attributes:
        available: Whether a write is confirmed.
    """

    def __init__(self, scheduler: Scheduler, ledger: Ledger) -> None:
        """Begin available."""
        self.available = True
        self._scheduler = scheduler
        self._ledger = ledger

    def send(self, topic: str, partition: int, offset: int, value: bytes, reason: str) -> None:
        """See `Destination`."""
        del reason
        self._scheduler.sleep(_WRITE)
        if not self.available:
            raise DeadLetterUnavailable("the simulated destination is down")
        self._ledger.dead_lettered(topic, partition, offset, position_of(value))
