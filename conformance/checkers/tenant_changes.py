"""OPS-4: tenants come, go and move while the others run, and the others do not notice."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import zip_longest

from isolane.conformance.checkers import membership, rates
from isolane.conformance.checkers.cases import Judge, Late
from isolane.conformance.checkers.comparison import GAP
from isolane.conformance.checkers.partitions import discovery_bound
from isolane.conformance.history import History
from isolane.conformance.history_values import Produced
from isolane.conformance.verdict import Figure, Finding, Verdict

EFFECT = 3.0
"""Seconds within which a tenant that was removed must be heard of no more."""

LEFT, CAME, MOVED = "removed", "added", "moved"


@dataclass(frozen=True, slots=True)
class Change:
    """A change of what members know of tenants: what it did to whom, and when the next one came."""

    what: str
    tenant: str
    at: float
    until: float


def check(history: History) -> list[Finding]:
    """Return the findings on OPS-4, one for each change, where the scenario declares it."""
    if "OPS-4" not in history.meta.judges:
        return []
    changes = list(changes_of(history))
    tried = {change.what for change in changes}
    if missing := [what for what in (MOVED, LEFT, CAME) if what not in tried]:
        return [Judge(history, "OPS-4").doubts(f"no tenant was {' or '.join(missing)} while a member ran", {})]
    return [_judged(history, change) for change in changes]


def changes_of(history: History) -> Iterator[Change]:
    """Yield the changes that were made while a member ran."""
    born = next((event.at for event in membership.processes(history)), math.inf)
    told = [event for event in history.events if event.kind == "tenants"]
    without: set[str] = set()
    elsewhere: set[str] = set()
    for event, following in zip_longest(told, told[1:]):
        until = following.at if following else membership.end(history)
        gone, away = set(event.detail["without"]), set(event.detail["elsewhere"])
        if event.at > born:
            yield from (Change(LEFT, tenant, event.at, until) for tenant in sorted(gone - without))
            yield from (Change(CAME, tenant, event.at, until) for tenant in sorted(without - gone))
            yield from (Change(MOVED, tenant, event.at, until) for tenant in sorted(elsewhere ^ away))
        without, elsewhere = gone, away


def _judged(history: History, change: Change) -> Finding:
    judge = Judge(history, "OPS-4", f"{change.what}: {change.tenant}")
    bound = discovery_bound(history)
    due = min(change.until, change.at + bound)
    until = min(due, history.last)
    since, gap, suffered = _longest_gap(history, change, until)
    restarts = sum(change.at <= event.at < until for event in membership.processes(history))
    figures = {
        "longest gap of another tenant": Figure(gap, "s", f"< {GAP:g}"),
        "processes stopped or started": Figure(restarts, "", "= 0"),
    }
    if restarts:
        summary = f"processes were stopped or started when a tenant was {change.what}: the others', too"
        return judge.violates(summary, figures)
    if gap >= GAP and suffered is not None:
        what = f"another tenant had nothing accepted for {gap:.1f} s as one was {change.what}; records that waited"
        return judge.fails(what, [suffered], figures, [Late(since, gap, GAP)])
    found = _stopped(judge, change, figures) if change.what == LEFT else _served(judge, change, bound, figures)
    if found.verdict is Verdict.PASS and until < due:
        return judge.doubts(f"the run ended too soon after the tenant was {change.what} to see others go on", figures)
    return found


def _longest_gap(history: History, change: Change, until: float) -> tuple[float, float, Produced | None]:
    """Return since when another healthy tenant had nothing accepted while work was pending, how long, and what waited.

    That is the longest of all such times.
    """
    since, worst, suffered = change.at, 0.0, None
    for tenant in history.meta.tenants:
        if tenant.role != "healthy" or tenant.name == change.tenant:
            continue
        records = history.by_tenant[tenant.name]
        gap = rates.longest_gap(((record.acked, history.accepted_at(record)) for record in records), change.at, until)
        if gap.seconds > worst:
            since, worst = gap.began, gap.seconds
            suffered = next((each for each in records if history.accepted_at(each) >= gap.began + gap.seconds), None)
    return since, worst, suffered


def _stopped(judge: Judge, change: Change, figures: dict[str, Figure]) -> Finding:
    history = judge.history
    late = [
        record
        for record in history.by_tenant[change.tenant]
        if change.at + EFFECT <= record.acked and history.finished_at(record) < change.until
    ]
    waiting = [
        record
        for record in history.by_tenant[change.tenant]
        if change.at + EFFECT <= record.acked < change.until <= history.finished_at(record)
    ]
    figures = figures | {
        "records that came for it afterwards, and were kept": Figure(len(waiting), "", "≥ 1"),
        "delivered all the same": Figure(len(late), "", "= 0"),
    }
    if late:
        slow = [Late(change.at, max(map(history.finished_at, late)) - change.at, EFFECT)]
        return judge.fails("records delivered for a tenant that had been removed", late, figures, slow)
    if not waiting:
        return judge.doubts("nothing came for the tenant that was removed", figures)
    return judge.passes("nothing was delivered for a tenant that had been removed, and nobody noticed", figures)


def _served(judge: Judge, change: Change, bound: float, figures: dict[str, Figure]) -> Finding:
    history = judge.history
    waiting = [
        record for record in history.by_tenant[change.tenant] if record.acked < change.at < history.finished_at(record)
    ]
    took = max((history.finished_at(record) - change.at for record in waiting), default=0.0)
    figures = figures | {
        "records that waited for the change": Figure(len(waiting), "", "≥ 1"),
        "seconds until the last of them was delivered": Figure(took, "s", f"≤ {bound:g}"),
    }
    late = [record for record in waiting if history.finished_at(record) - change.at > bound]
    if late and history.last <= change.at + bound:
        return judge.doubts("the run ended before all that waited for the change was due", figures)
    if late:
        return judge.fails(
            f"records that waited for a tenant to be {change.what}, and were not delivered",
            late,
            figures,
            [Late(change.at, took, bound)],
        )
    if not waiting:
        return judge.doubts(f"nothing waited for the tenant to be {change.what}", figures)
    return judge.passes(f"what waited was delivered {took:.1f} s after the change, and nobody noticed", figures)
