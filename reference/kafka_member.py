"""The client of kafka-python as a member of the group, with the quirks fenced that are its own (docs/reference.md)."""

from __future__ import annotations

import sys
from collections import defaultdict
from functools import partial
from typing import TYPE_CHECKING, Any

from kafka import KafkaConsumer, errors
from kafka import TopicPartition as KafkaTopicPartition
from kafka.coordinator.assignors.cooperative_sticky import CooperativeStickyAssignor
from kafka.future import Future
from kafka.protocol.consumer import OffsetResetStrategy, OffsetSpec
from kafka.util import Timer

from isolane.reference import log
from isolane.reference.consumer import TopicPartition
from isolane.reference.kafka_client import connection
from isolane.reference.kafka_records import part_of_fetch
from isolane.reference.kafka_turns import FetchTurns

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping, Sequence

    from kafka.structs import OffsetAndMetadata

    from isolane.reference.config import Kafka
    from isolane.reference.consumer import ConsumerRecord

BROKER_TIMEOUT = 10.0
"""Seconds after which a request to a broker is given up."""

# A fetch waits at the broker no longer than this, for it holds up the next one: of partitions resumed meanwhile.
_FETCH_WAIT = 0.05
# Small fetches, compressed: what a paused partition has buffered stays small, and so does what one fetch inflates to.
# One partition may have all of it: a batch that is cut off at its end has to be fetched once more (MEM-7).
_FETCH_BYTES = 256 * 1024
# Joining takes as long as the slowest member needs to notice; meanwhile `stop` waits.
_JOIN_TIMEOUT = 5.0
# How long a partition is left alone that cannot be read.
_LEFT_ALONE = 5.0


class _Assignor(CooperativeStickyAssignor):  # type: ignore[misc]  # kafka-python has no types
    """Claims what the member owns when it joins (KIP-429).

    The client claims what it was given last, even after it lost that: a leader that is told of two owners may let one
    begin while the other still works on it and has yet to commit (REB-3).
    """

    owned: Callable[[], Collection[KafkaTopicPartition]]

    def metadata(self, topics: Collection[str]) -> object:
        """Return what the member tells the leader."""
        self.member_assignment = list(self.owned())
        return super().metadata(topics)


