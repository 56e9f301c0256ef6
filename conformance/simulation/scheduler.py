"""Tasks that take turns, and a clock that only they move: threads, without the operating system's say.

A task is a greenlet. It goes on until it reaches a point (`Scheduler.point`) or blocks; there a `Choice` says who is
next. Time stands still while anybody is ready, unless the choice lets it pass. Nothing else decides anything, so the
same choices give the same run, in every process.
"""

from __future__ import annotations

import heapq
import traceback
from collections.abc import Callable
from itertools import count
from pathlib import Path

from greenlet import GreenletExit, getcurrent, greenlet

from isolane.conformance.simulation.choice import TIME, Choice
from isolane.conformance.simulation.failures import DEADLOCK, HELD, LIVELOCK, Failure

Trace = Callable[[float, str, str], None]
"""Is told of each switch: the time, the task's name, and what the one before it waits for."""

_BUSY = 200_000
_BUSY_EACH = 200
"""So many choices without time passing are too many, or so many for each task, where there are very many of those."""


class Process:
    """A simulated process: its tasks are frozen, thawed and killed together."""

    __slots__ = ("dead", "frozen", "name", "parked")

    def __init__(self, name: str) -> None:
        """Begin alive."""
        self.name = name
        self.dead = False
        self.frozen = False
        self.parked: list[Task] = []  # frozen, and otherwise ready


class Task:
    """A thread of a simulated process."""

    __slots__ = ("greenlet", "held", "joiners", "name", "number", "process", "timed_out", "turn", "waits_for")

    def __init__(self, name: str, number: int, process: Process, body: greenlet) -> None:
        """Take what it is called and what it does."""
        self.name = name
        self.number = number
        self.process = process
        self.greenlet = body
        self.held = 0  # locks
        self.waits_for: object = None  # what blocks it
        self.turn = 0  # how often it has blocked: a timer of an earlier turn is stale
        self.timed_out = False
        self.joiners: list[Task] | None = []  # who waits for its end; None when it has ended

    def __str__(self) -> str:
        """Process and name."""
        return f"{self.process.name}: {self.name}"


