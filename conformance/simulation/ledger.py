"""What was produced, what became of it, and whether a commit may pass it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from isolane.conformance.simulation.failures import Failure
from isolane.reference.consumer import TopicPartition

if TYPE_CHECKING:
    from collections.abc import Iterator

    from isolane.conformance.simulation.broker import Log
    from isolane.conformance.simulation.scheduler import Scheduler
    from isolane.conformance.simulation.story import Story


class Entry:
    """A record of an owned topic.

    Attributes:
        place: Its partition.
        offset: Where it is in that.
        tenant: Whose it is.
        left: The positions of its items that are neither accepted nor dead-lettered yet.
        produced_at: When it was acknowledged.
        finished_at: When nothing was left; None before.
    """

    __slots__ = ("finished_at", "left", "offset", "place", "produced_at", "tenant")

    def __init__(self, place: TopicPartition, offset: int, tenant: str, items: int, now: float) -> None:
        """Begin with all items left."""
        self.place = place
        self.offset = offset
        self.tenant = tenant
        self.left = set(range(items))
        self.produced_at = now
        self.finished_at = None if items else now

    def __str__(self) -> str:
        """Topic, partition and offset, as people write them."""
        return f"{self.place.topic}/{self.place.partition}@{self.offset}"


class Ledger:
    """Everything that is judged about delivery and commits; it fails the schedule when a rule is broken.

    Attributes:
        unfinished: How many records are not finished.
        entries: All records by partition, in order.
    """

    def __init__(self, scheduler: Scheduler, story: Story) -> None:
        """Begin empty."""
        self.unfinished = 0
        self.entries: dict[TopicPartition, list[Entry]] = {}
        self._scheduler = scheduler
        self._story = story
        self._by_offset: dict[tuple[str, int, int], Entry] = {}
        self._committed: dict[TopicPartition, tuple[int, int]] = {}  # the offset, and how many records are below it

    def __iter__(self) -> Iterator[Entry]:
        """All records."""
        return (entry for entries in self.entries.values() for entry in entries)

    def produced(self, place: TopicPartition, offset: int, tenant: str, items: int) -> None:
        """Note a record with so many items to deliver."""
        entry = Entry(place, offset, tenant, items, self._scheduler.now)
        self.entries.setdefault(place, []).append(entry)
        self._by_offset[place.topic, place.partition, offset] = entry
        self.unfinished += items > 0

    def accepted(self, tenant: str, document_id: str) -> None:
        """Note a document that the cluster of a tenant has stored (TEN-2)."""
        topic, partition, offset, position = document_id.rsplit(":", 3)
        entry = self._by_offset[topic, int(partition), int(offset)]
        if entry.tenant != tenant:
            self._scheduler.fail(Failure("TEN-2", f"{entry} of {entry.tenant} was sent to the cluster of {tenant}"))
        self._finish(entry, int(position))

    def dead_lettered(self, topic: str, partition: int, offset: int, position: int) -> None:
        """Note a dead letter, of the item of a record at a position."""
        entry = self._by_offset[topic, partition, offset]
        self._finish(entry, position)
        self._story.tell("dead letter written", entry.place, offset)

    def committed(self, name: str, place: TopicPartition, offset: int, log: Log, *, foreign: bool) -> None:
        """Hold a commit to the rules (OFF-1, OFF-2, OFF-5)."""
        self._story.tell("committed", place, offset, f"by {name}")
        before, passed = self._committed.get(place, (0, 0))
        shown = f"{name} committed {offset} of {place.topic}/{place.partition}"
        if foreign:
            self._scheduler.fail(Failure("OFF-5", f"{shown}, which another member owns"))
        if offset < before:
            self._scheduler.fail(Failure("OFF-2", f"{shown} after {before}"))
        if offset > log.end:
            self._scheduler.fail(Failure("OFF-2", f"{shown}, which ends at {log.end}"))
        entries = self.entries.get(place, [])
        while passed < len(entries) and entries[passed].offset < offset:
            if entries[passed].finished_at is None:
                self._scheduler.fail(Failure("OFF-1", f"{shown}, and {entries[passed].offset} is not finished"))
            passed += 1
        self._committed[place] = offset, passed

    def uncommitted(self) -> list[TopicPartition]:
        """Return the partitions in which not every record is committed."""
        return [
            place for place, entries in self.entries.items() if self._committed.get(place, (0, 0))[1] < len(entries)
        ]

    def _finish(self, entry: Entry, position: int) -> None:
        if position in entry.left:
            entry.left.remove(position)
            if not entry.left:
                entry.finished_at = self._scheduler.now
                self.unfinished -= 1
