"""The baseline: one bounded queue for all tenants, and retries inside the sending worker.

Nothing is lost in it, and nobody is isolated: it shows what the grants of `sending` bring (design decision 12).
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING

from isolane.reference.backoff import Backoff
from isolane.reference.flush import Flush, divide
from isolane.reference.limiter import TenantState
from isolane.reference.sending import LineState

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from isolane.reference.config import Config
    from isolane.reference.flush import Lane, Piece
    from isolane.reference.runtime import Runtime
    from isolane.reference.sending import Afterwards, Cluster


class SharedLine:
    """A queue of flushes that blocks whoever fills it, whichever tenant is the cause. See `sending.Line`.

    In the mode `partition_workers` a partition's worker waits for the outcome of what it handed over: its partition
    has no more than that under way, and stalls nobody until such partitions take all sending workers together.

    The lock guards the queue, the flushes that workers are busy with, and what the tenants' clusters accepted last.
    """

    def __init__(
        self, config: Config, runtime: Runtime, clusters: Mapping[str, Cluster], afterwards: Afterwards
    ) -> None:
        """Take the clusters by tenant, and what follows a reply."""
        self._config = config
        self._waits = config.kafka.partition_processing.mode == "partition_workers"
        self._runtime = runtime
        self._clusters = dict(clusters)
        self._afterwards = afterwards
        self._backoff = Backoff(config.retry, runtime.random)
        self._queue: deque[Flush] = deque()
        self._busy: list[Lane] = []
        self._accepted_at: dict[str, float] = {}
        self._closed = False
        self._changed = runtime.condition()

    def hold(self, tenant: str, change: int) -> None:
        """See `Line`: nothing is counted, the queue alone is the bound."""

    def rooms(self) -> Mapping[str, int]:
        """See `Line`: there is always room."""
        return {}

    def submit(self, lane: Lane, pieces: Sequence[Piece]) -> None:
        """See `Line`: blocks while the queue is full; for a worker that waits, until the outcome is known."""
        for flush in self._flushes(lane, pieces):
            with self._changed:
                while len(self._queue) >= self._config.sending_queue.queue_size and not lane.closed:
                    self._changed.wait()
                if kept := not lane.closed:
                    self._queue.append(flush)
                    self._changed.notify_all()
                while self._waits and self._pending(lane) and not lane.closed:
                    self._changed.wait()
            if not kept:
                lane.abandon(flush.pieces)

    def drop(self, lane: Lane) -> None:
        """See `Line`."""
        with self._changed:
            dropped = [flush for flush in self._queue if flush.lane is lane]
            self._queue = deque(flush for flush in self._queue if flush.lane is not lane)
            self._changed.notify_all()
        for flush in dropped:
            lane.abandon(flush.pieces)

    def under_way(self, lane: Lane) -> bool:
        """See `Line`: every attempt is worth waiting for."""
        with self._changed:
            return lane in self._busy

    def cut(self, lane: Lane) -> None:
        """See `Line`."""
        self._clusters[lane.tenant].cut(lane)

    @property
    def threads(self) -> int:
        """See `Line`."""
        return self._config.sending_queue.num_consumers

    def state(self, tenants: Iterable[str]) -> LineState:
        """See `Line`: a tenant may take all workers."""
        with self._changed:
            return LineState({tenant: self._tenant_state(tenant) for tenant in tenants}, held=0, overrun=0.0)

    def _tenant_state(self, tenant: str) -> TenantState:
        slots = sum(lane.tenant == tenant for lane in self._busy)
        waiting = sum(len(flush.pieces) for flush in self._queue if flush.lane.tenant == tenant)
        return TenantState(self.threads, slots, waiting, at_risk=False)

    def work(self) -> None:
        """See `Line`."""
        while flush := self._next():
            self._deliver(flush)
            with self._changed:
                self._busy.remove(flush.lane)
                self._changed.notify_all()

    def connect(self, tenant: str, cluster: Cluster) -> None:
        """See `Line`."""
        with self._changed:
            self._clusters[tenant] = cluster

    def close(self) -> None:
        """See `Line`."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()

    def _flushes(self, lane: Lane, pieces: Sequence[Piece]) -> list[Flush]:
        flushes: list[list[Piece]] = []
        size = 0
        for piece in pieces:
            if not flushes or size + piece.size > self._config.flush.max_bytes:
                flushes.append([])
                size = 0
            flushes[-1].append(piece)
            size += piece.size
        return [Flush(lane, part, ticket=0) for part in flushes]

    def _pending(self, lane: Lane) -> bool:
        return lane in self._busy or any(flush.lane is lane for flush in self._queue)

    def _next(self) -> Flush | None:
        with self._changed:
            while not self._queue and not self._closed:
                self._changed.wait()
            if not self._queue:
                return None
            flush = self._queue.popleft()
            self._busy.append(flush.lane)
            self._changed.notify_all()
            return flush

    def _deliver(self, flush: Flush) -> None:
        """Attempt until nothing is left to send, however long the cluster takes: the worker is held meanwhile."""
        lane, left = flush.lane, [flush]
        while left:
            cluster = self._clusters[lane.tenant]  # before the look: see `IsolatedLine`
            if lane.closed:
                break
            flush = left.pop()
            if flush.first_attempt is None:
                flush.first_attempt = self._runtime.now()
            timeout = self._config.request.timeout
            reply = cluster.attempt(flush.documents, timeout=timeout, key=lane)
            with self._changed:
                now, accepted_at = self._runtime.now(), self._accepted_at.get(lane.tenant, float("-inf"))
                division = divide(flush, reply, accepted_at=accepted_at, now=now)
                self._accepted_at[lane.tenant] = now if division.accepts else accepted_at
            self._afterwards(lane, reply, division)
            left.extend(reversed(division.halves))
            if division.rest:
                left.append(flush.with_pieces(division.rest))
                self._pause(lane, self._backoff.delay(flush.attempts, reply.retry_after))
        for flush in left:
            lane.abandon(flush.pieces)

    def _pause(self, lane: Lane, seconds: float) -> None:
        end = self._runtime.now() + seconds
        with self._changed:
            while not lane.closed and (left := end - self._runtime.now()) > 0:
                self._changed.wait(left)
