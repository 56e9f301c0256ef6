"""REB-3: a member that was frozen beyond its session, and woken, commits nothing for what it has lost."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

from isolane.conformance.checkers import membership, slots
from isolane.conformance.checkers.cases import Judge
from isolane.conformance.checkers.commits import slips
from isolane.conformance.checkers.membership import FROZEN, THAWED, Place
from isolane.conformance.checkers.offsets import breaches
from isolane.conformance.checkers.ownership import under_way
from isolane.conformance.history import History
from isolane.conformance.history_values import Produced
from isolane.conformance.verdict import Figure, Finding


@dataclass(frozen=True, slots=True)
class Freeze:
    """A member that was frozen: from when to when, what it lost, and what of that was under way."""

    began: float
    ended: float
    lost: frozenset[Place]
    under_way: frozenset[Place]


def check(history: History) -> list[Finding]:
    """Return the finding on REB-3 where the scenario declares it."""
    if "REB-3" not in history.meta.judges:
        return []
    judge = Judge(history, "REB-3")
    session = slots.seconds(history, "session_timeout", 0.0)
    freezes = [each for each in freezes_of(history) if each.ended - each.began > session and each.lost]
    wrong = [record for freeze in freezes for record in _wrong(history, freeze)]
    figures = {
        "members expelled while frozen, and woken": Figure(len(freezes), "", "≥ 1"),
        "partitions that they lost": Figure(sum(len(each.lost) for each in freezes)),
        "of those with attempts under way": Figure(sum(len(each.under_way) for each in freezes), "", "≥ 1"),
        "commits that fell, jumped, or were past the end afterwards": Figure(len(wrong), "", "= 0"),
    }
    if wrong:
        return [judge.fails("records that a commit went wrong about after a frozen member was woken", wrong, figures)]
    if not history.groups:
        return [judge.doubts("nobody may see what a member has lost", figures)]
    if not any(each.under_way for each in freezes):
        return [judge.doubts("no member lost anything with attempts under way while it was frozen", figures)]
    return [judge.passes("a member that was woken committed nothing for what it had lost", figures)]


def freezes_of(history: History) -> Iterator[Freeze]:
    """Yield each time that a member was frozen and woken."""
    events = membership.processes(history)
    for frozen in (event for event in events if event.name == FROZEN):
        ended = next(
            (
                event.at
                for event in events
                if event.name == THAWED and event.at > frozen.at and event.detail["member"] == frozen.detail["member"]
            ),
            math.inf,
        )
        before, then = membership.at_rest_before(history, frozen.at), membership.at_rest_before(history, ended)
        if ended == math.inf or before is None or then is None:
            continue
        lost = frozenset[Place]().union(
            *(places for member, places in before.members.items() if member not in then.members)
        )
        yield Freeze(frozen.at, ended, lost, lost & under_way(history, frozen.at))


def _wrong(history: History, freeze: Freeze) -> Iterator[Produced]:
    """Yield the records of lost partitions that a commit was wrong about from the wake on."""
    for breach in breaches(history):
        if breach.seen.ended >= freeze.ended and (breach.record.topic, breach.record.partition) in freeze.lost:
            yield breach.record
    for slip in slips(history):
        if slip.at >= freeze.ended and slip.partition in freeze.lost:
            records = history.by_partition[slip.partition]
            yield next((record for record in records if record.offset >= slip.offset), records[-1])
