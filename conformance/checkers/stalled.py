"""REB-5, REB-6 and LIF-1: the group while every cluster is stalled, and a saturated member that is given more."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import pairwise
from statistics import median

from isolane.conformance.checkers import cases, membership, sight, slots
from isolane.conformance.checkers.cases import Judge, Late
from isolane.conformance.checkers.membership import JOINED, KILLED, LEFT, THAWED, Change, Place
from isolane.conformance.checkers.partitions import REBALANCE
from isolane.conformance.history import GROUP_SEEN, History
from isolane.conformance.history_values import GROUP_OBSERVER, Produced
from isolane.conformance.verdict import Figure, Finding

ENDS = 8.0
"""Seconds in which a rebalance must end: less than the shortest poll interval, after which Kafka itself ends it."""

START = 10.0
"""Seconds that a process may take before it asks to join."""

NOISE = 8 * 1024**2
"""Bytes that memory may vary by, whatever a member was given."""

HELD_TWICE = 2.0
"""What a member may hold of a partition's allowance: as much that was read as is in flight."""

WORTH = 2.0
"""How many times what a member may hold its new backlog must be, to be told from it."""

LONGER = 1.2
"""How many poll intervals an outage must last without a change of members."""


@dataclass(frozen=True, slots=True)
class Stall:
    """A stretch during which every tenant's cluster had a fault."""

    began: float
    ended: float


def check(history: History) -> list[Finding]:
    """Return the findings on REB-5, REB-6 and LIF-1, each where the scenario declares it."""
    judges = history.meta.judges
    if not {"REB-5", "REB-6", "LIF-1"} & set(judges):
        return []
    stalls = list(stalls_of(history))
    stalled = [
        replace(change, until=min(change.until, stall.ended))
        for change in membership.changes(history)
        for stall in stalls
        if stall.began <= change.event.at < stall.ended
    ]
    found = []
    if "REB-5" in judges:
        found.append(_ends(history, stalls, stalled))
    if "REB-6" in judges:
        found.append(_given_more(history, stalled))
    if "LIF-1" in judges:
        found.append(_stays(history, stalls))
    return found


def stalls_of(history: History) -> Iterator[Stall]:
    """Yield the stretches during which every tenant's cluster had a fault."""
    tenants = {tenant.name for tenant in history.meta.tenants}
    marks = sorted(
        mark for fault in history.faults for mark in ((fault.began, 1, fault.tenant), (fault.ended, -1, fault.tenant))
    )
    sick: dict[str, int] = {}
    began: float | None = None
    for at, change, tenant in marks:
        sick[tenant] = sick.get(tenant, 0) + change
        everybody = {name for name, count in sick.items() if count} == tenants
        if everybody and began is None:
            began = at
        elif not everybody and began is not None:
            yield Stall(began, at)
            began = None


def _ends(history: History, stalls: list[Stall], stalled: list[Change]) -> Finding:
    """REB-5: from the moment when the group begins to change until it is at rest."""
    judge = Judge(history, "REB-5")
    joined = [change for change in stalled if change.event.name == JOINED]
    stretches = [
        (began, min(ended, history.last))
        for began, ended in membership.unrest(history)
        if any(stall.began <= began < stall.ended for stall in stalls)
    ]
    lasted = [Late(began, max(0.0, _last_look(history, ended) - began), ENDS) for began, ended in stretches]
    longest = max((ended - began for began, ended in stretches), default=0.0)
    late = [change for change in joined if change.until - change.event.at > START + REBALANCE and not _is_in(change)]
    worst = max((each.seconds for each in lasted), default=0.0)
    unseen = sight.of_group(history, ((stall.began, stall.ended) for stall in stalls))
    figures = {
        "members that joined while every cluster was stalled": Figure(len(joined), "", "≥ 1"),
        "rebalances seen then": Figure(len(stretches)),
        "the longest of them": Figure(worst, "s", f"≤ {ENDS:g}"),
        "members that did not get in": Figure(len(late), "", "= 0"),
        "longest that the group was not seen for then": sight.figure(unseen),
    }
    waiting = [record for stall in stalls if (record := _waiting(history, stall)) is not None]
    if (worst > ENDS or late) and waiting:
        what = f"the group was not at rest for {worst:.1f} s while every cluster was stalled; records that waited"
        slow = [each for each in lasted if each.seconds > ENDS]
        slow += [Late(each.event.at, each.until - each.event.at, START + REBALANCE) for each in late]
        return judge.fails(what, waiting, figures, slow)
    if not history.groups:
        return judge.doubts("nobody may see the group", figures)
    if longest > ENDS >= worst:
        what = f"the longest rebalance took from {worst:.1f} s to {longest:.1f} s"
        return judge.doubts(f"{what}: nobody saw the group before that, and {ENDS:g} s are allowed", figures)
    if not waiting or not any(map(_is_in, joined)):
        return judge.doubts("no member came while every cluster was stalled and records waited", figures)
    if unseen > sight.BLIND:
        return judge.doubts(f"nobody saw the group for {unseen:.1f} s while every cluster was stalled", figures)
    return judge.passes(f"with every cluster stalled the longest rebalance took {worst:.1f} s", figures)


