"""REB-1, REB-2 and REB-4: members come and go under load; whoever keeps or gets back a partition goes on with it."""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Iterator, Sequence

from isolane.conformance.checkers import cases, delivery, membership, offsets
from isolane.conformance.checkers.cases import Judge
from isolane.conformance.checkers.commits import slips
from isolane.conformance.checkers.membership import Change, Place
from isolane.conformance.checkers.ownership import under_way
from isolane.conformance.checkers.partitions import commit_bound, owned
from isolane.conformance.history import History
from isolane.conformance.history_values import Produced
from isolane.conformance.verdict import Figure, Finding, Verdict

FEWEST_CALMS = 2
"""Calms after a change of members that it takes to see who goes on."""

TURNS = 3
"""How many requests of its tenant may go before one of a partition has its turn."""

SOON = 10.0
"""Seconds within which a partition that comes back to the same member does so fast."""


def check(history: History) -> list[Finding]:
    """Return the findings on REB-1, REB-2 and REB-4, each where the scenario declares it."""
    judges = history.meta.judges
    found = []
    if "REB-1" in judges:
        found.append(_harmed(history))
    if "REB-2" in judges:
        found.append(_going_on(history))
    if "REB-4" in judges:
        found.append(_returned(history))
    return found


def _harmed(history: History) -> Finding:
    """REB-1: DEL-1 and OFF-1 on a history in which members came and went in every way under load."""
    judge = Judge(history, "REB-1")
    loaded = [event for event in membership.processes(history) if _is_loaded(history, event.at)]
    counts = {
        "members that joined": sum(event.name == membership.JOINED for event in loaded),
        "members that left": sum(event.name == membership.LEFT for event in loaded),
        "members that were killed": sum(event.name == membership.KILLED for event in loaded),
    }
    figures = {name: Figure(count, "", "≥ 1") for name, count in counts.items()}
    beneath = [*delivery.check(history), *offsets.check(history)]
    for finding in beneath:
        if finding.verdict is Verdict.FAIL:
            summary = f"members had come and gone under load: {finding.summary}"
            return Finding(
                "REB-1", history.scenario, Verdict.FAIL, summary, "", figures, finding.evidence, finding.story
            )
    if missing := [name for name, count in counts.items() if not count]:
        return judge.doubts(f"there were none under load of the {missing[0]}", figures)
    if doubtful := next((finding for finding in beneath if finding.verdict is not Verdict.PASS), None):
        return judge.doubts(doubtful.summary, figures)
    return judge.passes("nothing was lost, and nothing committed early, while members came and went", figures)


def _is_loaded(history: History, at: float) -> bool:
    """Return whether records came just before and just after a moment."""
    return all(any(began <= record.acked < began + 1.0 for record in history.produced) for began in (at - 1.0, at))


def _going_on(history: History) -> Finding:
    """REB-2: in each calm after a change, for the partitions that a member has kept, or has got back."""
    judge = Judge(history, "REB-2")
    bound = commit_bound(history)
    calms = [change for change in membership.changes(history) if change.calm > bound + 1.0]
    back = membership.returns(history)
    stuck: list[Produced] = []
    tried = 0
    for change in calms:
        waiting = dict(_waiting(history, change, set(_kept(change)) | set(back), bound))
        tried += len(waiting)
        stuck += [record for place, record in waiting.items() if not _advances(history, place, change)]
    figures = {
        "calms after a change of members": Figure(len(calms), "", f"≥ {FEWEST_CALMS}"),
        "partitions kept or got back, with records to deliver": Figure(tried, "", "≥ 1"),
        "of them without a commit": Figure(len(stuck), "", "= 0"),
    }
    if stuck:
        return judge.fails("partitions with nothing committed any more after members had changed", stuck, figures)
    if not history.groups:
        return judge.doubts("nobody may see who has which partition", figures)
    if len(calms) < FEWEST_CALMS or not tried:
        return judge.doubts("there was no calm in which to see who goes on", figures)
    return judge.passes(f"every partition that was kept or came back went on ({tried})", figures)


