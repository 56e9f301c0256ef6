"""Who may send now: each tenant's cap, and the one function that decides all grants. Pure: time is passed in."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import count
from typing import TYPE_CHECKING, NamedTuple

from isolane.reference.flush import divide
from isolane.reference.outcome import Outcome
from isolane.reference.waiting import WaitingWork

if TYPE_CHECKING:
    from collections.abc import Sequence

    from isolane.reference.backoff import Backoff
    from isolane.reference.config import Limiter
    from isolane.reference.flush import Division, Flush, Lane, Piece
    from isolane.reference.outcome import Reply

_NEVER = float("-inf")

_FOREVER = float("inf")

# From when on an attempt is suspect: after so many seconds, and so many times what attempts take on average.
_SUSPECT_AFTER = 0.25
_SUSPECT_TIMES = 8
_WEIGHT = 0.1  # of the latest attempt in the average
# One of so many workers is kept for who is well while it is found out who is.
_KEPT = 8


class AdaptiveCap:
    """How many slots a tenant may be granted now: raised step by step, halved at once (LIM-1 to LIM-4).

    Samples of attempts that began before the last halving are ignored: they are news of the same event.
    """

    def __init__(self, floor: int, ceiling: int) -> None:
        """Begin at the floor."""
        self._floor = floor
        self._ceiling = ceiling
        self._halved_at = _NEVER
        self._refusals = 0.0
        self.value = floor

    def good(self, began: float, *, saturated: bool) -> None:
        """Take a success of an attempt that `began` then; it raises the cap of a tenant that held all of it."""
        if saturated and began >= self._halved_at:
            self.value = min(self._ceiling, self.value + 1)

    def bad(self, began: float, now: float, share: float = 1.0) -> None:
        """Take a slow or failed attempt, or one of which a `share` was refused.

        Shares add up, and halve the cap when they come to a whole.
        """
        if began < self._halved_at:
            return
        self._refusals += share
        if self._refusals >= 1.0:
            self._refusals = 0.0
            self._halved_at = now
            self.value = max(self._floor, self.value // 2)


@dataclass(slots=True, eq=False)
class Grant:
    """A slot, reserved for one attempt.

    Attributes:
        flush: What to send.
        began: When the slot was granted.
        timeout: The deadline of the attempt in seconds.
        probe: Whether its tenant was at risk when it was granted.
        overdue: Whether it was found open after `slow_after`, and counted as slow then: one sample an attempt (LIM-7).
        cut: Whether it was to be cut, for others to have its worker.
    """

    flush: Flush
    began: float
    timeout: float
    probe: bool
    overdue: bool = False
    cut: bool = False


class TenantState(NamedTuple):
    """What is to be seen of a tenant, for telemetry.

    Attributes:
        cap: How many slots it may be granted now.
        slots: How many it holds.
        waiting: How many records, or parts of records, wait for one.
        at_risk: Whether it has had no success yet, did badly last, or has an attempt open that is slow.
    """

    cap: int
    slots: int
    waiting: int
    at_risk: bool


class _Tenant:
    """What the dispatcher knows of a tenant, and of no other (LIM-6)."""

    def __init__(self, limiter: Limiter) -> None:
        self.cap = AdaptiveCap(limiter.floor, limiter.ceiling)
        self.waiting = WaitingWork()
        self.slots = 0
        self.overdue = 0  # attempts that are open and older than slow_after
        self.turn = (_NEVER, 0)  # when it began, and how many began before: see `Dispatcher._begin_turn`
        self.tried = False  # has an attempt ended?
        self.last_was_bad = False
        self.accepted_at = _NEVER
        self.refused_at = _NEVER  # when an attempt ended last that left something, and of which nothing was accepted
        self.pace = 0.0  # what its good attempts took lately, on average
        self.deadline = limiter.slow_after  # of the next probe
        self.failures = 0  # in a row, with nothing accepted; those of one moment count once
        self.failed_at = _NEVER
        self.resume_at = _NEVER
        self.renewed_at = _NEVER

    @property
    def ailing(self) -> bool:
        return self.last_was_bad or self.overdue > 0

    @property
    def at_risk(self) -> bool:
        return self.accepted_at == _NEVER or self.ailing


class Dispatcher:
    """All work that waits, all attempts under way, and the decision what is sent next.

    Grants are decided by `decide` alone, which the caller asks after every change: work came (`submit`), an attempt
    ended (`settle`), or the time has come that the last decision named.
    """

    def __init__(self, limiter: Limiter, backoff: Backoff, *, workers: int, flush_bytes: int, timeout: float) -> None:
        """Take the bounds.

        Args:
            limiter: Of the caps and of tenants at risk.
            backoff: Between attempts.
            workers: How many attempts may be under way together.
            flush_bytes: How large a flush may become.
            timeout: The longest deadline of an attempt in seconds.
        """
        self._limiter = limiter
        self._backoff = backoff
        self._workers = self._free = workers
        self._flush_bytes = flush_bytes
        self._timeout = timeout
        self._tenants: dict[str, _Tenant] = {}
        self._waiting: dict[str, _Tenant] = {}  # those with work, ready or not; `_ripen` forgets the others
        self._open: list[Grant] = []  # in the order in which they began
        self._pace = 0.0  # as a tenant's, of all tenants together
        self._silent_at = _FOREVER  # from when on all workers that are shared are held by attempts that are suspect
        self._silent_since = _NEVER  # when the last of those attempts began that were cut last
        self._doubted_until = _NEVER  # for a while after it nobody knows who is well
        self._grants = 0  # how many there were
        self._turns = count()

    def submit(self, lane: Lane, pieces: Sequence[Piece], now: float) -> None:
        """Take pieces of whole records, in order."""
        tenant = self._tenant(lane.tenant)
        if not tenant.waiting.ready:
            self._begin_turn(tenant, now)
        tenant.waiting.add(lane, pieces)
        self._waiting[lane.tenant] = tenant

    def drop(self, lane: Lane) -> list[Piece]:
        """Forget the waiting work of a closed lane and return it; attempts under way go on."""
        return self._tenant(lane.tenant).waiting.drop(lane)

    def decide(self, now: float) -> tuple[list[Grant], float | None]:
        """Return the attempts to begin now, and when to ask again if nothing happens before (None: no need).

        Max-min fair (ISO-1 to ISO-4): a free worker goes to the tenant that holds the fewest slots, among equals to
        the one whose turn is longest ago. No tenant holds more than its cap (LIM-3), and those at risk share a
        bounded part of the workers, so that they cannot take them all between them (ISO-5): a probe goes to the least
        recently probed.
        """
        self._find_overdue(now)
        self._ripen(now)
        grants = []
        while self._free and (name := self._next(now)) is not None:
            grants.append(self._grant(name, now))
        times = [time for tenant in self._waiting.values() for time in _events(tenant)]
        self._silent_at = _FOREVER
        if self._waiting and len(self._open) >= self._shared(now):
            self._silent_at = sorted(map(self._suspect_at, self._open))[self._shared(now) - 1]
            times += [self._doubted_until, self._silent_at]
        return grants, min((time for time in times if now < time < _FOREVER), default=None)

    def overstayed(self, now: float) -> list[Grant]:
        """Return the attempts to cut now, each once, because others wait for their workers.

        When more tenants fall sick at once than there are workers, all are held before anybody can know (ISO-5). So
        when a tenant not at risk waits, and every worker but those kept is held by an attempt that is suspect, only as
        many of those may go on as those at risk may have: the oldest.
        """
        if now < self._silent_at or all(self._waiting[name].at_risk for name in self._candidates(now)):
            return []
        suspects = [grant for grant in self._open if self._suspect_at(grant) <= now]
        found = [grant for grant in suspects[self._limiter.probation_slots :] if not grant.cut]
        for grant in found:
            grant.cut = True
            self._silent_since, self._doubted_until = grant.began, now + self._limiter.slow_after
        return found

    def settle(self, grant: Grant, reply: Reply, now: float) -> tuple[Division, Sequence[Piece]]:
        """Release the slot of an attempt that has ended, learn from it, and keep what must be sent again.

        Returns:
            What became of the flush; and the pieces that were to be sent again but are not kept, because their lane
            was closed meanwhile.
        """
        flush, tenant = grant.flush, self._tenant(grant.flush.lane.tenant)
        saturated = tenant.slots >= tenant.cap.value
        self._release(grant, tenant)
        division = divide(flush, reply, accepted_at=tenant.accepted_at, now=now)
        # Items that are refused once more, or for their index, are no news of the cluster: it may accept all others.
        news = flush.attempts == 1 and Outcome.RETRYABLE in division.counts
        flush.hit_an_outage = not division.accepts and (reply.request is not None or news)
        if grant.began >= tenant.renewed_at:
            self._learn(tenant, grant, division, saturated=saturated, now=now)
        if flush.lane.closed:
            return division, division.left
        self._keep(tenant, grant, reply, division, now)
        return division, ()

    def cancel(self, grant: Grant) -> None:
        """Release the slot of a grant whose attempt was not begun."""
        self._release(grant, self._tenant(grant.flush.lane.tenant))

    def renew(self, tenant: str, now: float) -> None:
        """Know nothing of a tenant's cluster: it is another one from now on, or is told another credential (OPS-4)."""
        if former := self._tenants.pop(tenant, None):
            own = self._tenant(tenant)
            own.waiting, own.turn, own.slots, own.overdue = former.waiting, former.turn, former.slots, former.overdue
            own.renewed_at = now
            own.waiting.ripen(_FOREVER)
            self._waiting[tenant] = own

    def at_risk(self, tenant: str) -> bool:
        """Whether `tenant` has had no success yet, did badly last, or has an attempt open that is slow."""
        return self._tenant(tenant).at_risk

    def fruitless(self, tenant: str) -> bool:
        """Whether `tenant` is at risk, or its last attempt accepted nothing for whatever reason: it may hold no more.

        For the budget alone (MEM-6): what is forbidden, or malformed, says nothing of the load.
        """
        own = self._tenant(tenant)
        return own.at_risk or own.refused_at > own.accepted_at

    def under_way(self, lane: Lane) -> list[Grant]:
        """Return the attempts for `lane` that are open."""
        return [grant for grant in self._open if grant.flush.lane is lane]

    def hopeful(self, lane: Lane, now: float) -> bool:
        """Whether an attempt for `lane` is open, and its cluster neither failed last nor has one open that is slow."""
        self._find_overdue(now)
        return bool(self.under_way(lane)) and not self._tenant(lane.tenant).ailing

    def cap(self, tenant: str) -> int:
        """Return how many slots `tenant` may be granted now."""
        return self._tenant(tenant).cap.value

    def slots(self, tenant: str) -> int:
        """Return how many slots `tenant` holds."""
        return self._tenant(tenant).slots

    def state(self, tenant: str) -> TenantState:
        """Return what is to be seen of `tenant`."""
        own = self._tenant(tenant)
        return TenantState(own.cap.value, own.slots, len(own.waiting), own.at_risk)

    def overrun(self, now: float) -> float:
        """Return by how many seconds the attempts under way have outlasted their deadlines, at most."""
        return max((now - grant.began - grant.timeout for grant in self._open), default=0.0)

    def _tenant(self, name: str) -> _Tenant:
        if name not in self._tenants:
            self._tenants[name] = _Tenant(self._limiter)
        return self._tenants[name]

    def _begin_turn(self, tenant: _Tenant, now: float) -> None:
        """Put a tenant behind all others: at its grant, or when work comes while it has none.

        Turns are numbered, as many begin in one instant: whoever has had one then comes after those who have not.
        """
        tenant.turn = (now, next(self._turns))

    def _suspect_at(self, grant: Grant) -> float:
        """Return from when on an attempt may not be answered at all, for all that is known of its cluster."""
        tenant = self._tenant(grant.flush.lane.tenant)
        if tenant.accepted_at > grant.began:
            return _FOREVER
        usual = max(tenant.pace, self._pace)
        return grant.began + min(self._limiter.slow_after, max(_SUSPECT_AFTER, _SUSPECT_TIMES * usual))

    def _shared(self, now: float) -> int:
        """Return how many workers those may hold who are not known to be well.

        After a cut all others may be as silent as those that were cut, and are tried in waves, which are cut, too.
        Whoever has accepted something since need not wait for each of these (ISO-5).
        """
        return self._workers - (self._workers // _KEPT if now < self._doubted_until else 0)

    def _next(self, now: float) -> str | None:
        candidates = self._candidates(now)
        tried = (self._tenants[grant.flush.lane.tenant].accepted_at <= self._silent_since for grant in self._open)
        if now < self._doubted_until and sum(tried) >= self._shared(now):
            candidates = [name for name in candidates if self._waiting[name].accepted_at > self._silent_since]

        def rank(name: str) -> tuple[float, ...]:
            tenant = self._waiting[name]
            # In doubt, who answered last is most likely well. Every third grant goes by turn: nobody is left behind.
            preferred = now < self._doubted_until and self._grants % 3 and not tenant.at_risk
            return (tenant.slots, -tenant.accepted_at if preferred else 0.0, *tenant.turn)

        return min(candidates, key=rank, default=None)

    def _find_overdue(self, now: float) -> None:
        for grant in self._open:
            if not grant.overdue and now - grant.began > self._limiter.slow_after:
                # LIM-3: slowness is known now, not only when the attempt ends.
                tenant = self._tenant(grant.flush.lane.tenant)
                grant.overdue = True
                tenant.overdue += 1
                tenant.cap.bad(grant.began, now)

    def _ripen(self, now: float) -> None:
        for name, tenant in list(self._waiting.items()):
            if (due := tenant.waiting.due) <= now:
                if not tenant.waiting.ready:
                    self._begin_turn(tenant, due)
                tenant.waiting.ripen(now)
            if not tenant.waiting:
                del self._waiting[name]

    def _candidates(self, now: float) -> list[str]:
        # What a tenant was granted before it was at risk is no probe: another one's recovery does not wait for that.
        probing = sum(grant.probe for grant in self._open)
        slots = self._limiter.probation_slots
        return [
            name
            for name, tenant in self._waiting.items()
            if tenant.waiting.ready
            and tenant.slots < tenant.cap.value
            and tenant.resume_at <= now
            # One probe is kept for tenants never tried: the new and healthy do not wait behind black holes.
            and (not tenant.at_risk or probing < (max(1, slots - 1) if tenant.tried else slots))
        ]

    def _grant(self, name: str, now: float) -> Grant:
        tenant = self._waiting[name]
        flush = tenant.waiting.take(self._flush_bytes)
        if flush.first_attempt is None:
            flush.first_attempt = now
        self._free -= 1
        self._grants += 1
        tenant.slots += 1
        self._begin_turn(tenant, now)
        probe = tenant.at_risk
        grant = Grant(flush, now, min(tenant.deadline, self._timeout) if probe else self._timeout, probe)
        self._open.append(grant)
        return grant

    def _release(self, grant: Grant, tenant: _Tenant) -> None:
        """Give back what `_grant` took, once for each grant (LIM-8)."""
        self._open.remove(grant)
        self._free += 1
        tenant.slots -= 1
        tenant.overdue -= grant.overdue

    def _learn(self, tenant: _Tenant, grant: Grant, division: Division, *, saturated: bool, now: float) -> None:
        elapsed, counts = now - grant.began, division.counts
        refused = counts.get(Outcome.RETRYABLE, 0)
        tenant.tried = True
        if division.accepts:
            tenant.accepted_at = now
        elif division.rest:
            tenant.refused_at = now
        # Errors of the environment say nothing of the load, and a flush that is too large is our own doing.
        if elapsed > self._limiter.slow_after or (refused and not division.accepts):
            tenant.last_was_bad = True
            if not grant.overdue:
                tenant.cap.bad(grant.began, now)
        elif refused:
            tenant.last_was_bad = False
            tenant.cap.bad(grant.began, now, share=refused / sum(counts.values()))
        elif division.accepts:
            tenant.last_was_bad = False
            tenant.cap.good(grant.began, saturated=saturated)
            tenant.pace += _WEIGHT * (elapsed - tenant.pace)
            self._pace += _WEIGHT * (elapsed - self._pace)
        self._adapt_deadline(tenant, grant, elapsed, answered=division.accepts)
        self._adapt_pause(tenant, grant, division, now)

    def _adapt_deadline(self, tenant: _Tenant, grant: Grant, elapsed: float, *, answered: bool) -> None:
        if answered and elapsed <= self._limiter.slow_after:
            tenant.deadline = self._limiter.slow_after
        elif answered:
            tenant.deadline = max(tenant.deadline, min(self._timeout, 2 * elapsed))
        elif elapsed >= grant.timeout:
            tenant.deadline = max(tenant.deadline, min(self._timeout, 2 * grant.timeout))

    def _adapt_pause(self, tenant: _Tenant, grant: Grant, division: Division, now: float) -> None:
        if division.accepts:
            if tenant.failures > 1:
                tenant.waiting.hasten()  # ISO-7
            tenant.failures = 0
            tenant.resume_at = _NEVER
        elif grant.flush.hit_an_outage and not division.halves and grant.began >= tenant.failed_at:
            # While a cluster accepts nothing at all, its probes back off too, and not only each flush.
            tenant.failures += 1
            tenant.failed_at = now
            if tenant.failures > 1:
                tenant.resume_at = now + self._backoff.delay(tenant.failures - 1)

    def _keep(self, tenant: _Tenant, grant: Grant, reply: Reply, division: Division, now: float) -> None:
        flush, former = grant.flush, grant.began < tenant.renewed_at  # which asks nobody to wait for the new one
        if not tenant.waiting.ready:
            self._begin_turn(tenant, now)
        for half in division.halves:
            tenant.waiting.return_(half)
        if division.rest:
            rest = flush.with_pieces(division.rest)
            rest.hit_an_outage = flush.hit_an_outage and reply.retry_after is None
            wait = 0.0 if former else self._backoff.delay(flush.attempts, reply.retry_after)
            tenant.waiting.delay(rest, now + wait)
        if reply.retry_after and not division.accepts and not former:
            tenant.resume_at = max(tenant.resume_at, now + reply.retry_after)
        self._waiting[flush.lane.tenant] = tenant


def _events(tenant: _Tenant) -> list[float]:
    """Return the times at which waiting work may become grantable without anything happening."""
    return [tenant.resume_at, tenant.waiting.due] if tenant.waiting.ready else [tenant.waiting.due]
