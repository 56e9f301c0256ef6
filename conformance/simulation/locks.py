"""Locks and conditions for tasks; they behave as those of `threading` do, where that promises anything."""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any

from isolane.conformance.simulation.failures import DEADLOCK, Failure

if TYPE_CHECKING:
    from isolane.conformance.simulation.scheduler import Scheduler, Task


class Lock(AbstractContextManager[Any]):
    """A lock; who waits for it gets it in no particular order.

    Attributes:
        scheduler: Whose tasks these are.
        owner: The task that holds it.
    """

    __slots__ = ("_contenders", "owner", "scheduler")

    def __init__(self, scheduler: Scheduler) -> None:
        """Begin free."""
        self.scheduler = scheduler
        self.owner: Task | None = None
        self._contenders: list[Task] = []

    def __enter__(self) -> None:
        """Take it; blocks while another task holds it."""
        scheduler = self.scheduler
        scheduler.point()
        if self.owner is None:
            task = self.owner = scheduler.current
            task.held += 1
        else:
            self._acquire()

    def __exit__(self, *_: object) -> None:
        """Give it back; another task may go on then."""
        scheduler = self.scheduler
        if not scheduler.closed:
            self._release(scheduler)
            scheduler.point()

    def _release(self, scheduler: Scheduler) -> None:
        """Wake all who wait for it: whoever is chosen first gets it."""
        owner = self.owner
        if owner is not scheduler.current:
            raise RuntimeError("a lock was released by a task that does not hold it")
        owner.held -= 1
        self.owner = None
        if self._contenders:
            for task in self._contenders:
                scheduler.wake(task)
            self._contenders.clear()

    def _acquire(self) -> None:
        task = self.scheduler.current
        while self.owner is not None:
            self._refuse_circles(task)
            self._contenders.append(task)
            self.scheduler.block(self, holding=task.held)
        self.owner = task
        task.held += 1

    def _refuse_circles(self, task: Task) -> None:
        waits_for: object = self
        while isinstance(waits_for, Lock) and waits_for.owner is not None:
            if waits_for.owner is task:
                stacks = tuple(self.scheduler.stacks())
                self.scheduler.fail(Failure(DEADLOCK, f"{task} waits for a lock that waits for itself", stacks))
            waits_for = waits_for.owner.waits_for


class Condition(Lock):
    """A lock, and whoever waits for what it guards to change."""

    __slots__ = ("_waiters",)

    def __init__(self, scheduler: Scheduler) -> None:
        """Begin free, with nobody who waits."""
        super().__init__(scheduler)
        self._waiters: list[Task] = []

    def wait(self, timeout: float | None = None) -> bool:
        """Leave the lock and block until notified, at most so many seconds; False when time ran out.

        As with `threading`, one whose time has run out may still use up a notification until it runs again.
        """
        scheduler = self.scheduler
        task = scheduler.current
        self._waiters.append(task)
        self._release(scheduler)
        woken = scheduler.block("a notification", None if timeout is None else scheduler.now + max(0.0, timeout))
        if not woken and task in self._waiters:
            self._waiters.remove(task)
        self._acquire()
        return woken

    def notify(self, n: int = 1) -> None:
        """Wake at most `n` of those who wait, the first ones."""
        if self.owner is not self.scheduler.current and not self.scheduler.closed:
            raise RuntimeError("a condition was notified by a task that does not hold its lock")
        if self._waiters and n > 0:
            for task in self._waiters[:n]:
                self.scheduler.wake(task)
            del self._waiters[:n]

    def notify_all(self) -> None:
        """Wake everyone who waits."""
        self.notify(len(self._waiters))


class Bell:
    """What the parts of the simulation wait for; no lock belongs to it, for they are atomic between points."""

    __slots__ = ("_scheduler", "_waiters")

    def __init__(self, scheduler: Scheduler) -> None:
        """Begin with nobody."""
        self._scheduler = scheduler
        self._waiters: list[Task] = []

    def wait(self, until: float | None = None) -> bool:
        """Block until it is rung, or the time has come; tell whether it was rung."""
        task = self._scheduler.current
        self._waiters.append(task)
        rung = self._scheduler.block(self, until)
        if not rung and task in self._waiters:
            self._waiters.remove(task)
        return rung

    def ring(self) -> None:
        """Wake all who wait."""
        waiters, self._waiters = self._waiters, []
        for task in waiters:
            self._scheduler.wake(task)
