"""The scenarios of isolation in virtual time: their own stories, the reference's dispatcher, and their scripts.

As in `virtual`, threads, sockets and Kafka are left out, and so is the want of processor time: what the healthy feel
here is what was decided. Run as a module with a scenario's name it imports a known-bad change first, if one is named.
"""

from __future__ import annotations

import importlib
import json
import math
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any, cast

from isolane.conformance.checkers import isolation, recovery
from isolane.conformance.depth import depth
from isolane.conformance.history import History
from isolane.conformance.load import PLAIN, Draft
from isolane.conformance.scenarios import many_sick, one_sick
from isolane.conformance.scenarios.model import Scenario
from isolane.conformance.selftest.conformance import virtual
from isolane.conformance.selftest.conformance.virtual import TRAVEL, VirtualWorld
from isolane.conformance.verdict import Verdict
from isolane.conformance.world import World
from isolane.fixtures.cluster import Script
from isolane.fixtures.implementations import descriptor
from isolane.reference.limiter import Grant
from isolane.reference.outcome import Outcome, Reply, of_status

CHECKERS = (isolation, recovery)

SCENARIOS = {scenario.name: scenario for scenario in (one_sick.SCENARIO, many_sick.SCENARIO)}

SERVICE = 0.005
"""Seconds that a healthy cluster takes for a request."""


class IsolationWorld(VirtualWorld):
    """What the stories of these scenarios ask of a world: beyond the base, clusters that are gone."""

    scale = 1.0

    def __init__(self, scenario: Scenario) -> None:
        """Begin with tenants of one topic, and records of one item."""
        plain = descriptor.find("reference")
        topics = plain.input.model_copy(update={"signals": ("logs",)})
        items = plain.output.model_copy(update={"items_per_record": 1})
        super().__init__(scenario, plain.model_copy(update={"input": topics, "output": items}))
        self._requests: dict[Grant, int] = {}  # those that are open, by their attempts

    def measure_capacity(self, _records: int) -> float:
        """Without want of anything it has no bound."""
        return math.inf

    @contextmanager
    def fault(self, tenant: str, name: str, script: Script) -> Iterator[None]:
        """Begin a phase and a fault; end the fault."""
        self.phase(f"fault:{name}")
        self.inject(tenant, name, script)
        yield
        self.heal(tenant, name)

    def send(self, tenant: str, _draft: Draft = PLAIN, count: int = 1) -> None:
        """Produce so many records at once; how large they are decides nothing here."""
        for _ in range(count):
            self._produce(tenant)

    def _decide(self) -> None:
        super()._decide()
        for grant in self._dispatcher.overstayed(self.now):
            self._at(self.now + TRAVEL, partial(self._end, grant, None, Outcome.RETRYABLE, "client_gone"))

    def _arrive(self, grant: Grant) -> None:
        tenant = grant.flush.lane.tenant
        performance = self._clusters[tenant].performance
        if performance.refuses:
            self._at(self.now + TRAVEL, partial(self._learn, grant, _whole(grant, Outcome.RETRYABLE)))
            return
        script = performance.next(bulk=True)
        tokens = [self._records[piece.record.offset] for piece in grant.flush.pieces]
        self._requests[grant] = self.made.attempt(tenant, tokens, self.now, took=None)
        silent = script.black_hole or script.trickle or script.latency + SERVICE > grant.timeout
        if silent:
            ending = partial(self._end, grant, None, Outcome.RETRYABLE, "client_gone")
        elif script.status is not None:
            answer = {"status": script.status, "items": None}
            ending = partial(self._end, grant, answer, of_status(script.status), "replied")
        else:
            items = [_status(script)] * len(tokens)
            lost = Outcome.RETRYABLE if script.reset_after is not None else None
            ending = partial(self._end, grant, {"status": 200, "items": items}, lost, "reset" if lost else "replied")
        self._at(self.now + (grant.timeout if silent else script.latency + SERVICE), ending)

    def _end(self, grant: Grant, answer: dict[str, Any] | None, whole: Outcome | None, how: str) -> None:
        """End a request, unless it has ended; `whole` is what its client makes of it, None: what each item says."""
        number = self._requests.pop(grant, None)
        if number is None:
            return
        if answer is not None:
            self.made.attempts.append({"e": "answered", "r": number, "at": self.now, **answer})
        self.made.attempts.append({"e": "closed", "r": number, "at": self.now, "how": how})
        items = [] if answer is None else answer["items"]
        reply = Reply(None, [of_status(status) for status in items]) if whole is None else _whole(grant, whole)
        self._at(self.now + TRAVEL, partial(self._learn, grant, reply))


def _whole(grant: Grant, outcome: Outcome) -> Reply:
    return Reply.whole(outcome, len(grant.flush.documents), "as scripted")


def _status(script: Script) -> int:
    return script.items[0] if script.items else 201


def lived(scenario: Scenario, folder: Path) -> History:
    """Live through a scenario at standard depth, and load its history."""
    world = IsolationWorld(scenario)
    scenario.story(cast("World", world), depth("standard"))
    return world.end().load(folder)


def verdicts(names: Sequence[str]) -> dict[str, Verdict]:
    """The verdict on each requirement in these scenarios: the worst of its findings."""
    with tempfile.TemporaryDirectory() as scratch:
        histories = [lived(SCENARIOS[name], Path(scratch) / name) for name in names]
        return dict(virtual.worst(histories, CHECKERS))


if __name__ == "__main__":
    for change in sys.argv[2:]:
        importlib.import_module(f"isolane.fixtures.known_bad.{change}")
    sys.stdout.write(json.dumps(verdicts(sys.argv[1].split(","))))
