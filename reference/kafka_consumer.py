"""kafka-python behind the consumer port."""

from __future__ import annotations

import re
from contextlib import contextmanager
from typing import TYPE_CHECKING

from kafka import AsyncConsumerRebalanceListener, errors
from kafka import TopicPartition as KafkaTopicPartition
from kafka.structs import OffsetAndMetadata

from isolane.reference import log
from isolane.reference.consumer import ConsumerFailed, KafkaUnavailable, TopicPartition
from isolane.reference.kafka_client import REFUSED, closing_when_it_fails, refusal, unavailable
from isolane.reference.kafka_member import BROKER_TIMEOUT, member_of, milliseconds

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Mapping, Sequence

    from isolane.reference.config import Kafka
    from isolane.reference.consumer import ConsumerRecord, Owner
    from isolane.reference.kafka_member import Member
    from isolane.reference.runtime import Runtime

_COMMIT_TIMEOUT = 2.0
_SETTLE_CHECK = 0.01
_AFTER_TROUBLE = 0.5

_FATAL = (
    errors.AuthorizationError,
    errors.FencedInstanceIdError,
    errors.GroupMaxSizeReachedError,
    errors.IllegalStateError,
    errors.InconsistentGroupProtocolError,
    errors.InvalidGroupIdError,
    errors.InvalidSessionTimeoutError,
    errors.KafkaConfigurationError,
    errors.SaslAuthenticationFailedError,
    errors.UnsupportedVersionError,
)


class _Listener(AsyncConsumerRebalanceListener):  # type: ignore[misc]  # kafka-python has no types
    """Tells the owner, on the client's own thread: it must not block there, and awaits instead.

    The poll thread waits in `poll` or `close` meanwhile, so the two never meet in the owner.
    """

    def __init__(self, consumer: KafkaGroupConsumer, owner: Owner) -> None:
        """Take whose partitions they are, and who is told."""
        self._consumer = consumer
        self._owner = owner

    async def on_partitions_assigned(self, assigned: Collection[KafkaTopicPartition]) -> None:
        """Begin ownerships."""
        await self._consumer.pin(assigned)
        self._owner.assigned(_places(assigned))

    async def on_partitions_revoked(self, revoked: Collection[KafkaTopicPartition]) -> None:
        """Wait a bounded time for what is under way, commit what is finished, end the ownerships (REB-5, REB-7)."""
        places = _places(revoked)
        self._owner.revoking(places)
        await self._consumer.grace(lambda: self._owner.settled(places))
        # The client has replaced its assignment already: what is to be committed must be named.
        await self._consumer.commit_now(self._owner.revoked(places))

    async def on_partitions_lost(self, lost: Collection[KafkaTopicPartition]) -> None:
        """End ownerships, and commit nothing (REB-3)."""
        self._owner.lost(_places(lost))


