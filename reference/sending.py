"""The sending workers, and the line of work before them."""

from __future__ import annotations

from collections import Counter, deque
from functools import partial
from typing import TYPE_CHECKING, NamedTuple, Protocol

from isolane.reference import log
from isolane.reference.allowance import Budget
from isolane.reference.backoff import Backoff
from isolane.reference.limiter import Dispatcher

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence

    from isolane.reference.config import Config
    from isolane.reference.flush import Division, Lane, Piece
    from isolane.reference.limiter import Grant, TenantState
    from isolane.reference.otlp import Document
    from isolane.reference.outcome import Reply
    from isolane.reference.runtime import Runtime


class Cluster(Protocol):
    """A tenant's cluster."""

    def attempt(self, documents: Sequence[Document], *, timeout: float, key: Hashable) -> Reply:
        """Send documents; block at most `timeout` seconds, and never raise for what a cluster or network does."""

    def cut(self, key: Hashable) -> None:
        """End the attempts with this key that are under way; does not block."""


class LineState(NamedTuple):
    """What is to be seen of a line, for telemetry.

    Attributes:
        tenants: Of each tenant that was asked for.
        held: The bytes that the process holds of all partitions, fetched and in flight.
        overrun: By how many seconds the attempts under way have outlasted their deadlines, at most.
    """

    tenants: Mapping[str, TenantState]
    held: int
    overrun: float


class Line(Protocol):
    """The way from the partitions to the sending workers.

    `submit` may block whoever calls it; `drop` unblocks it for a lane that was closed.
    """

    def hold(self, tenant: str, change: int) -> None:
        """Count so many bytes of `tenant` more as held by the process, or fewer; never blocks."""

    def rooms(self) -> Mapping[str, int]:
        """Return for how many bytes more there is room, by tenant; a tenant that is not named always has room."""

    def submit(self, lane: Lane, pieces: Sequence[Piece]) -> None:
        """Take pieces of whole records, in order, to be sent."""

    def drop(self, lane: Lane) -> None:
        """Abandon what waits of a lane that was closed; its attempts under way go on."""

    def under_way(self, lane: Lane) -> bool:
        """Whether an attempt for `lane` is open that is worth waiting for."""

    def cut(self, lane: Lane) -> None:
        """End the attempts for `lane` that are under way."""

    @property
    def threads(self) -> int:
        """How many threads are to `work`."""

    def work(self) -> None:
        """Be a sending worker, until `close`."""

    def connect(self, tenant: str, cluster: Cluster) -> None:
        """Send what is `tenant`'s to this cluster from now on; what goes to its former one is the caller's to cut."""

    def close(self) -> None:
        """Let the workers end, each when its attempt has ended."""

    def state(self, tenants: Iterable[str]) -> LineState:
        """Return what is to be seen of it, and of these tenants."""


_QUIET = 5.0


class Afterwards:
    """What follows a reply, outside every lock: the lane learns of it, and so do the dead letters and the log.

    The lock guards what is counted for telemetry, and when each tenant's refusals were last told: once in a while is
    enough for people.
    """

    def __init__(self, runtime: Runtime, condemn: Callable[[Lane, Piece, str], None]) -> None:
        """Take who looks after a piece that can never succeed, given with the cluster's reason."""
        self._runtime = runtime
        self._condemn = condemn
        self._told: dict[str, float] = {}
        self._attempts: Counter[tuple[str, str]] = Counter()
        self._documents: Counter[tuple[str, str]] = Counter()
        self._lock = runtime.lock()

    def __call__(self, lane: Lane, reply: Reply, division: Division, abandoned: Sequence[Piece] = ()) -> None:
        """Hand back what is done, count it, and tell of what was refused."""
        self._count(lane.tenant, division)
        lane.resolve(division.accepted)
        for piece, reason in division.condemned:
            self._condemn(lane, piece, reason)
        lane.abandon(abandoned)
        if division.left and self._is_news(lane.tenant):
            outcomes = {outcome.name.lower(): number for outcome, number in division.counts.items()}
            log.info("refused", tenant=lane.tenant, reason=reply.reason, **outcomes)

    def counts(self) -> tuple[Mapping[tuple[str, str], int], Mapping[tuple[str, str], int]]:
        """Return how many attempts and how many documents, each time they were sent, came to what.

        Both by tenant and outcome: of an attempt `Division.outcome`, of a document the name of its `Outcome`.
        """
        with self._lock:
            return dict(self._attempts), dict(self._documents)

    def _count(self, tenant: str, division: Division) -> None:
        with self._lock:
            self._attempts[tenant, division.outcome] += 1
            for outcome, number in division.counts.items():
                self._documents[tenant, outcome.name.lower()] += number

    def _is_news(self, tenant: str) -> bool:
        now = self._runtime.now()
        with self._lock:
            news = now - self._told.get(tenant, float("-inf")) >= _QUIET
            if news:
                self._told[tenant] = now
        return news