def _last_look(history: History, at: float) -> float:
    """Return the last moment before this one at which the group was seen, as far as it is told that it was not."""
    blind = [
        (event.at - float(event.detail["seconds"]), event.at)
        for event in history.events
        if event.kind == "harness" and event.detail.get("of") == GROUP_OBSERVER and "seconds" in event.detail
    ]
    return min((since for since, until in blind if since <= at <= until), default=at)


def _is_in(change: Change) -> bool:
    """Return whether somebody was in the group after a change who had not been before."""
    return change.after is not None and bool(change.after.members.keys() - change.before.members.keys())


def _waiting(history: History, stall: Stall) -> Produced | None:
    """Return a record that was tried in a stall and had to wait for its end."""
    return next(
        (
            record
            for attempt in history.attempts
            if stall.began <= attempt.arrived < stall.ended
            for record in cases.records(history, attempt.tokens())
            if history.finished_at(record) >= stall.ended
        ),
        None,
    )


def _given_more(history: History, stalled: list[Change]) -> Finding:
    """REB-6: memory of the one who inherits, before and after, and whether everything drains."""
    judge = Judge(history, "REB-6")
    gone = [change for change in stalled if change.event.name in {KILLED, LEFT} and change.after is not None]
    inherited = [(change, gained) for change in gone if (gained := _gained(change))]
    if not inherited:
        return judge.doubts("nobody was given more while every cluster was stalled", {})
    change, gained = max(inherited, key=lambda each: len(each[1]))
    backlog = list(_backlog(history, gained, change))
    size = sum(record.size for record in backlog)
    levels = _levels(history, change)
    figures = {
        "partitions inherited": Figure(len(gained), "", "≥ 1"),
        "their backlog": _mebibytes(size),
    }
    left = [record for record in backlog if history.finished_at(record) == math.inf]
    if left:
        what, why = "records of inherited partitions that never were delivered", cases.pending(history, left)
        return judge.doubts(f"{what} ({len(left)}), but {why}", figures) if why else judge.fails(what, left, figures)
    if levels is None or not backlog:
        return judge.doubts("the member that inherited was not sampled before and after, or inherited nothing", figures)
    before, after = levels
    allowed = _allowed(history, len(gained), size)
    figures |= {
        "memory before": _mebibytes(before),
        "memory after": _mebibytes(after, f"≤ {(before + allowed) / 1024**2:.0f}"),
    }
    if after > before + allowed:
        what = (
            f"memory grew by {(after - before) / 1024**2:.0f} MiB when partitions were inherited; records that waited"
        )
        return judge.fails(what, backlog, figures)
    if size < WORTH * allowed:
        return judge.doubts(f"a backlog of {size / 1024**2:.0f} MiB is too small to tell", figures)
    return judge.passes(
        f"memory grew by {(after - before) / 1024**2:.0f} MiB with {len(gained)} partitions more", figures
    )


def _gained(change: Change) -> set[Place]:
    """Return the partitions that members have after a change, and others had before."""
    assert change.after is not None
    had = membership.owners(change.before)
    return {
        place
        for place, member in membership.owners(change.after).items()
        if member in change.before.members and had.get(place) != member
    }


