"""Observers: what can be seen of any implementation from outside while it runs.

Each is read periodically, on a thread of its own, and writes one file of the history. A reading that comes late is told
as a harness event, so that a starved machine makes a run inconclusive instead of red.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import Any

import psutil

from isolane.conformance.broker import Broker, TopicPartition, UnreadableError
from isolane.conformance.history_files import HistoryWriter

PERIOD = 0.1
"""Seconds between readings."""

GAP_WORTH_TELLING = 0.5
"""Seconds that a reading may be late before the history tells it; checkers have bounds of their own."""


@contextmanager
def periodically(
    name: str, read: Callable[[], None], events: HistoryWriter, *, period: float = PERIOD
) -> Iterator[None]:
    """Call `read` each `period` seconds, on a thread called `name`, while the block runs.

    After a reading that took long the pause is as long: observers must not starve what they observe.
    """
    stop = threading.Event()

    def loop() -> None:
        due = time.monotonic()
        while True:
            began = time.monotonic()
            read()
            ended = time.monotonic()
            if (late := ended - due) > GAP_WORTH_TELLING:
                events.write({"at": ended, "kind": "harness", "name": "sampler_gap", "seconds": late, "of": name})
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