class KafkaGroupConsumer:
    """See `Consumer`."""

    def __init__(self, kafka: Kafka, subscription: str, owner: Owner, runtime: Runtime) -> None:
        """Connect and subscribe; blocks for some seconds at most.

        Args:
            kafka: The settings.
            subscription: The regular expression of the topics.
            owner: Who is told which partitions are owned.
            runtime: Of the process.

        Raises:
            KafkaUnavailable: No broker answers.
            ConsumerFailed: Trouble that does not pass by itself: a broker does not let the process in, for one.
        """
        self._runtime = runtime
        self._grace = kafka.revoke_grace
        self._nap = runtime.condition()
        try:
            with _connected(kafka) as self._member:
                latest = kafka.initial_offset == "latest"
                self._begins_at_end = self._without_history(subscription) if latest else set()
        except KafkaUnavailable:
            self._rest()
            raise
        self._member.subscribe(pattern=subscription, listener=_Listener(self, owner))

    def poll(self, timeout: float) -> Mapping[TopicPartition, Sequence[ConsumerRecord]]:
        """See `Consumer`."""
        try:
            batches = self._member.poll_whole(milliseconds(timeout))
        except _FATAL as error:
            raise ConsumerFailed(_explained(error)) from error
        except errors.KafkaError as error:
            if type(error) is errors.KafkaError and error.__cause__ is not None:
                # The owner failed: partitions without a worker would stand still for ever (REB-2).
                raise
            log.warning("trouble with Kafka", error=str(error))
            self._rest()
            return {}
        return {TopicPartition(*place): records for place, records in batches.items()}

    def wake(self) -> None:
        """See `Consumer`."""
        self._member.wake()

    def pause(self, places: Collection[TopicPartition]) -> None:
        """See `Consumer`."""
        self._member.pause(*(KafkaTopicPartition(*place) for place in places))

    def resume(self, places: Collection[TopicPartition]) -> None:
        """See `Consumer`."""
        self._member.resume(*(KafkaTopicPartition(*place) for place in places))

    def position(self, place: TopicPartition) -> int | None:
        """See `Consumer`."""
        return self._member.fetch_position(KafkaTopicPartition(*place))

    def seek(self, place: TopicPartition, offset: int) -> None:
        """See `Consumer`."""
        self._member.seek(KafkaTopicPartition(*place), offset)

    def ends(self) -> Mapping[TopicPartition, int]:
        """See `Consumer`."""
        return {TopicPartition(*place): end for place, end in self._member.ends().items()}

    def trouble(self) -> str | None:
        """See `Consumer`."""
        return self._member.trouble()

    def commit(self, offsets: Mapping[TopicPartition, int], done: Callable[[str | None], None]) -> None:
        """See `Consumer`."""

        def called(_: object, result: object) -> None:
            done(str(result) if isinstance(result, Exception) else None)

        self._member.commit_async(_with_metadata(offsets), called)

    def close(self) -> None:
        """See `Consumer`."""
        try:
            self._member.close(autocommit=False, timeout_ms=milliseconds(_COMMIT_TIMEOUT))
        except errors.KafkaError as error:
            log.warning("left the group with trouble", error=str(error))

    async def pin(self, assigned: Collection[KafkaTopicPartition]) -> None:
        """Let partitions begin where they were committed last, or in a new group where `initial_offset` says.

        The latter is committed before anything is read, or whoever owned them next would begin at a later end (OFF-6).
        For the listener.
        """
        self._member.forget_committed()
        if new := self._begins_at_end.intersection(assigned):
            self._begins_at_end -= new
            await self.commit_now(await self._member.start_at_end(new, BROKER_TIMEOUT))

    async def grace(self, settled: Callable[[], bool]) -> None:
        """Wait until `settled`, at most the grace for revoked partitions; for the listener."""
        end = self._runtime.now() + self._grace
        while not settled() and self._runtime.now() < end:
            await self._member.sleep(_SETTLE_CHECK)

    async def commit_now(self, offsets: Mapping[TopicPartition, int]) -> None:
        """Commit offsets of partitions that come or go, in a bounded time; for the listener."""
        try:
            if offsets:
                await self._member.commit_within(_with_metadata(offsets), _COMMIT_TIMEOUT)
        except errors.KafkaError as error:
            log.warning("not committed as partitions changed hands", error=str(error))

    def _rest(self) -> None:
        with self._nap:
            self._nap.wait(_AFTER_TROUBLE)

    def _without_history(self, subscription: str) -> set[KafkaTopicPartition]:
        """Return the partitions that exist already, if the group has committed nothing yet.

        Only those begin at their end. What appears later, or while a group that has begun is away, was discovered
        and begins at its first record (design decision 13).
        """
        topics = [topic for topic in self._member.topics() if re.match(subscription, topic)]
        places = {
            KafkaTopicPartition(topic, partition)
            for topic in topics
            for partition in self._member.partitions_for_topic(topic)
        }
        return set() if self._member.committed_offsets(places) else places


def check_access(kafka: Kafka) -> None:
    """Connect to a broker, and leave it again; blocks for some seconds at most, and joins no group.

    Raises:
        KafkaUnavailable: No broker answers.
        ConsumerFailed: One does not let the process in.
    """
    with _connected(kafka) as member:
        member.close(autocommit=False)


@contextmanager
def _connected(kafka: Kafka) -> Iterator[Member]:
    """Yield a client that has found a broker, and close it when an exception leaves the block; see `check_access`."""
    try:
        with closing_when_it_fails() as client:
            yield member_of(kafka, client)
    except REFUSED as error:
        raise ConsumerFailed(refusal(kafka, error)) from error
    except _FATAL as error:
        raise ConsumerFailed(_explained(error)) from error
    except errors.KafkaError as error:
        raise KafkaUnavailable(unavailable(error)) from error


def _explained(error: errors.KafkaError) -> str:
    """Return what an error of kafka-python says; it is a number and a name where the broker says no more."""
    told = str(error)
    return f"{told}: {getattr(error, 'description', '')}" if told.endswith(type(error).__name__) else told


def _places(places: Collection[KafkaTopicPartition]) -> list[TopicPartition]:
    return [TopicPartition(*place) for place in places]


def _with_metadata(offsets: Mapping[TopicPartition, int]) -> dict[KafkaTopicPartition, OffsetAndMetadata]:
    return {KafkaTopicPartition(*place): OffsetAndMetadata(offset, "", -1) for place, offset in offsets.items()}
