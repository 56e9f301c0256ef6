"""The scenario `limiter` in virtual time: its own story, the reference's dispatcher, and clusters with its scripts.

Threads, sockets and Kafka are left out; who decides what, and when, is not. A minute of it takes a second.
Run as a module it imports a known-bad change first, and prints the verdicts.
"""

from __future__ import annotations

import heapq
import importlib
import json
import random
import sys
import tempfile
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from itertools import count
from pathlib import Path
from types import SimpleNamespace
from typing import Protocol, cast

from isolane.conformance import bounds
from isolane.conformance.checkers import caps, concurrency, overtaking, probes, told_slots
from isolane.conformance.depth import depth
from isolane.conformance.history import History
from isolane.conformance.scenarios import limiter
from isolane.conformance.scenarios.model import Scenario
from isolane.conformance.selftest.conformance.builders import Story, story
from isolane.conformance.selftest.reference.fakes import FakeLane
from isolane.conformance.tokens import Token
from isolane.conformance.verdict import Finding, Verdict
from isolane.conformance.world import World
from isolane.fixtures.cluster import Script
from isolane.fixtures.cluster.performance import Performance
from isolane.fixtures.implementations import descriptor
from isolane.fixtures.implementations.descriptor import Descriptor
from isolane.reference.backoff import Backoff
from isolane.reference.config import Limiter, Retry
from isolane.reference.flush import Piece
from isolane.reference.limiter import Dispatcher, Grant
from isolane.reference.otlp import Document
from isolane.reference.outcome import Outcome, Reply

CHECKERS = (caps, concurrency, overtaking, probes, told_slots)

SCRAPED = 0.5
"""Seconds between two looks at caps and slots."""

TRAVEL = 0.005
"""Seconds from a grant to the request's arrival, and from an answer to whoever learns of it."""

FLUSH_BYTES, SIZE = 4 * 1024**2, 300


class Checker(Protocol):
    """A module of a checker."""

    def check(self, history: History) -> list[Finding]:
        """See the checkers."""


class Cluster:
    """A tenant's cluster, as far as scripts of this scenario go."""

    def __init__(self) -> None:
        """Begin healthy."""
        self.performance = Performance()
        self.requests = 0
        self.admitted = 0

    def answer(self) -> tuple[bool, float, int, int | None]:
        """Whether the request that arrives now is admitted; after how long, and with what, it is answered."""
        script = self.performance.next(bulk=True)
        self.requests += 1
        if script.admit is not None and self.admitted >= script.admit:
            return False, 0.0, 429, None
        self.admitted += 1
        if script.status is not None:
            return True, script.latency, script.status, None
        return True, script.latency, 200, script.items[0] if script.items else 201