def _backlog(history: History, places: set[Place], change: Change) -> Iterator[Produced]:
    for place in sorted(places):
        yield from (
            record
            for record in history.by_partition.get(place, ())
            if record.acked < change.settled and history.finished_at(record) > change.until
        )


def _levels(history: History, change: Change) -> tuple[float, float] | None:
    """Return the resident bytes of the member that inherited: in the seconds before, and late in the calm after."""
    gone = change.event.detail["member"]
    samples = [sample for sample in history.samples if sample.member != str(gone)]
    before = [sample.rss for sample in samples if change.event.at - 3.0 <= sample.at < change.event.at]
    since = change.until - change.calm / 3
    after = [sample.rss for sample in samples if since <= sample.at < change.until]
    return (median(before), median(after)) if before and after else None


def _allowed(history: History, partitions: int, backlog: int) -> float:
    """Return the bytes by which memory may grow with so many partitions more: what was promised, or half of it all."""
    each, budget = slots.limit(history, "in_flight_bytes"), slots.limit(history, "process_bytes")
    if each is None and budget is None:
        return backlog / 2
    promised = min(each * partitions if each is not None else math.inf, budget if budget is not None else math.inf)
    return NOISE + HELD_TWICE * promised


def _stays(history: History, stalls: list[Stall]) -> Finding:
    """LIF-1: in each calm of a stall that is longer than the poll interval the group stays as it is."""
    judge = Judge(history, "LIF-1")
    interval = slots.seconds(history, "max_poll_interval", math.inf)
    calms = [
        (began, ended)
        for stall in stalls
        for began, ended in _undisturbed(history, stall)
        if ended - began > LONGER * interval
    ]
    moved = [state for began, ended in calms for state in history.groups if began < state.at <= ended]
    longest = max((ended - began for began, ended in calms), default=0.0)
    unseen = sight.of_group(history, calms)
    figures = {
        "longest outage without a change of members": Figure(longest, "s", f"> {LONGER * interval:g}"),
        "changes of the group meanwhile": Figure(len(moved), "", "= 0"),
        "longest that the group was not seen for then": sight.figure(unseen),
    }
    waiting = [record for stall in stalls if (record := _waiting(history, stall)) is not None]
    if moved and waiting:
        what = f"the group became {moved[0].state} in an outage, and nobody had come or gone; records that waited"
        session = slots.seconds(history, "session_timeout", 0.0) + GROUP_SEEN
        return judge.fails(what, waiting, figures, [Late(each.at - session, session, session) for each in moved])
    if not history.groups:
        return judge.doubts("nobody may see the group", figures)
    if not calms or not waiting:
        return judge.doubts(f"no outage was longer than the poll interval of {interval:g} s", figures)
    if unseen > sight.BLIND:
        return judge.doubts(f"nobody saw the group for {unseen:.1f} s of an outage", figures)
    return judge.passes(f"the group stayed as it was through an outage of {longest:.0f} s", figures)


def _undisturbed(history: History, stall: Stall) -> Iterator[tuple[float, float]]:
    """Yield the stretches of a stall in which no rebalance had a cause."""
    within = [at for at in membership.interferences(history) if stall.began <= at < stall.ended]
    first = membership.state_at(history, stall.began)
    if first is not None and first.at_rest and first.members:
        yield stall.began, min([*within, stall.ended])
    for at, following in pairwise([*within, stall.ended]):
        yield _complete(history, at) + REBALANCE, following


def _complete(history: History, at: float) -> float:
    """Return when, from a moment on, as many were in the group as processes ran: who starts slowly joins late."""
    running = set[int]()
    for event in membership.processes(history):
        if event.at <= at:
            (running.add if event.name in {JOINED, THAWED} else running.discard)(event.detail["member"])
    now = membership.state_at(history, at)
    states = [*([now] if now else []), *(state for state in history.groups if state.at > at)]
    return next((max(at, each.at) for each in states if each.at_rest and len(each.members) >= len(running)), math.inf)


def _mebibytes(size: float, bound: str = "") -> Figure:
    return Figure(size / 1024**2, "MiB", bound)
