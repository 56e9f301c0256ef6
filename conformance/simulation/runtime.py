"""The reference's seam to threads, locks, the clock and chance, in a simulated process."""

from __future__ import annotations

from typing import TYPE_CHECKING

from isolane.conformance.simulation.failures import CRASH, Failure
from isolane.conformance.simulation.locks import Condition, Lock
from isolane.reference.runtime import Runtime

if TYPE_CHECKING:
    from collections.abc import Callable

    from isolane.conformance.simulation.scheduler import Process, Scheduler, Task


class SimulatedThread:
    """See `isolane.reference.runtime.Thread`."""

    def __init__(self, scheduler: Scheduler, task: Task) -> None:
        """Take the task that it is."""
        self._scheduler = scheduler
        self._task = task

    def join(self, timeout: float | None = None) -> None:
        """See `Thread`."""
        self._scheduler.join(self._task, timeout)

    def is_alive(self) -> bool:
        """See `Thread`."""
        return self._task.joiners is not None


class SimulatedRuntime(Runtime):
    """See `isolane.reference.runtime.Runtime`: a crash ends the schedule."""

    def __init__(self, scheduler: Scheduler, process: Process, seed: int) -> None:
        """Take the process whose threads these are, and a seed for its random numbers."""
        super().__init__(self._fail, seed=seed)
        self.scheduler = scheduler
        self.process = process

    def now(self) -> float:
        """See `Runtime`: virtual seconds."""
        self.scheduler.point()
        return self.scheduler.now

    def random(self) -> float:
        """See `Runtime`."""
        self.scheduler.point()
        return super().random()

    def lock(self) -> Lock:
        """See `Runtime`."""
        return Lock(self.scheduler)

    def condition(self) -> Condition:
        """See `Runtime`."""
        return Condition(self.scheduler)

    def spawn(self, name: str, work: Callable[[], None]) -> SimulatedThread:
        """See `Runtime`."""

        def guarded() -> None:
            try:
                work()
            except Failure:
                raise
            except Exception as error:  # noqa: BLE001 - whatever it is, it is a finding
                self._crash(name, error)

        return SimulatedThread(self.scheduler, self.scheduler.spawn(name, self.process, guarded))

    def _fail(self, name: str, error: Exception) -> None:
        place = traceback_of(error)
        sentence = f"{self.process.name}: {name} ended with {type(error).__name__}: {error}"
        self.scheduler.fail(Failure(CRASH, sentence, place))


def traceback_of(error: Exception) -> tuple[str, ...]:
    """Return where an exception came from, the innermost call last."""
    lines = []
    trace = error.__traceback__
    while trace is not None:
        code = trace.tb_frame.f_code
        lines.append(f"    {code.co_filename.rsplit('/', 1)[-1]}:{trace.tb_lineno} {code.co_name}")
        trace = trace.tb_next
    return tuple(lines)