class VirtualWorld:
    """What the story of the scenario asks of a world."""

    patience = 28.0

    def __init__(self, scenario: Scenario = limiter.SCENARIO, implementation: Descriptor | None = None) -> None:
        """Begin with nothing produced, at second 100; the implementation is the reference, unless it is given."""
        self.descriptor = scenario.adapt(implementation or descriptor.find("reference"))
        self.members = SimpleNamespace(start=lambda: None)
        self.now = 100.0
        self._scenario = scenario
        self._shape = scenario.shape(self.descriptor)
        self._rates = {tenant.name: tenant.rate for tenant in self._shape.tenants}
        self._clusters = {name: Cluster() for name in self._rates}
        self._lanes = {
            tenant.name: [FakeLane(tenant.name, number) for number in range(tenant.partitions)]
            for tenant in self._shape.tenants
        }
        self._turns = {name: count() for name in self._rates}
        self._records: dict[int, Token] = {}
        self._left: dict[str, set[int]] = {name: set() for name in self._rates}
        self._loaded = False
        self._events: list[tuple[float, int, Callable[[], None]]] = []
        self._order = count()
        self._again: float | None = None
        self._random = random.Random(1)
        limits, timing = self.descriptor.limits, self.descriptor.timing
        self._dispatcher = Dispatcher(
            Limiter.model_validate(
                {"floor": limits.cap_floor, "ceiling": limits.cap_ceiling, "slow_after": f"{timing.slow_after}s"}
            ),
            Backoff(Retry.model_validate({"max_interval": f"{limits.probe_interval}s"}), self._random.random),
            workers=limits.workers,
            flush_bytes=FLUSH_BYTES,
            timeout=timing.request_timeout,
        )
        self.made = self._empty()
        self._at(self.now, self._scrape)

    def _empty(self) -> Story:
        made = story(judges=self._scenario.judges)
        tenants = list(enumerate(self._shape.tenants))
        made.meta |= {
            "tenants": [{"name": tenant.name, "role": tenant.role, "topics": [at]} for at, tenant in tenants],
            "topics": [
                {"name": f"managed_otlp.logs.{tenant.name}", "tenant": tenant.name, "partitions": tenant.partitions}
                for _, tenant in tenants
            ],
            "bounds": bounds.effective(self.descriptor),
            "features": dict(self.descriptor.features),
            "metrics": {"map": {"cap": "cap", "slots": "slots"}},
        }
        made.event(self.now, "process", "started", member=0, pid=1, code=None)
        return made

    def phase(self, name: str) -> None:
        """See `World`, and so for the others."""
        self.made.phase(name, self.now)

    def await_ready(self, timeout: float) -> None:
        """Send a record to each partition."""
        self.phase("ready")
        for name, lanes in self._lanes.items():
            for _ in lanes:
                self._produce(name)
        self._until(lambda: not any(self._left.values()), timeout)

    def load_within(self, _limit: float) -> None:
        """Begin the load."""
        self._loaded = True
        for name in self._rates:
            self._at(self.now, partial(self._load, name))

    def behave(self, tenant: str, *layers: Script) -> None:
        """Perform other scripts."""
        self._clusters[tenant].performance = Performance(layers)

    def inject(self, tenant: str, name: str, *layers: Script) -> None:
        """Begin a fault."""
        script = {"layers": [layer.model_dump(mode="json", exclude_defaults=True) for layer in layers]}
        self.made.event(self.now, "fault", name, tenant=tenant, script=script)
        self.behave(tenant, *layers)

    def heal(self, tenant: str, name: str, *layers: Script) -> None:
        """End a fault."""
        self.behave(tenant, *layers)
        self.made.event(self.now, "heal", name, tenant=tenant)

    def requests(self, tenant: str) -> int:
        """How many have come."""
        return self._clusters[tenant].requests

    def run_for(self, seconds: float) -> None:
        """Let time pass."""
        self._until(lambda: False, seconds)

    def await_requests(self, tenant: str, count: int, timeout: float) -> bool:
        """Whether so many have come in time."""
        return self._until(lambda: self.requests(tenant) >= count, timeout)

    def await_backlog_of(self, *tenants: str, timeout: float) -> bool:
        """Whether what is there now is finished in time."""
        behind = {tenant: set(self._left[tenant]) for tenant in tenants}
        return self._until(lambda: not any(each & self._left[tenant] for tenant, each in behind.items()), timeout)

    def drain(self, timeout: float) -> None:
        """End the load, and wait until all is finished."""
        self._loaded = False
        self.phase("drain")
        self._until(lambda: not any(self._left.values()), timeout)

    def end(self) -> Story:
        """End the story; its history."""
        self.phase("end")
        return self.made

    def _at(self, at: float, event: Callable[[], None]) -> None:
        heapq.heappush(self._events, (at, next(self._order), event))

    def _until(self, condition: Callable[[], bool], timeout: float) -> bool:
        deadline = self.now + timeout
        while not condition():
            if not self._events or self._events[0][0] > deadline:
                self.now = deadline
                return False
            self.now, _, event = heapq.heappop(self._events)
            event()
            self._decide()
        return True

    def _decide(self) -> None:
        grants, again = self._dispatcher.decide(self.now)
        for grant in grants:
            self._at(self.now + TRAVEL, partial(self._arrive, grant))
        if again is not None and again != self._again:
            self._at(again, lambda: None)
        self._again = again

    def _scrape(self) -> None:
        states = {tenant: self._dispatcher.state(tenant) for tenant in self._rates}
        text = "".join(
            f'cap{{tenant="{name}"}} {own.cap}\nslots{{tenant="{name}"}} {own.slots}\n' for name, own in states.items()
        )
        self.made.scrapes.append({"began": self.now, "at": self.now, "member": "0", "text": text})
        self._at(self.now + SCRAPED, self._scrape)

    def _load(self, tenant: str) -> None:
        if self._loaded:
            self._produce(tenant)
            self._at(self.now + self._random.uniform(0.5, 1.5) / self._rates[tenant], partial(self._load, tenant))

    def _produce(self, tenant: str) -> None:
        partition = next(self._turns[tenant]) % len(self._lanes[tenant])
        number = len(self._records)
        self._records[number] = self.made.produce(tenant, self.now, partition=partition)
        self._left[tenant].add(number)
        piece = Piece.of_record(number, [Document("logs", str(number), b"." * SIZE)])
        self._dispatcher.submit(self._lanes[tenant][partition], [piece], self.now)

    def _arrive(self, grant: Grant) -> None:
        tenant = grant.flush.lane.tenant
        admitted, took, status, items = self._clusters[tenant].answer()
        tokens = [self._records[piece.record.offset] for piece in grant.flush.pieces]
        if took > grant.timeout:
            number = self.made.attempt(tenant, tokens, self.now, took=None)
            ended = self.now + grant.timeout
            self.made.attempts.append({"e": "closed", "r": number, "at": ended, "how": "client_gone"})
            self._at(ended, partial(self._learn, grant, Reply.whole(Outcome.RETRYABLE, len(tokens), "silence")))
        else:
            self.made.attempt(tenant, tokens, self.now, took=took, status=status, items=items)
            outcome = Outcome.ACCEPTED if items == 201 else Outcome.RETRYABLE
            whole = None if items is not None else outcome
            self._at(self.now + took + TRAVEL, partial(self._learn, grant, Reply(whole, [outcome] * len(tokens))))
        if admitted:
            self._at(self.now + min(took, grant.timeout), partial(self._leave, self._clusters[tenant]))

    def _leave(self, cluster: Cluster) -> None:
        cluster.admitted -= 1

    def _learn(self, grant: Grant, reply: Reply) -> None:
        division, _ = self._dispatcher.settle(grant, reply, self.now)
        self._left[grant.flush.lane.tenant] -= {piece.record.offset for piece in division.accepted}


def lived(folder: Path) -> History:
    """Live through the scenario at standard depth, and load its history."""
    world = VirtualWorld()
    limiter.story(cast("World", world), depth("standard"))
    return world.end().load(folder)


def verdicts(history: History) -> dict[str, Verdict]:
    """The verdict on each requirement: the worst of its findings."""
    return worst([history], CHECKERS)


def worst(histories: Iterable[History], checkers: Sequence[Checker]) -> dict[str, Verdict]:
    """The worst verdict on each requirement that these checkers find in any of the histories."""
    order = [Verdict.FAIL, Verdict.INCONCLUSIVE, Verdict.PASS]
    found: dict[str, Verdict] = {}
    findings = (finding for history in histories for checker in checkers for finding in checker.check(history))
    for finding in findings:
        before = found.get(finding.requirement, Verdict.PASS)
        found[finding.requirement] = min(before, finding.verdict, key=order.index)
    return found


if __name__ == "__main__":
    importlib.import_module(f"isolane.fixtures.known_bad.{sys.argv[1]}")
    with tempfile.TemporaryDirectory() as scratch:
        sys.stdout.write(json.dumps(verdicts(lived(Path(scratch) / "limiter"))))