class Member(KafkaConsumer):  # type: ignore[misc]  # kafka-python has no types
    """The client, with what its public methods cannot do without blocking."""

    _asked: Any = None  # the request for the ends that is under way, or was answered last
    _ends: Mapping[KafkaTopicPartition, int] = {}  # replaced, never changed
    _joined_with: Any = None  # the partitions of each topic, as they were known when the member began to join

    def __init__(self, **settings: Any) -> None:  # noqa: ANN401 - whatever the client takes
        """Make the client, and let partitions that are behind take turns in fetches, members share cooperatively."""
        super().__init__(**settings, partition_assignment_strategy=[_Assignor])
        self._coordinator._assignors[_Assignor.name].owned = self._subscription.assigned_partitions  # noqa: SLF001
        self._proceed = self._coordinator._do_join_and_sync_async  # noqa: SLF001
        self._coordinator._do_join_and_sync_async = self._join  # noqa: SLF001
        self._assign = self._subscription.assign_from_subscribed
        self._subscription.assign_from_subscribed = self._assign_or_keep
        for name in ("reset_failed", "validation_failed"):
            setattr(self._subscription, name, partial(self._ask_again, getattr(self._subscription, name)))
        self._turns = FetchTurns[KafkaTopicPartition](_FETCH_BYTES)
        fetchable = self._fetcher._fetchable_partitions  # noqa: SLF001
        self._fetcher._fetchable_partitions = lambda: self._in_turn(fetchable())  # noqa: SLF001
        self._fetcher.PartitionRecords = part_of_fetch
        self._parse, self._fetcher._parse_fetched_data = self._fetcher._parse_fetched_data, self._read  # noqa: SLF001
        self._append, self._fetcher._append = self._fetcher._append, self._take  # noqa: SLF001
        self._left: dict[KafkaTopicPartition, Timer] = {}  # those that cannot be read, until they are tried again
        self._fetcher.send_fetches = partial(self._send_or_keep, self._fetcher.send_fetches)
        self._unsent: errors.KafkaError | None = None  # why fetches could not be sent
        self._woken = False
        self._bell = Future()  # what the client waits for beside its fetches; another one for each time
        self._ended_fetches = self._fetcher._clean_done_fetch_futures  # noqa: SLF001
        self._fetcher._clean_done_fetch_futures = self._hang_bell  # noqa: SLF001

    def poll_whole(self, timeout_ms: int) -> Mapping[KafkaTopicPartition, Sequence[ConsumerRecord]]:
        """Poll, and see a join through that has begun, or is due, before.

        In one short poll the client would begin a join and in the next forget it: whether to join it decides by
        comparing what it knows with what it joined with, and beginning to join evens that out; a join that ends
        between two polls it begins again. The member would stop its heartbeats, and be expelled without a word.
        """
        coordinator = self._coordinator
        with coordinator._lock:  # noqa: SLF001
            if coordinator.stable() and not (coordinator.rejoining or coordinator._heartbeat_enabled):  # noqa: SLF001
                # Another process has the same instance id now; the client only ceases its heartbeats (REB-3).
                raise errors.FencedInstanceIdError(f"another member is {coordinator.group_instance_id} now")
        if coordinator.rejoining:
            coordinator.request_rejoin()
        if coordinator.need_rejoin():
            coordinator.poll(timeout_ms=milliseconds(_JOIN_TIMEOUT))
        timer = Timer(timeout_ms)
        batches: Mapping[KafkaTopicPartition, Sequence[ConsumerRecord]] = self._poll_once(timer, sys.maxsize)
        while not (batches or timer.expired or self._woken):
            batches = self._poll_once(timer, sys.maxsize)
        self._woken = False
        self._turns.took(batches)
        if not batches and self._unsent:
            error, self._unsent = self._unsent, None
            raise error
        return batches

    async def _join(self) -> object:
        """Join the group, or let the client begin to join once more; for the client.

        What a member has lost it gives up when it begins to join. One that is expelled later, while that join goes on
        or its listener waits, the client would join anew, and claim what others have got since (REB-3; in Java it
        was KAFKA-12983).
        """
        if self._coordinator._generation.is_lost() and self._subscription.assigned_partitions():  # noqa: SLF001
            self._coordinator.rejoining = False
            raise errors.UnknownMemberIdError
        self._joined_with = self._coordinator._metadata_snapshot  # noqa: SLF001
        return await self._proceed()

    def _assign_or_keep(self, places: Collection[KafkaTopicPartition]) -> None:
        """Own these partitions alone; for the client.

        Those that the member keeps stay, whatever became of their topics: the client would raise ValueError if one was
        deleted while the listener waited for the work of another. The join that is due gives it back like any other.

        Any member watches how many partitions there are, and joins anew when they change. The client does so only as
        the leader, and a static leader that returns is told of its former self as the leader: nobody would (TEN-1).
        """
        if self._coordinator._assignment_snapshot is None:  # noqa: SLF001
            self._coordinator._assignment_snapshot = self._joined_with  # noqa: SLF001
        if self._subscription.assigned_partitions().issuperset(places):
            self._subscription._apply_assignment(places)  # noqa: SLF001
        else:
            self._assign(places)
        self._turns.keep(places)

    def _ask_again(self, tell: Callable[..., None], places: Collection[KafkaTopicPartition], at: float) -> None:
        """Note when a position is to be asked for again that was not found; for the client.

        If one of the partitions was revoked meanwhile the client would stop there with KeyError, and begin the others
        late: when the request that has failed would have expired.
        """
        tell(self._subscription.assigned_partitions().intersection(places), at)

    def wake(self) -> None:
        """Let `poll_whole` return soon; for any thread, also when the client is closed or has failed."""
        self._woken = True
        self._net.call_soon(self._ring)
        self._net.wakeup()

    def fetch_position(self, place: KafkaTopicPartition) -> int | None:
        """Return the position if it is known; `position` may block for the network."""
        state = self._subscription.assignment.get(place)
        position = state and state.position
        return position.offset if position else None

    def forget_committed(self) -> None:
        """Let committed offsets be asked for anew; for a rebalance listener.

        An answer that comes when the poll that asked is over the client keeps, and takes it when the same partitions
        begin again, whoever has owned them meanwhile: the offset would go back (OFF-2).
        """
        self._coordinator._offset_fetch_futures.clear()  # noqa: SLF001

    def committed_offsets(self, places: Collection[KafkaTopicPartition]) -> Mapping[KafkaTopicPartition, Any]:
        """Return those of the partitions that have a committed offset; blocks."""
        offsets: Mapping[KafkaTopicPartition, Any] = self._coordinator.fetch_committed_offsets(places)
        return offsets

    async def start_at_end(self, places: Collection[KafkaTopicPartition], seconds: float) -> dict[TopicPartition, int]:
        """Let those of the partitions without a committed offset begin at their end; for a rebalance listener.

        Returns:
            Where they begin; nothing if that was not known in so many seconds, and is found out later.
        """
        committed = await self._coordinator.fetch_committed_offsets_async(places)
        new = dict.fromkeys(set(places) - set(committed), OffsetSpec.LATEST)
        try:
            # The public method blocks, which a listener must not.
            ends = await self._fetcher._fetch_offsets_by_times_async(new, milliseconds(seconds))  # noqa: SLF001
        except errors.KafkaError:
            for place in new:
                self._subscription.request_offset_reset(place, OffsetResetStrategy.LATEST)
            return {}
        for place, end in ends.items():
            self._subscription.seek(place, end.offset)
        return {TopicPartition(*place): end.offset for place, end in ends.items()}

    def ends(self) -> Mapping[KafkaTopicPartition, int]:
        """Return the ends that the broker told last, and let it be asked for them again; the public method blocks."""
        if self._asked is None or self._asked.is_done:
            if self._asked is not None and self._asked.succeeded():
                self._ends = {place: end.offset for place, end in self._asked.value.items()}
            places = dict.fromkeys(self._subscription.assigned_partitions(), OffsetSpec.LATEST)
            fetch = self._fetcher._fetch_offsets_by_times_async  # noqa: SLF001
            self._asked = self._manager.call_soon(fetch, places, milliseconds(BROKER_TIMEOUT)) if places else None
        return self._ends

    def trouble(self) -> str | None:
        """Return why the member is not in good standing with its group, or None."""
        if not self._coordinator.stable():
            return "not a member of the group yet"
        if self._coordinator.coordinator_id is None or self._coordinator.heartbeat.session_timeout_expired():
            return "the group's broker does not answer"
        return None

    def _read(self, fetch: Any) -> Any:  # noqa: ANN401 - kafka-python has no types
        """Return what a fetch brought of a partition, or None; for the client.

        A partition ends for it where the first transaction begins that is still open: no more can be fetched, and by
        what lies behind it the partition is not behind, and has no turn (ISO-7, OFF-3).
        """
        if fetch.partition_data.last_stable_offset >= 0:
            fetch.partition_data.high_watermark = fetch.partition_data.last_stable_offset
        try:
            return self._parse(fetch)
        except Exception as error:  # noqa: BLE001  # there is no end to how bytes can be wrong
            self._leave_alone(fetch.topic_partition, error)
            return None

    def _take(self, batches: object, part: Any, *how: object) -> Any:  # noqa: ANN401 - as above
        """Add records of what a fetch brought of a partition, and return how many; for the client."""
        try:
            return self._append(batches, part, *how)
        except Exception as error:  # noqa: BLE001  # likewise
            part.drain()
            self._leave_alone(part.topic_partition, error)
            return 0

    def _leave_alone(self, place: KafkaTopicPartition, error: Exception) -> None:
        """Hold a partition that cannot be read: it alone, with a trace, and until it can be (POI-1).

        The client would raise for all of them; or, if this one was paused meanwhile, forget why, and fetch it no more.
        """
        self._left[place] = Timer(milliseconds(_LEFT_ALONE))
        what = {"topic": place.topic, "partition": place.partition, "error": repr(error)}
        log.warning("a partition cannot be read: it waits", **what)

    def _send_or_keep(self, send: Callable[[], object]) -> None:
        """Send fetches, or keep why that failed for a poll that returns nothing; for the client.

        It has taken records out of its buffers just before, and their positions on: an error here would lose them, and
        whatever is committed later would pass them (DEL-1, OFF-1).
        """
        try:
            send()
        except errors.KafkaError as error:
            self._unsent = error

    def _in_turn(self, places: Collection[KafkaTopicPartition]) -> list[KafkaTopicPartition]:
        """Return which of the partitions that may be fetched are to be; for the client, when it makes its fetches.

        A leader may be named that is not among the brokers yet. The client would fail there in the midst of its
        fetches, take that one for sent, and send none when the broker is known (DEL-1).
        """
        behind: dict[object, list[tuple[KafkaTopicPartition, int]]] = defaultdict(list)
        waiting: set[KafkaTopicPartition] = set()
        for place in places:
            state = self._subscription.assignment[place]
            node = self._fetcher._select_read_replica(place)  # noqa: SLF001
            asked_already = node in self._fetcher._nodes_with_pending_fetch_requests  # noqa: SLF001
            if node not in {None, -1} and self._manager.cluster.broker_metadata(node) is None:
                self._manager.cluster.request_update()
                waiting.add(place)
            elif place in self._left and not self._left[place].expired:
                waiting.add(place)
            elif not asked_already and state.highwater is not None and state.highwater > state.position.offset:
                behind[node].append((place, state.highwater - state.position.offset))
        for own in behind.values():
            turn = self._turns.next(own)
            for place in turn:
                self._subscription.move_partition_to_end(place)
            waiting.update(place for place, _ in own[len(turn) :])
        return [place for place in places if place not in waiting]

    async def _hang_bell(self) -> None:
        """Let the client wait for the bell, too; for the client, when it has sent its fetches."""
        self._ring()  # nobody waits for the former one any more
        await self._ended_fetches()
        self._bell = Future()
        self._fetcher._fetch_futures.append(self._bell)  # noqa: SLF001
        if self._woken:
            self._ring()

    def _ring(self) -> None:
        if not self._bell.is_done:
            self._bell.success(None)

    async def sleep(self, seconds: float) -> None:
        """Wait on the client's own loop, which goes on meanwhile with heartbeats; for a rebalance listener."""
        await self._net.sleep(seconds)

    async def commit_within(self, offsets: Mapping[KafkaTopicPartition, OffsetAndMetadata], seconds: float) -> None:
        """Commit and wait for it; for a rebalance listener, where a blocking commit raises."""
        await self._manager.wait_for(self.commit_async(offsets), seconds * 1000)


