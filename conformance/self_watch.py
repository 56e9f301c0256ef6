"""Watches over what measures: the clusters' own speed, and the clock of the machine. For the harness' self-distrust."""

from __future__ import annotations

import time
from collections.abc import Callable

from isolane.conformance.history_files import HistoryWriter
from isolane.fixtures.cluster import ScriptedClusters
from isolane.fixtures.errors import FixtureError

PERIOD = 0.5
"""Seconds between looks at the clock."""

WORTH_TELLING = 0.2
"""Seconds from which on the history tells of something; checkers have bounds of their own."""


class ClusterWatch:
    """Asks the scripted clusters for something that costs them nothing: what it takes, everybody else waits, too.

    All tenants' clusters are one process. When that is saturated, answers are late that no fault was to delay.
    """

    def __init__(self, clusters: ScriptedClusters, tenant: str, events: HistoryWriter) -> None:
        """Watch by asking for one tenant's counters."""
        self._clusters, self._tenant, self._events = clusters, tenant, events
        self._answered: float | None = None  # when they last did, so that they did not stand still before

    def read(self) -> None:
        """Ask once; clusters that are gone are somebody else's to tell."""
        began = time.monotonic()
        try:
            self._clusters.counters(self._tenant)
        except FixtureError:
            return
        ended = time.monotonic()
        since = began if self._answered is None else self._answered
        self._answered = ended
        if (seconds := ended - began) > WORTH_TELLING:
            line = {"at": ended, "kind": "harness", "name": "cluster_lag", "seconds": seconds, "since": since}
            self._events.write(line)


class ClockWatch:
    """Compares the clock that measures with that of the day: a machine that was asleep, or set, shows in it."""

    def __init__(
        self,
        events: HistoryWriter,
        steady: Callable[[], float] = time.monotonic,
        wall: Callable[[], float] = time.time,
    ) -> None:
        """Watch from now on."""
        self._events, self._steady, self._wall = events, steady, wall
        self._difference = wall() - steady()

    def read(self) -> None:
        """Look once."""
        at = self._steady()
        difference = self._wall() - at
        step = abs(difference - self._difference)
        if step > WORTH_TELLING:
            self._events.write({"at": at, "kind": "harness", "name": "clock_step", "seconds": step})
        self._difference = difference