class Scheduler:
    """Decides who runs. The caller's own greenlet is the first task, the driver.

    Attributes:
        now: Seconds since the begin.
        current: The task that runs.
        points: How many choices there were.
        switches: How often another task went on.
        digest: Of all switches so far, who went on and where: equal schedules have equal ones, in every process.
        punctual: Whether time passes only when nobody is ready, whatever the choice says.
        looked_at: Whether the running task looks at the reference from outside, where no lock is needed.
    """

    def __init__(self, choice: Choice, trace: Trace | None = None) -> None:
        """Take who chooses, and who is told of each switch."""
        self.now = 0.0
        self.points = 0
        self.switches = 0
        self.digest = 0
        self._choice = choice
        self._pick = choice.pick
        self._trace = trace
        self._numbers = count()
        self._order = count()  # settles ties between timers
        self._timers: list[tuple[float, int, Task, int]] = []
        self._tasks: dict[Task, None] = {}  # those that have not ended
        self._failure: Failure | None = None
        self._busy_at = _BUSY
        self.closed = False
        self.punctual = False
        self.looked_at = False
        self.driver = Task("driver", next(self._numbers), Process("test"), getcurrent())
        self.current = self.driver
        self._ready = [self.driver]  # the running task first

    def spawn(self, name: str, process: Process, work: Callable[[], None]) -> Task:
        """Make a task that does `work`; it begins when it is chosen."""

        def body() -> None:
            maker.switch()  # made; begin when chosen
            try:
                work()
            except Failure as failure:
                self.fail(failure)
            finally:
                if not self.closed:
                    self._end(task)

        maker = getcurrent()
        task = Task(name, next(self._numbers), process, greenlet(body, self.driver.greenlet))
        # Entered at once: a greenlet begins as deep in calls as whoever enters it, and others, entered one by the other
        # when they are chosen first, would come to the limit of the interpreter.
        task.greenlet.switch()
        self._tasks[task] = None
        self._make_ready(task)
        return task

    def point(self) -> None:
        """Let another task go on, if the choice says so."""
        if self.closed:
            raise GreenletExit
        self.points = point = self.points + 1
        if point > self._busy_at:
            self._find_livelock()
        if point < self._choice.asks_at:
            return
        ready = self._ready
        place = self._pick(point, ready, True)  # noqa: FBT003 - the hottest call
        if place > 0:
            task = ready.pop(place)
            ready.append(ready[0])
            ready[0] = task
            self._go_on(task, "")
        elif place == TIME and not self.punctual:
            self._let_time_pass()

    def block(self, waits_for: object, until: float | None = None, *, holding: int = 0) -> bool:
        """Block the running task until it is woken, or the time has come; tell whether it was woken.

        Args:
            waits_for: What it waits for; for reports.
            until: When it wakes by itself.
            holding: How many locks it may hold meanwhile.
        """
        if self.closed:
            raise GreenletExit
        task = self.current
        if task.held > holding:
            self.fail(Failure(HELD, f"{task} waits for {_described(waits_for)}", tuple(self.stacks())))
        task.waits_for = waits_for
        task.turn += 1
        task.timed_out = False
        if until is not None:
            heapq.heappush(self._timers, (until, next(self._order), task, task.turn))
        following = self._choose()
        if following is not task:
            self._go_on(following, waits_for)
        return not task.timed_out

    def sleep(self, seconds: float) -> None:
        """Block the running task for so long."""
        self.block("time", self.now + seconds)

    def wake(self, task: Task) -> None:
        """Let a task that blocks go on; one that does not is left alone."""
        if task.waits_for is not None:
            self._make_ready(task)

    def join(self, task: Task, timeout: float | None) -> None:
        """Block until a task has ended, at most so many seconds."""
        self.point()
        until = None if timeout is None else self.now + timeout
        while task.joiners is not None and (until is None or self.now < until):
            task.joiners.append(self.current)
            self.block(task, until)

    def freeze(self, process: Process) -> None:
        """Let no task of a process go on, whatever wakes it."""
        process.frozen = True
        process.parked = [task for task in self._ready if task.process is process]
        self._ready = [task for task in self._ready if task.process is not process]

    def thaw(self, process: Process) -> None:
        """Let the tasks of a frozen process go on."""
        process.frozen = False
        self._ready += process.parked
        process.parked = []

    def kill(self, process: Process) -> None:
        """End all tasks of a process where they are; for the driver."""
        process.dead = True
        self._ready = [task for task in self._ready if task.process is not process]
        process.parked = []
        self._dispose([task for task in self._tasks if task.process is process])

    def fail(self, failure: Failure) -> None:
        """End the schedule: the driver raises `failure`, and no other task goes on."""
        if self._failure is None:
            self._failure = failure
        if self.current is not self.driver:
            self._ready = [self.driver]
            self.current = self.driver
            self.driver.greenlet.switch()
        raise self._failure

    def stacks(self) -> list[str]:
        """Return where each task is that has not ended, in a few lines each, the innermost call last."""
        lines = []
        for task in (self.driver, *self._tasks):
            if task.process.dead:
                continue
            frame = None if task.greenlet is getcurrent() else task.greenlet.gr_frame
            stack = traceback.extract_stack(frame) if frame or task.greenlet is getcurrent() else []
            waits = f" waits for {_described(task.waits_for)}" if task.waits_for else ""
            lines.append(f"{task}{waits}{' (frozen)' if task.process.frozen else ''}")
            own = [entry for entry in stack if Path(entry.filename).parent.name in {"reference", "known_bad"}]
            lines += [f"    {Path(entry.filename).name}:{entry.lineno} {entry.name}: {entry.line}" for entry in own]
        return lines

    def close(self) -> None:
        """End all tasks; for the driver, and nothing can be done afterwards."""
        self._dispose(list(self._tasks))
        self.closed = True

    def _dispose(self, tasks: list[Task]) -> None:
        self.closed = True  # what they have to leave asks nothing of the scheduler
        for task in tasks:
            task.greenlet.throw(GreenletExit)
            del self._tasks[task]
        self.closed = False

    def _make_ready(self, task: Task) -> None:
        task.waits_for = None
        process = task.process
        if process.frozen:
            process.parked.append(task)
        elif not process.dead:
            self._ready.append(task)

    def _choose(self) -> Task:
        """Take the running task from those that are ready, and choose who follows."""
        ready = self._ready
        del ready[0]
        while not ready:
            self._let_time_pass()
            ready = self._ready
        self.points += 1
        while (place := self._pick(self.points, ready, False)) == TIME:  # noqa: FBT003 - the hottest call
            if self.punctual:
                place = 0
                break
            self._let_time_pass()
            self.points += 1
        task = ready[place]
        if place:
            del ready[place]
            ready.insert(0, task)
        return task

    def _go_on(self, task: Task, left: object) -> None:
        """Switch to another task, until this one is chosen again."""
        self.current = task
        self.switches += 1
        self.digest = hash((self.digest, task.number, self.points))
        if self._trace is not None:
            self._trace(self.now, str(task), _described(left))
        task.greenlet.switch()
        if self._failure is not None and self.current is self.driver:
            raise self._failure

    def _let_time_pass(self) -> None:
        """Go to the next time at which somebody wakes."""
        timers = self._timers
        woken = False
        while timers and (not woken or timers[0][0] <= self.now):
            when, _, task, turn = heapq.heappop(timers)
            if task.turn == turn and task.waits_for is not None and not task.process.dead:
                if when > self.now:
                    self.now = when
                    self._busy_at = self.points + max(_BUSY, _BUSY_EACH * len(self._tasks))
                task.timed_out = True
                self._make_ready(task)
                woken = True
        if not woken and not self._ready:
            self._ready = [self.driver]
            failure = Failure(DEADLOCK, "nothing will ever happen again", tuple(self.stacks()))
            self._failure = self._failure or failure

    def _find_livelock(self) -> None:
        self.fail(Failure(LIVELOCK, f"choices without end at {self.now:.3f}s", tuple(self.stacks())))

    def _end(self, task: Task) -> None:
        """Let the others go on as a task ends: the one chosen becomes its parent, to which a greenlet's end leads."""
        joiners, task.joiners = task.joiners or [], None
        del self._tasks[task]
        for joiner in joiners:
            self.wake(joiner)
        following = self._choose()
        self.current = following
        self.switches += 1
        self.digest = hash((self.digest, following.number, self.points))
        if self._trace is not None:
            self._trace(self.now, str(following), "the end")
        task.greenlet.parent = following.greenlet


def _described(waits_for: object) -> str:
    return waits_for if isinstance(waits_for, str) else type(waits_for).__name__.lower()
