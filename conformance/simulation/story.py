"""What happened in a schedule, for people: a line an event."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, NamedTuple

from isolane.conformance.simulation.choice import TIME, Choice, Numbered

if TYPE_CHECKING:
    from isolane.reference.consumer import TopicPartition


class Event(NamedTuple):
    """One thing that happened.

    Attributes:
        time: Seconds since the begin.
        what: In a few words.
        place: The partition concerned, or None.
        offset: The offset concerned, or None.
        more: Whatever else there is to say.
    """

    time: float
    what: str
    place: TopicPartition | None = None
    offset: int | None = None
    more: str = ""

    def __str__(self) -> str:
        """The line."""
        where = "" if self.place is None else f" {self.place.topic}/{self.place.partition}"
        which = "" if self.offset is None else f"@{self.offset}"
        return f"{self.time:9.4f}s  {self.what}{where}{which}{' ' if self.more else ''}{self.more}"


class Narrated:
    """A choice whose deviations are told in a story."""

    def __init__(self, choice: Choice, story: Story) -> None:
        """Take the choice, and the story that it belongs to."""
        self._choice = choice
        self._story = story
        self.asks_at = choice.asks_at

    def pick(self, point: int, ready: Sequence[Numbered], stays: bool) -> int:  # noqa: FBT001 - see `Choice`
        """See `Choice`."""
        place = self._choice.pick(point, ready, stays)
        self.asks_at = self._choice.asks_at
        if place == TIME:
            self._story.tell(f"time passes while {ready[0]} is ready")
        elif place:
            self._story.tell(f"{ready[place]} goes on before {ready[0]}")
        return place


class Story:
    """The events of a schedule, if they are wanted; telling one that nobody wants costs next to nothing."""

    def __init__(self, now: Callable[[], float], *, wanted: bool) -> None:
        """Take the clock."""
        self.events: list[Event] = []
        self._now = now
        self.wanted = wanted

    def tell(self, what: str, place: TopicPartition | None = None, offset: int | None = None, more: str = "") -> None:
        """Note an event."""
        if self.wanted:
            self.events.append(Event(self._now(), what, place, offset, more))