class IsolatedLine:
    """A tenant's work waits for its own slots only: grants decide who is sent for (design decisions 2 to 7).

    The lock guards the dispatcher, and the tasks that no worker has taken yet. The budget has one of its own: whoever
    fetched for many partitions would wait for a decision at each of them, and the records of all others with it.
    Who needs both takes that one last, so that it is held for a moment only.
    """

    def __init__(
        self, config: Config, runtime: Runtime, clusters: Mapping[str, Cluster], afterwards: Afterwards
    ) -> None:
        """Take the clusters by tenant, and what follows a reply."""
        self._runtime = runtime
        self._clusters = dict(clusters)
        self._afterwards = afterwards
        self._dispatcher = Dispatcher(
            config.limiter,
            Backoff(config.retry, runtime.random),
            workers=config.sending_queue.num_consumers,
            flush_bytes=config.flush.max_bytes,
            timeout=config.request.timeout,
        )
        self._budget = Budget(config.memory.budget, self._dispatcher.fruitless)
        self._budget_lock = runtime.lock()
        self._workers = config.sending_queue.num_consumers
        self._tasks: deque[Callable[[], None]] = deque()  # attempts to make, and attempts to cut
        self._again: float | None = None  # when to decide even if nothing happens
        self._closed = False
        self._work_came = runtime.condition()

    def hold(self, tenant: str, change: int) -> None:
        """See `Line`."""
        with self._budget_lock:
            self._budget.hold(tenant, change)

    def rooms(self) -> Mapping[str, int]:
        """See `Line`: what the process's budget leaves (MEM-6)."""
        with self._work_came, self._budget_lock:
            return self._budget.rooms()

    def submit(self, lane: Lane, pieces: Sequence[Piece]) -> None:
        """See `Line`; never blocks."""
        with self._work_came:
            if kept := not lane.closed:
                self._dispatcher.submit(lane, pieces, self._runtime.now())
                self._decide()
        if not kept:
            lane.abandon(pieces)

    def drop(self, lane: Lane) -> None:
        """See `Line`."""
        with self._work_came:
            pieces = self._dispatcher.drop(lane)
        lane.abandon(pieces)

    def under_way(self, lane: Lane) -> bool:
        """See `Line`: a cluster that does badly is not worth waiting for, one that is new is (REB-5, REB-7)."""
        with self._work_came:
            return self._dispatcher.hopeful(lane, self._runtime.now())

    def cut(self, lane: Lane) -> None:
        """See `Line`."""
        with self._work_came:
            grants = self._dispatcher.under_way(lane)
        for grant in grants:
            self._clusters[lane.tenant].cut(grant)

    @property
    def threads(self) -> int:
        """See `Line`: one more than there are workers, so that one always watches the time."""
        return self._workers + 1

    def work(self) -> None:
        """See `Line`."""
        while task := self._next():
            task()

    def connect(self, tenant: str, cluster: Cluster) -> None:
        """See `Line`."""
        with self._work_came:
            self._clusters[tenant] = cluster
            self._dispatcher.renew(tenant, self._runtime.now())
            self._decide()

    def close(self) -> None:
        """See `Line`."""
        with self._work_came:
            self._closed = True
            self._work_came.notify_all()

    def state(self, tenants: Iterable[str]) -> LineState:
        """See `Line`."""
        with self._work_came, self._budget_lock:
            states = {tenant: self._dispatcher.state(tenant) for tenant in tenants}
            return LineState(states, self._budget.bytes, self._dispatcher.overrun(self._runtime.now()))

    def _attempt(self, grant: Grant) -> None:
        lane = grant.flush.lane
        cluster = self._clusters[lane.tenant]  # before the look: who is closed is not sent to a cluster that came later
        if lane.closed:
            with self._work_came:
                self._dispatcher.cancel(grant)
                self._decide()
            lane.abandon(grant.flush.pieces)
            return
        reply = cluster.attempt(grant.flush.documents, timeout=grant.timeout, key=grant)
        with self._work_came:
            division, abandoned = self._dispatcher.settle(grant, reply, self._runtime.now())
            self._decide()
        self._afterwards(lane, reply, division, abandoned)

    def _next(self) -> Callable[[], None] | None:
        with self._work_came:
            while not self._tasks and not self._closed:
                left = None if self._again is None else self._again - self._runtime.now()
                if left is not None and left <= 0:
                    self._decide()
                else:
                    self._work_came.wait(left)
            return self._tasks.popleft() if self._tasks else None

    def _decide(self) -> None:
        before, now = self._again, self._runtime.now()
        grants, self._again = self._dispatcher.decide(now)
        self._tasks.extend(partial(self._attempt, grant) for grant in grants)
        overstayed = self._dispatcher.overstayed(now)
        self._tasks.extend(partial(self._clusters[grant.flush.lane.tenant].cut, grant) for grant in overstayed)
        # When an earlier time was named than before, somebody must begin to wait for that.
        earlier = self._again is not None and (before is None or self._again < before)
        self._work_came.notify(len(grants) + len(overstayed) + earlier)
