"""A sender with an adaptive cap before one tenant's cluster, simulated: handmade histories with slots in them.

It conforms. A test breaks one of its methods, or one of its numbers.
"""

from __future__ import annotations

import heapq
from collections import deque
from itertools import count
from typing import NamedTuple

from isolane.conformance.selftest.conformance.builders import Story, story
from isolane.conformance.tokens import Token

FLOOR, CEILING, WORKERS = 1, 4, 16
LATENCY, SLOW_AFTER, RETRY = 0.5, 2.0, 0.3
FLUSH = 2


class Behaviour(NamedTuple):
    """What the cluster does to requests that arrive in [began, ended): its answer, and after how many seconds."""

    began: float
    ended: float
    status: int = 429
    took: float = LATENCY
    admit: int | None = None


class Sender:
    """Sends one tenant's records, a few in each request, as many requests at once as its cap allows."""

    floor = FLOOR
    ceiling = CEILING

    def __init__(self, made: Story, tenant: str, *behaviours: Behaviour, rate: float = 24) -> None:
        """Take the history to write to, the tenant, and what its cluster does; it is healthy at other times."""
        self.made, self.tenant, self.behaviours, self.rate = made, tenant, behaviours, rate
        self.cap: float = self.floor
        self.halved_at = float("-inf")
        self.waiting: deque[Token] = deque()
        self.open = 0
        self._events: list[tuple[float, int, str, tuple[list[Token], float, int]]] = []
        self._order = count()

    def live(self, began: float, ended: float) -> None:
        """Produce from `began` to `ended`, and send until nothing is left."""
        for number in range(round((ended - began) * self.rate)):
            self._at(began + number / self.rate, "produced")
        while self._events:
            now, _, kind, (tokens, arrived, status) = heapq.heappop(self._events)
            if kind == "produced":
                self.waiting.append(self.made.produce(self.tenant, now))
            elif kind == "answered":
                self.open -= 1
                self.learn(arrived, now, status)
                if status != 200:
                    self._at(now + RETRY, "due", tokens)
            else:
                self.waiting.extendleft(reversed(tokens))
            while self.waiting and self.may_send(now):
                self._send(now + 0.005)

    def may_send(self, _now: float) -> bool:
        """Whether there is a slot."""
        return self.open < self.cap

    def choose(self) -> list[Token]:
        """What to send next: the oldest."""
        return [self.waiting.popleft() for _ in range(min(FLUSH, len(self.waiting)))]

    def learn(self, began: float, now: float, status: int) -> None:
        """Take a sample."""
        if status == 200 and now - began <= SLOW_AFTER:
            self.cap = min(self.ceiling, self.cap + 1)
        elif began > self.halved_at:
            self.cap = max(self.floor, self.halved())
            self.halved_at = now

    def halved(self) -> float:
        """What half the cap is."""
        return self.cap // 2

    def _send(self, now: float) -> None:
        tokens = self.choose()
        self.open += 1
        status, took = self._answer(now)
        self.made.attempt(self.tenant, tokens, now, took=took, status=status, items=201 if status == 200 else None)
        self._at(now + took, "answered", tokens, now, status)

    def _answer(self, now: float) -> tuple[int, float]:
        for each in self.behaviours:
            if each.began <= now < each.ended:
                if each.admit is not None:
                    return (200, each.took) if self.open <= each.admit else (each.status, 0.001)
                return each.status, each.took
        return 200, LATENCY

    def _at(self, at: float, kind: str, tokens: list[Token] | None = None, arrived: float = 0, status: int = 0) -> None:
        heapq.heappush(self._events, (at, next(self._order), kind, (tokens or [], arrived, status)))


def limited(*judges: str) -> Story:
    """A history with phases and bounds, in which nobody sends yet: control, push-back, a slow spell, and drain."""
    made = story(healthy=1, judges=judges)
    made.meta["bounds"] |= {
        "cap_floor": FLOOR,
        "cap_ceiling": CEILING,
        "slow_after": SLOW_AFTER,
        "probe_interval": 2.0,
        "workers": WORKERS,
    }
    made.event(99.5, "process", "started", member=0, pid=1, code=None)
    made.phase("control", 100)
    made.fault("pushback", "sick", 110, 120)
    made.phase("heal:pushback", 120)
    made.fault("slow", "h0", 140, 146)
    made.phase("drain", 150)
    made.phase("end", 400)
    return made


PUSHED_BACK = Behaviour(110, 120)
SLOWED = Behaviour(140, 146, status=200, took=3.0)


def lived(*judges: str, sick: type[Sender] = Sender, other: type[Sender] = Sender) -> Story:
    """The whole history, with a sender of these kinds for each of its two tenants."""
    made = limited(*judges)
    sick(made, "sick", PUSHED_BACK).live(100, 145)
    other(made, "h0", SLOWED).live(100, 150)
    return made
