"""The one seam to threads, locks, the clock and chance.

Nothing else in the reference imports `threading`, `time`, `random` or `queue`: replace this object and the whole
program runs elsewhere, for instance under a deterministic scheduler with virtual time.
"""

from __future__ import annotations

import random
import threading
import time
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable


class Condition(AbstractContextManager[Any], Protocol):
    """A condition variable; it is entered like a lock, and each method is called inside."""

    def wait(self, timeout: float | None = None) -> bool:
        """Leave the lock and block until notified, at most `timeout` seconds; False when time ran out."""

    def notify(self, n: int = 1) -> None:
        """Wake at most `n` of those who wait."""

    def notify_all(self) -> None:
        """Wake everyone who waits."""


class Thread(Protocol):
    """A thread that was started."""

    def join(self, timeout: float | None = None) -> None:
        """Block until the thread has ended, at most `timeout` seconds."""

    def is_alive(self) -> bool:
        """Whether the thread still runs."""


class Runtime:
    """Threads, locks, the clock and chance, as the operating system has them."""

    def __init__(self, crash: Callable[[str, Exception], None], *, seed: int | None = None) -> None:
        """Take what to do when a thread ends with an exception.

        Args:
            crash: Called in that thread with its name and the exception. It must end the process: a program that
                has lost one of its threads would hold its partitions and deliver nothing.
            seed: Of the random numbers, to have the same ones again.
        """
        self._crash = crash
        self._random = random.Random(seed)

    def now(self) -> float:
        """Seconds on a clock that never goes back (CLOCK_MONOTONIC)."""
        return time.monotonic()

    def random(self) -> float:
        """A random number, at least 0 and below 1."""
        return self._random.random()

    def lock(self) -> AbstractContextManager[Any]:
        """A new lock; it is not re-entrant."""
        return threading.Lock()

    def condition(self) -> Condition:
        """A new condition, on a lock of its own, which is not re-entrant."""
        return threading.Condition(threading.Lock())

    def spawn(self, name: str, work: Callable[[], None]) -> Thread:
        """Start a thread that does `work`; an exception that leaves `work` is a crash.

        The thread is a daemon: the interpreter does not wait for it, whoever started it does.
        """

        def guarded() -> None:
            try:
                work()
            except Exception as error:  # noqa: BLE001  # whatever it is, it must not end a thread unseen
                self._crash(name, error)

        thread = threading.Thread(target=guarded, name=name, daemon=True)
        thread.start()
        return thread
