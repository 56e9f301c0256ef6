"""DEL-8: what is delivered twice is what could not have been committed before a crash or a rebalance, and no more."""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from isolane.conformance.checkers.partitions import discovery_bound, disturbances
from isolane.conformance.checkers.story import story
from isolane.conformance.history import History
from isolane.conformance.history_ledger import Attempt, is_accepted
from isolane.conformance.history_values import Produced
from isolane.conformance.tokens import ITEM_BITS
from isolane.conformance.verdict import Figure, Finding, Verdict


@dataclass(frozen=True, slots=True)
class Repeat:
    """An item that was accepted once more: the attempt that had delivered it, and the one that did so again."""

    record: Produced
    before: Attempt
    again: Attempt


def check(history: History) -> list[Finding]:
    """Return the finding on DEL-8; none where no member came or went, and no topic changed, under traffic.

    An item may be delivered again when its reply was lost, and when partitions changed hands while no observed commit
    was past it: everything accepted since the last observed commit, the out-of-order span included, is such. What is
    sent again with nothing between is for DEL-3 to judge.
    """
    changes = _changes(history)
    if not changes or not history.attempts:
        return []
    found = list(repeats(history))
    settled = discovery_bound(history)
    caused = [
        (repeat, causes)
        for repeat in found
        if not is_lost(repeat.before) and (causes := _causes(repeat, changes, settled))
    ]
    excess = [repeat for repeat, causes in caused if history.committed_past(repeat.record) <= causes[0]]
    accepted = sum(is_accepted(status) for attempt in history.attempts for _, status in attempt.items())
    figures = {
        "crashes and rebalances": Figure(len(changes)),
        "items accepted": Figure(accepted),
        "items accepted again": Figure(len(found)),
        "of those, after a lost reply": Figure(sum(is_lost(repeat.before) for repeat in found)),
        "of those, after a crash or rebalance": Figure(len(caused)),
        "of those, although a commit was past them before": Figure(len(excess), "", "= 0"),
        "items accepted and not committed when a member went, each time": Figure(_exposed(history, changes)),
    }
    if excess:
        first = excess[0].record
        return [
            Finding(
                "DEL-8",
                history.scenario,
                Verdict.FAIL,
                f"items delivered again without need: {len(excess)}; first of {history.place(first)}",
                figures=figures,
                evidence=tuple(dict.fromkeys(repeat.record.token for repeat in excess))[:10],
                story=story(history, first),
            )
        ]
    summary = f"what was delivered again had not been committed, or its reply was lost ({len(found)} items)"
    return [Finding("DEL-8", history.scenario, Verdict.PASS, summary, figures=figures)]


def _changes(history: History) -> list[float]:
    """Return the disturbances before the end."""
    end = next((event.at for event in history.events if (event.kind, event.name) == ("phase", "end")), math.inf)
    return [at for at in disturbances(history) if at < end]


def _exposed(history: History, changes: Sequence[float]) -> int:
    """Return how many items were accepted, and no observed commit past them, whenever a member went; for people."""
    gone = sorted(
        event.at
        for event in history.events
        if event.kind == "process" and event.name != "started" and event.at <= changes[-1]
    )
    exposed = 0
    for token, sendings in history.sendings.items():
        accepted = next((each.attempt.answered for each in sendings if is_accepted(each.status)), None)
        record = history.find(token >> ITEM_BITS)
        if accepted is not None and record is not None:
            exposed += max(0, bisect_left(gone, history.committed_past(record)) - bisect_left(gone, accepted))
    return exposed


def repeats(history: History) -> Iterator[Repeat]:
    """Yield each item that was accepted once more, in order of the answers."""
    delivered: dict[int, Attempt] = {}
    answered = sorted(
        (attempt for attempt in history.attempts if attempt.answered is not None),
        key=lambda attempt: attempt.answered or 0.0,
    )
    for attempt in answered:
        for token, status in attempt.items():
            if token is None or not is_accepted(status):
                continue
            before = delivered.get(token)
            record = history.find(token >> ITEM_BITS)
            if before is not None and record is not None:
                yield Repeat(record, before, attempt)
            delivered[token] = attempt


def is_lost(attempt: Attempt) -> bool:
    """Return whether the sender cannot know the answer."""
    return attempt.how != "replied"


def _causes(repeat: Repeat, changes: Sequence[float], settled: float) -> list[float]:
    """Return the changes after which the partition may have changed hands between the two deliveries.

    When exactly is not seen: a rebalance is over within `settled` seconds of its cause.
    """
    assert repeat.before.answered is not None
    before = repeat.before.answered
    return [at for at in changes[: bisect_right(changes, repeat.again.arrived)] if before <= at + settled]
