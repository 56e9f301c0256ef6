"""Who goes on: at each point of a schedule one of the tasks that are ready is chosen.

Place 0 is the default: the running task stays, or, when it blocks, the one that waited longest follows. A schedule is
therefore told by its deviations from the default alone, whatever made them.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import log
from random import Random
from sys import maxsize
from typing import NamedTuple, Protocol

TIME = -1
"""The choice that time passes although somebody is ready: the others are slow."""


DRIVER = 0
"""The number of the task that does things to the world."""


class Numbered(Protocol):
    """A task, as far as a choice sees it."""

    @property
    def number(self) -> int:
        """Its place in the order in which tasks were made."""


class Choice(Protocol):
    """Chooses who goes on.

    Attributes:
        asks_at: The number of the next choice at which a running task that does not block may have to stay behind; at
            earlier ones it stays without being asked for.
    """

    asks_at: int

    def pick(self, point: int, ready: Sequence[Numbered], stays: bool) -> int:  # noqa: FBT001 - the hottest call
        """Return a place in `ready`, or `TIME`.

        Args:
            point: The number of the choice, from 1.
            ready: At least one task.
            stays: Whether the first of them is the running one, which may go on; otherwise it has just blocked.
        """


class Deviation(NamedTuple):
    """Where a schedule leaves the default.

    Attributes:
        point: The number of the choice, from 1.
        place: What was chosen there: a place among the ready tasks, or `TIME`.
    """

    point: int
    place: int


class Walk:
    """A random walk: anybody who is ready goes on, with the same probability; but some choices are left out."""

    def __init__(self, random: Random, *, stickiness: float, haste: float, restless: bool = False) -> None:
        """Take a source of chance.

        Args:
            random: The source.
            stickiness: The probability that the running task stays where it need not block.
            haste: The probability that time passes before its time.
            restless: Whether somebody else goes on, where it is asked for and there is somebody.
        """
        self._least = int(restless)
        self.asks_at = 1
        self._draw = random.random
        self._log_of_stickiness = log(stickiness) if stickiness else 0.0
        self._haste = haste

    def pick(self, point: int, ready: Sequence[Numbered], stays: bool) -> int:  # noqa: FBT001 - see `Choice`
        """See `Choice`."""
        draw = self._draw
        if stays and self._log_of_stickiness:  # so many choices are left out, one after the other
            self.asks_at = point + 1 + int(log(1.0 - draw()) / self._log_of_stickiness)
        if self._haste and draw() < self._haste:
            return TIME
        number = len(ready)
        if stays and number > 1:
            return self._least + int(draw() * (number - self._least))
        return int(draw() * number)


class _Drawn(dict[int, float]):
    """A number for each key, drawn when it is asked for first."""

    def __init__(self, random: Random) -> None:
        super().__init__()
        self._random = random

    def __missing__(self, key: int) -> float:
        value = self[key] = self._random.random()
        return value


class Priorities:
    """Each task has a random priority, which the highest ready one uses; at a few points the running one sinks.

    This is probabilistic concurrency testing (Burckhardt, Kothari, Musuvathi, Nagarakatte, ASPLOS 2010): a fault that
    needs d such points among k steps and n tasks is met with a probability of at least 1/(n·k^(d-1)). Beyond that, who
    has sunk is slow: time passes while nobody else is ready, so that it may miss deadlines, and a whole rebalance.
    """

    def __init__(self, random: Random, *, changes: int, length: int, slowness: int) -> None:
        """Take the bounds.

        Args:
            random: A source of chance.
            changes: At how many points the running task sinks.
            length: About how long schedules become.
            slowness: How often time passes, at most, while only those that have sunk are ready, for each of them.
        """
        self.asks_at = 1
        self._random = random
        self._changes = sorted((random.randrange(1, length) for _ in range(changes)), reverse=True)
        self._slowness = slowness
        self._slow_for = 0
        self._lowest = 0.0
        self._priorities = _Drawn(random)
        self._priorities[DRIVER] = 2.0  # it is the world around, which is never late

    def pick(self, point: int, ready: Sequence[Numbered], stays: bool) -> int:  # noqa: FBT001 - see `Choice`
        """See `Choice`."""
        if stays and self._changes and self._changes[-1] <= point and ready[0].number != DRIVER:
            self._changes.pop()
            self._lowest -= 1.0
            self._priorities[ready[0].number] = self._lowest
            self._slow_for += self._random.randrange(self._slowness + 1)
        of = self._priorities
        if len(ready) == 1:
            highest = of[ready[0].number]
            place = 0
        else:
            priorities = [of[task.number] for task in ready]
            highest = max(priorities)
            place = priorities.index(highest)
        if highest < 0.0 and self._slow_for:
            self._slow_for -= 1
            return TIME
        return place


def seeded(seed: int) -> Choice:
    """Return the choice that belongs to a seed: walks of several kinds, and priorities."""
    random = Random(seed)
    if seed % 4 == 0:
        return Priorities(random, changes=random.randrange(1, 8), length=1200, slowness=random.choice((0, 5, 40)))
    return Walk(
        random,
        stickiness=random.choice((0.0, 0.0, 0.0, 0.5)),
        haste=random.choice((0.0, 0.0, 0.002, 0.02)),
        restless=random.random() < 0.8,
    )


class Replayed:
    """The default, but for the deviations that were given; a place that is not there is taken as the last one."""

    def __init__(self, deviations: Iterable[Deviation] = ()) -> None:
        """Take the deviations, in order; without any it is the default schedule."""
        self._places = {deviation.point: deviation.place for deviation in deviations}
        self._points = iter([*self._places, maxsize])
        self.asks_at = next(self._points)

    def pick(self, point: int, ready: Sequence[Numbered], stays: bool) -> int:  # noqa: FBT001 - see `Choice`
        """See `Choice`."""
        del stays
        while self.asks_at <= point:
            self.asks_at = next(self._points)
        place = self._places.get(point)
        return 0 if place is None else min(place, len(ready) - 1)


class Recorded:
    """Another choice, and the deviations that it made."""

    def __init__(self, choice: Choice) -> None:
        """Take the choice."""
        self._choice = choice
        self.asks_at = choice.asks_at
        self.deviations: list[Deviation] = []

    def pick(self, point: int, ready: Sequence[Numbered], stays: bool) -> int:  # noqa: FBT001 - see `Choice`
        """See `Choice`."""
        place = self._choice.pick(point, ready, stays)
        self.asks_at = self._choice.asks_at
        if place:
            self.deviations.append(Deviation(point, place))
        return place


class Queued:
    """The default, but for deviations that are added as the schedule goes on, each so many choices after the last."""

    def __init__(self) -> None:
        """Begin with none."""
        self._deviations: list[tuple[int, int]] = []  # the next one last; how many choices later, and the place
        self.asks_at = maxsize

    def then(self, point: int, deviations: Sequence[tuple[int, int]]) -> None:
        """Leave the default so many choices after `point`, and after each other; what was to come is forgotten.

        Args:
            point: The number of the latest choice.
            deviations: Pairs of a distance, at least 1, and a place or `TIME`.
        """
        self._deviations = list(reversed(deviations))
        self.asks_at = point + self._deviations[-1][0] if self._deviations else maxsize

    def pick(self, point: int, ready: Sequence[Numbered], stays: bool) -> int:  # noqa: FBT001 - see `Choice`
        """See `Choice`."""
        del stays
        if point < self.asks_at:
            return 0
        _, place = self._deviations.pop()
        self.asks_at = point + self._deviations[-1][0] if self._deviations else maxsize
        return min(place, len(ready) - 1)