def _kept(change: Change) -> Iterator[Place]:
    assert change.after is not None
    had = membership.owners(change.before)
    yield from (place for place, member in membership.owners(change.after).items() if had.get(place) == member)


def _waiting(history: History, change: Change, places: set[Place], bound: float) -> Iterator[tuple[Place, Produced]]:
    """Yield, of those partitions whose turn must have come in a calm, the first record that was to be delivered."""
    assert change.after is not None
    sick = {fault.tenant for fault in history.faults if fault.began < change.until and fault.ended > change.settled}
    turns: dict[str, float] = {}
    for place in sorted(places & set(membership.owners(change.after))):
        tenant = history.meta.owners.get(place[0])
        if tenant is None or tenant in sick:
            continue
        if tenant not in turns:
            turns[tenant] = TURNS * _longest(history, tenant, change)
        until = change.until - bound - turns[tenant]
        for record in history.by_partition.get(place, ()):
            if record.acked < until and until > change.settled and history.finished_at(record) > change.settled:
                yield place, record
                break


def _longest(history: History, tenant: str, change: Change) -> float:
    """Return the longest that a tenant's cluster took for a request in a calm."""
    return max(
        (
            attempt.answered - attempt.arrived
            for attempt in history.attempts
            if attempt.tenant == tenant
            and attempt.answered is not None
            and change.settled <= attempt.answered < change.until
        ),
        default=0.0,
    )


def _advances(history: History, place: Place, change: Change) -> bool:
    """Return whether the committed offset of a partition grew in a calm."""
    return any(change.settled < at <= change.until for at, _ in history.advances.get(place, ()))


def _returned(history: History) -> Finding:
    """REB-4, for the partitions that were back with the same member soon, and of which work was in flight."""
    judge = Judge(history, "REB-4")
    back = {
        place: times
        for place, every in membership.returns(history).items()
        if (times := [(left, came) for left, came in every if came - left <= SOON])
    }
    moves = [event.at for event in membership.processes(history)]
    crossed = {at: under_way(history, at) for at in moves}
    in_flight = {
        place
        for place, times in back.items()
        if any(place in crossed[at] for left, _ in times for at in [at for at in moves if at <= left][-1:])
    }
    slipped = [slip for slip in slips(history) if slip.partition in back]
    early = [each.record for each in offsets.breaches(history) if (each.record.topic, each.record.partition) in back]
    left = [
        record
        for place, records in owned(history)
        if place in back and (record := _first_left(history, records)) is not None
    ]
    wrong = [record for slip in slipped if (record := _at(history, slip.partition, slip.offset)) is not None]
    figures = {
        "times that a partition was back with the same member soon": Figure(sum(map(len, back.values())), "", "≥ 1"),
        "partitions concerned, with work in flight": Figure(len(in_flight), f"of {len(back)}", "≥ 1"),
        "committed offsets that fell, or exceeded the log": Figure(len(slipped), "", "= 0"),
        "committed offsets past an unfinished record": Figure(len(early), "", "= 0"),
        "partitions that did not drain": Figure(len(left), "", "= 0"),
    }
    doubt = cases.pending(history, left) if left else cases.broken_off(history)
    if early or wrong or (left and not doubt):
        what = "records of partitions that a member had lost and got back"
        return judge.fails(f"{what} were passed, repeated, or left behind", [*early, *wrong, *left], figures)
    if not in_flight:
        return judge.doubts("no partition with work in flight was back with the same member soon", figures)
    if doubt:
        return judge.doubts(doubt, figures)
    return judge.passes(f"what came back at once was taken up as it was ({len(back)} partitions)", figures)


def _first_left(history: History, records: Sequence[Produced]) -> Produced | None:
    return next(
        (record for record in records if math.inf in {history.finished_at(record), history.committed_past(record)}),
        None,
    )


def _at(history: History, place: Place, offset: int) -> Produced | None:
    records = history.by_partition.get(place, ())
    position = bisect_left([record.offset for record in records], offset)
    return records[min(position, len(records) - 1)] if records else None
