"""DEL-6: each attempt has a total deadline, a trickling reply included, and silence never counts as done."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial

from isolane.conformance.checkers import cases, harness
from isolane.conformance.checkers.cases import Judge
from isolane.conformance.history import History
from isolane.conformance.history_ledger import Attempt
from isolane.conformance.history_sendings import Answer
from isolane.conformance.history_values import Fault
from isolane.conformance.verdict import Figure, Finding

MARGIN = 2.0
"""Seconds that an attempt may last beyond its deadline, at the least."""

MARGIN_SHARE = 0.1
"""The share of the deadline that it may last longer."""


def check(history: History) -> list[Finding]:
    """Return a finding on DEL-6 for each fault that trickles replies or never sends any."""
    deadline = history.meta.bounds.get("request_timeout")
    if not isinstance(deadline, (int, float)):
        return []
    return [_judged(history, fault, deadline) for fault in cases.of_kind(history, "trickle", "silence")]


def _judged(history: History, fault: Fault, deadline: float) -> Finding:
    judge = Judge(history, "DEL-6", fault.name)
    allowed = deadline + max(MARGIN, MARGIN_SHARE * deadline)
    attempts = cases.attempts(history, fault)
    given_up = [attempt for attempt in attempts if attempt.how == "client_gone"]
    longest = max(attempts, key=partial(_lasted, history), default=None)
    lasted = _lasted(history, longest) if longest else 0.0
    forgotten = _forgotten(history, given_up)
    figures = {
        "attempts": Figure(len(attempts)),
        "given up by the sender": Figure(len(given_up), "", "> 0"),
        "longest": Figure(lasted, "s", f"≤ {allowed:g}"),
        "items never sent again": Figure(len(forgotten), "", "= 0"),
    }
    if longest and lasted > allowed:
        what = f"an attempt lasted {lasted:.1f} s (allowed {allowed:g} s)"
        if reason := harness.excuse(history, longest.arrived, lasted, allowed):
            return judge.doubts(f"{what}, but {reason}", figures)
        return judge.fails(f"{what}; records in it", cases.records(history, longest.tokens()), figures)
    if forgotten and (reason := cases.undecided(history, cases.records(history, forgotten))) is None:
        what = "records taken for done without a whole reply"
        return judge.fails(what, cases.records(history, forgotten), figures)
    if forgotten:
        return judge.doubts(f"items did not come back after silence ({len(forgotten)}), but {reason}", figures)
    if not given_up:
        return judge.doubts("no attempt had to be given up", figures)
    return judge.passes(f"silence ended by a deadline, and was followed by a retry ({len(given_up)} attempts)", figures)


def _lasted(history: History, attempt: Attempt) -> float:
    """Return the seconds of an attempt; one that never ended has lasted until the end of the history."""
    return (history.last if attempt.closed is None else attempt.closed) - attempt.arrived


def _forgotten(history: History, given_up: Sequence[Attempt]) -> list[int]:
    """Return the items that were in an attempt without a whole reply, and in no later one, nor confirmed before."""
    forgotten = []
    for attempt in given_up:
        for token in attempt.tokens():
            if token is None:
                continue
            others = [each for each in history.sendings[token] if each.attempt is not attempt]
            if not any(
                each.attempt.arrived > attempt.arrived or each.answer is Answer.CONFIRMED for each in others
            ) and not _is_put_aside(history, token):
                forgotten.append(token)
    return forgotten


def _is_put_aside(history: History, token: int) -> bool:
    return any(letter.at < math.inf for record in cases.records(history, [token]) for letter in history.letters(record))
