"""Progress for people: what a run does now, on standard error; one living line on a terminal, a line each elsewhere."""

from __future__ import annotations

import time
from types import TracebackType
from typing import Self

from rich.console import Console

from isolane.conformance.engine import Progress


class Ticker:
    """Tells what begins; a context manager. For one thread."""

    def __init__(self, name: str, console: Console | None = None) -> None:
        """Tell the progress of `name`."""
        self._name = name
        self._console = console or Console(stderr=True)
        self._status = self._console.status(name)
        self._began = time.monotonic()

    def __enter__(self) -> Self:
        """Begin to tell."""
        if self._console.is_terminal:
            self._status.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Clear the line."""
        self._status.stop()

    def rest(self) -> None:
        """Clear the line until there is more to tell: something else is printed."""
        self._status.stop()

    def say(self, text: str) -> None:
        """Tell a line."""
        line = f"{time.monotonic() - self._began:5.1f} s  {self._name}: {text}"
        if self._console.is_terminal:
            self._status.update(line)
        else:
            self._console.print(line, soft_wrap=True, highlight=False, markup=False)

    def tell(self, progress: Progress) -> None:
        """Tell that a phase begins."""
        self.say(f"{progress.scenario}, {progress.phase}")
