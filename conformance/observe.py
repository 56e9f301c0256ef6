"""Observers: what can be seen of any implementation from outside while it runs.

Each is read periodically, on a thread of its own, and writes one file of the history. A reading that comes late is told
as a harness event, so that a starved machine makes a run inconclusive instead of red; and so is what could not be read
for a while, so that what nobody saw is not taken for what was not there.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import Any

import psutil

from isolane.conformance.broker import Broker, TopicPartition, UnreadableError
from isolane.conformance.errors import HarnessError
from isolane.conformance.history_files import HistoryWriter

PERIOD = 0.1
"""Seconds between readings."""

GAP_WORTH_TELLING = 0.5
"""Seconds that a reading may be late before the history tells it; checkers have bounds of their own."""


class _Sight:
    """What one observer has seen nothing of: since when, and why. For one thread at a time."""

    def __init__(self, name: str, events: HistoryWriter) -> None:
        self._name, self._events = name, events
        self._since = time.monotonic()
        self._lost: tuple[str, Exception] | None = None

    def keep(self) -> None:
        """See something, and tell for how long there was nothing to be seen."""
        self.tell()
        self._since, self._lost = time.monotonic(), None

    def lose(self, event: str, why: Exception) -> None:
        """See nothing; `event` is what will tell of it."""
        self._lost = event, why

    def tell(self) -> None:
        """Tell for how long nothing was seen, where that is worth it."""
        now = time.monotonic()
        if self._lost is not None and now - self._since > GAP_WORTH_TELLING:
            self._tell(now, self._lost[0], now - self._since, error=repr(self._lost[1]))

    def late(self, seconds: float) -> None:
        """Tell by how much a reading came late, where that is worth it."""
        if seconds > GAP_WORTH_TELLING:
            self._tell(time.monotonic(), "sampler_gap", seconds)

    def _tell(self, at: float, name: str, seconds: float, **more: str) -> None:
        self._events.write({"at": at, "kind": "harness", "name": name, "seconds": seconds, "of": self._name, **more})


@contextmanager
def periodically(
    name: str, read: Callable[[], None], events: HistoryWriter, *, period: float = PERIOD
) -> Iterator[None]:
    """Call `read` each `period` seconds, on a thread called `name`, while the block runs.

    After a reading that took long the pause is as long: observers must not starve what they observe. One that raises
    UnreadableError is tried again. After any other error nothing more is read; it reaches who leaves the block.

    Raises:
        HarnessError: Such an error ended the readings.
    """
    stop = threading.Event()
    sight = _Sight(name, events)
    failures: list[Exception] = []

    def loop() -> None:
        due = time.monotonic()
        while True:
            began = time.monotonic()
            try:
                read()
            except UnreadableError as error:
                sight.lose("unreadable", error)
            except Exception as error:  # noqa: BLE001 - whatever it is, it must not end a thread unseen
                sight.lose("sampler_gap", error)
                failures.append(error)
                return
            else:
                sight.keep()
            ended = time.monotonic()
            sight.late(ended - due)
            due = max(began + period, 2 * ended - began)
            if stop.wait(due - ended):
                return

    thread = threading.Thread(target=loop, name=name, daemon=True)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join()
        sight.tell()
    if failures:
        raise HarnessError(f"the {name} has seen nothing more since it failed: {failures[0]!r}") from failures[0]


class CommitObserver:
    """Reads the group's committed offsets, then the ends of the logs; a reading has the times of its begin and end."""

    def __init__(
        self,
        broker: Broker,
        group: str,
        topics: Mapping[str, int],
        partitions: Callable[[], Collection[TopicPartition]],
        commits: HistoryWriter,
    ) -> None:
        """Observe `group` on `broker` (its own instance).

        Args:
            broker: See above.
            group: See above.
            topics: The numbers of the topics by name; of others nothing is written.
            partitions: Gives those that there are now.
            commits: The file of the history.
        """
        self._broker, self._group, self._topics, self._commits = broker, group, topics, commits
        self._partitions = partitions
        self._latest: dict[TopicPartition, int] = {}
        self.began = 0.0  # when the last reading that succeeded did

    @property
    def latest(self) -> dict[TopicPartition, int]:
        """The offsets of the last reading, which the history has already."""
        return self._latest

    def read(self) -> None:
        """Read once."""
        line: dict[str, Any] = {"began": time.monotonic()}
        try:
            offsets = self._broker.committed(self._group)
        except UnreadableError as error:
            self._commits.write(line | {"ended": time.monotonic(), "error": str(error)})
            return
        line |= {"ended": time.monotonic(), "offsets": self._keyed(offsets)}
        with suppress(UnreadableError):  # the offsets say enough without them
            line["ends"] = self._keyed(self._broker.ends(self._partitions()))
        self._commits.write(line)
        self._latest, self.began = offsets, line["began"]

    def _keyed(self, offsets: Mapping[TopicPartition, int]) -> dict[str, int]:
        return {
            f"{self._topics[topic]}/{partition}": offset
            for (topic, partition), offset in offsets.items()
            if topic in self._topics
        }


class ProcessSampler:
    """Samples memory (bytes resident), threads and descriptors of the members that run."""

    def __init__(self, members: Callable[[], Mapping[int, int]], samples: HistoryWriter) -> None:
        """Observe the processes that `members()` names: process id by member number."""
        self._members, self._samples = members, samples

    def read(self) -> None:
        """Sample once."""
        for member, pid in self._members().items():
            try:
                process = psutil.Process(pid)
                with process.oneshot():
                    line = {
                        "at": time.monotonic(),
                        "member": member,
                        "pid": pid,
                        "rss": process.memory_info().rss,
                        "threads": process.num_threads(),
                        "fds": process.num_fds(),
                    }
            except psutil.Error:
                continue  # it ended just now: the history has its exit as an event
            self._samples.write(line)