def member_of(kafka: Kafka, client: Callable[..., Any]) -> Member:
    """Return a member of the group that the settings name, which has joined nothing yet; blocks until a broker answers.

    Args:
        kafka: The settings.
        client: What makes the client's inner one.

    Raises:
        KafkaError: No broker answers, or one does not let the process in.
    """
    return Member(
        **connection(kafka),
        kafka_client=client,
        client_id=kafka.client_id,
        group_id=kafka.group_id,
        group_instance_id=kafka.group_instance_id,
        enable_auto_commit=False,
        # Whatever is not pinned begins at its first record: it was discovered, or its offset is gone.
        auto_offset_reset="earliest",
        isolation_level="read_committed",
        allow_auto_create_topics=False,
        session_timeout_ms=milliseconds(kafka.session_timeout),
        heartbeat_interval_ms=milliseconds(kafka.heartbeat_interval),
        max_poll_interval_ms=milliseconds(kafka.max_poll_interval),
        metadata_max_age_ms=milliseconds(kafka.metadata_max_age),
        request_timeout_ms=milliseconds(BROKER_TIMEOUT),
        bootstrap_timeout_ms=milliseconds(BROKER_TIMEOUT),
        fetch_max_wait_ms=milliseconds(_FETCH_WAIT),
        fetch_max_bytes=_FETCH_BYTES,
        max_partition_fetch_bytes=_FETCH_BYTES,
        # A fetch that is returned in parts is parked when its partition is paused in between, and may stay
        # parked after the resume for as long as another partition drains (REB-2). Returned whole, it never is.
        max_poll_records=sys.maxsize,
        metrics_enabled=False,
    )


def milliseconds(seconds: float) -> int:
    """Return them as the client takes them."""
    return round(seconds * 1000)
