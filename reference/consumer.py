"""The consumer port: what the receiver needs of a member of a consumer group."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping, Sequence


class TopicPartition(NamedTuple):
    """A partition of a topic."""

    topic: str
    partition: int


class ConsumerRecord(Protocol):
    """A record as it was fetched."""

    @property
    def topic(self) -> str:
        """The topic's name."""

    @property
    def partition(self) -> int:
        """The partition's number."""

    @property
    def offset(self) -> int:
        """The place in the partition."""

    @property
    def key(self) -> bytes | None:
        """The key."""

    @property
    def value(self) -> bytes | None:
        """The value; None for a tombstone."""


class Owner(Protocol):
    """Who is told which partitions the member owns.

    Called by the consumer while `poll` or `close` runs, never at another time; nothing here blocks.
    """

    def assigned(self, places: Collection[TopicPartition]) -> None:
        """Begin the ownership of these partitions; nothing of them was returned by `poll` yet."""

    def revoking(self, places: Collection[TopicPartition]) -> None:
        """Begin nothing more for these partitions: they are about to be taken away."""

    def settled(self, places: Collection[TopicPartition]) -> bool:
        """Whether nothing of these partitions is under way that is worth waiting for."""

    def revoked(self, places: Collection[TopicPartition]) -> Mapping[TopicPartition, int]:
        """End the ownership of these partitions; return the offsets that may be committed for them now."""

    def lost(self, places: Collection[TopicPartition]) -> None:
        """End the ownership of these partitions, which may belong to another member already."""


class Consumer(Protocol):
    """A member of a consumer group. All methods but `wake` are for one thread, the poll thread."""

    def poll(self, timeout: float) -> Mapping[TopicPartition, Sequence[ConsumerRecord]]:
        """Return what was fetched, by partition and in order; block at most about `timeout` seconds for it.

        While partitions change hands it may block as long as the grace for revoked ones. Trouble that may pass, such
        as a broker that is down, is told in the log, and nothing is returned.

        Raises:
            ConsumerFailed: trouble that does not pass by itself.
        """

    def wake(self) -> None:
        """Let the `poll` that waits return at once, or the next one; for any thread, also after `close`."""

    def pause(self, places: Collection[TopicPartition]) -> None:
        """Return nothing of these partitions, until `resume`."""

    def resume(self, places: Collection[TopicPartition]) -> None:
        """Return records of these partitions again, from where they were paused."""

    def position(self, place: TopicPartition) -> int | None:
        """Return the offset after the last record that `poll` returned, beyond control records; None if unknown."""

    def seek(self, place: TopicPartition, offset: int) -> None:
        """Go on with the record at `offset`, or the next one behind it, whatever was returned before."""

    def ends(self) -> Mapping[TopicPartition, int]:
        """Return the offset behind the last record of each owned partition, as lately as the broker told it.

        It does not block: what it asks the broker for, a later call returns. A partition may be missing.
        """

    def trouble(self) -> str | None:
        """Return why nothing can be received now: no member of its group, or the broker is silent; None if it can."""

    def commit(self, offsets: Mapping[TopicPartition, int], done: Callable[[str | None], None]) -> None:
        """Commit offsets without blocking; `done` is called by a later `poll`, with what went wrong or None."""

    def close(self) -> None:
        """Give all partitions back, as if they were revoked, and leave the group; blocks for a bounded time."""


class KafkaUnavailable(Exception):  # noqa: N818  # named for the fact
    """No consumer could be made now: no broker answers."""


class ConsumerFailed(Exception):  # noqa: N818  # named for the fact
    """The consumer cannot go on, and will not by itself."""
