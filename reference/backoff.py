"""How long to wait before the next attempt. Pure: chance is passed in."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from isolane.reference.config import Retry


class Backoff:
    """Exponential back-off with jitter (DEL-7)."""

    def __init__(self, retry: Retry, random: Callable[[], float]) -> None:
        """Take the settings and a source of numbers in [0, 1)."""
        self._retry = retry
        self._random = random

    def delay(self, failures: int, at_least: float | None = None) -> float:
        """Return the seconds to wait after so many failures (one at least), never less than `at_least`."""
        full = min(self._retry.max_interval, self._retry.initial_interval * 2.0 ** min(failures - 1, 64))
        return max(full * (1 - self._retry.jitter * self._random()), at_least or 0.0)
