"""DEL-3: inside a 200 each item has its own outcome, and a reply confirms nothing that it does not state."""

from __future__ import annotations

from collections.abc import Sequence

from isolane.conformance.checkers import cases
from isolane.conformance.checkers.cases import Judge
from isolane.conformance.history import History
from isolane.conformance.history_ledger import Attempt, is_accepted, is_retryable
from isolane.conformance.history_values import Fault
from isolane.conformance.verdict import Figure, Finding

FEWEST = 3
"""Replies of the kind in question that must have been sent."""

_WHAT = {
    "items": "replies with accepted and refused items",
    "short": "replies with too few items",
    "contradict": "replies that tell of no errors and have some",
}


def check(history: History) -> list[Finding]:
    """Return a finding on DEL-3 for each fault that mixes outcomes, leaves items out, or contradicts itself."""
    return [_judged(history, fault) for fault in cases.of_kind(history, *_WHAT)]


def _judged(history: History, fault: Fault) -> Finding:
    judge = Judge(history, "DEL-3", fault.name)
    kind = fault.name.partition("-")[0]
    replies = [
        attempt
        for attempt in cases.attempts(history, fault)
        if attempt.statuses is not None and attempt.how == "replied"
    ]
    bites = sum(_is_bite(kind, attempt) for attempt in replies)
    owed, forgotten = _forgotten(history, replies)
    again = _sent_again(history, replies) if kind == "items" else []
    figures = {
        _WHAT[kind]: Figure(bites, "", f"≥ {FEWEST}"),
        "items that had to come back": Figure(owed),
        "items that never did": Figure(len(forgotten), "", "= 0"),
        "accepted items sent again": Figure(len(again), "", "= 0"),
    }
    if again:
        return judge.fails(
            "items sent again though they were accepted; records", cases.records(history, again), figures
        )
    if forgotten and (reason := cases.undecided(history, cases.records(history, forgotten))) is None:
        what = "items taken for done that were not accepted; records"
        return judge.fails(what, cases.records(history, forgotten), figures)
    if forgotten:
        return judge.doubts(f"items that were not accepted did not come back ({len(forgotten)}), but {reason}", figures)
    if bites < FEWEST:
        return judge.doubts(f"{_WHAT[kind]}: {bites}, the least are {FEWEST}", figures)
    return judge.passes(f"exactly what was not accepted came back ({owed} items of {bites} such replies)", figures)


def _is_bite(kind: str, attempt: Attempt) -> bool:
    statuses = [status for _, status in attempt.items()]
    if kind == "short":
        return None in statuses
    refused = any(status is not None and not is_accepted(status) for status in statuses)
    return refused and (kind == "contradict" or any(map(is_accepted, statuses)))


def _forgotten(history: History, replies: Sequence[Attempt]) -> tuple[int, list[int]]:
    """Return how many items were refused for now or left out, and those that were never sent again."""
    owed, forgotten = 0, []
    for attempt in replies:
        for token, status in attempt.items():
            if token is None or not (status is None or is_retryable(status)):
                continue
            owed += 1
            if not any(later.attempt.arrived > attempt.arrived for later in history.sendings[token]):
                forgotten.append(token)
    return owed, forgotten


def _sent_again(history: History, replies: Sequence[Attempt]) -> list[int]:
    """Return the accepted items that were sent again by a sender that had been told, and was never interrupted."""
    again = []
    for attempt in replies:
        assert attempt.answered is not None
        for token, status in attempt.items():
            if token is None or not is_accepted(status):
                continue
            later = next((each for each in history.sendings[token] if each.attempt.arrived > attempt.answered), None)
            if later and not cases.interrupted(history, attempt.answered, later.attempt.arrived):
                again.append(token)
    return again
