"""DEL-4: what can never succeed is put aside, confirmed before it is marked; what is around it is delivered."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

from isolane.conformance.checkers import cases
from isolane.conformance.checkers.cases import Judge
from isolane.conformance.history import History
from isolane.conformance.history_ledger import Attempt
from isolane.conformance.history_values import Fault, Produced
from isolane.conformance.tokens import ITEM_BITS, Token
from isolane.conformance.verdict import Figure, Finding

FEWEST = 3
"""How often culprits must have been refused by themselves, or the same request as a whole, to draw a conclusion."""

_WHOLE = frozenset({400, 413})


@dataclass(slots=True)
class _Refusals:
    """What a fault refused for good.

    Attributes:
        requests: Requests that were refused as a whole, or in which an item was.
        mixed: Those of them with others beside the culprits.
        alone: How often a culprit was refused by itself: by its own status, or alone in its request.
        culprits: The items that can never succeed.
        bystanders: The items that were refused as parts of requests with them.
        same: How often each request of several items was refused as a whole, by its items.
    """

    requests: int = 0
    mixed: int = 0
    alone: int = 0
    culprits: set[int] = field(default_factory=set)
    bystanders: set[int] = field(default_factory=set)
    same: Counter[frozenset[int]] = field(default_factory=Counter)


def check(history: History) -> list[Finding]:
    """Return a finding on DEL-4 for each fault that refuses for good; none where nothing is ever put aside."""
    if history.meta.dead_letter.kind == "none":
        return []
    by_item = [
        _judged(history, fault, _by_item(history, fault))
        for fault in cases.of_kind(history, "items")
        if 400 in _cycle(fault)
    ]
    by_request = [
        _judged(history, fault, _by_request(history, fault)) for fault in cases.of_kind(history, "marked", "large")
    ]
    return by_item + by_request


def _cycle(fault: Fault) -> Sequence[int]:
    statuses = cases.part(fault, "items")
    return statuses if isinstance(statuses, (list, tuple)) else ()


def _by_item(history: History, fault: Fault) -> _Refusals:
    """What was refused by its own status, in a reply that accepted others."""
    found = _Refusals()
    for attempt in cases.attempts(history, fault):
        own = {token for token, status in attempt.items() if status == 400 and token is not None}
        found.requests += bool(own)
        if own and attempt.accepts():
            found.mixed += 1
            found.alone += len(own)
            found.culprits |= own
    return found


def _by_request(history: History, fault: Fault) -> _Refusals:
    """What was refused because of an item in the request, which the fault's script names."""
    found = _Refusals()
    for attempt in cases.attempts(history, fault):
        if attempt.statuses is not None or attempt.status not in _WHOLE:
            continue
        tokens = frozenset(token for token in attempt.tokens() if token is not None)
        own = {token for token in tokens if _is_culprit(history, fault, token)}
        found.requests += 1
        found.mixed += tokens > own
        found.alone += len(tokens) == len(own) == 1
        found.culprits |= own
        found.bystanders |= tokens - own
        if len(tokens) > 1:
            found.same[tokens] += 1
    return found


def _is_culprit(history: History, fault: Fault, token: int) -> bool:
    pattern, limit = cases.part(fault, "culprit"), cases.part(fault, "body_limit")
    if isinstance(pattern, str):
        return re.search(pattern, str(Token.from_number(token))) is not None
    record = history.find(token >> ITEM_BITS)
    return isinstance(limit, int) and record is not None and record.size > limit * record.items


def _judged(history: History, fault: Fault, found: _Refusals) -> Finding:
    judge = Judge(history, "DEL-4", fault.name)
    guilty = cases.records(history, sorted(found.culprits))
    innocent = [record for record in cases.records(history, sorted(found.bystanders)) if record not in set(guilty)]
    aside = [record for record in guilty if history.letters(record)]
    left = [record for record in (*guilty, *innocent) if history.finished_at(record) == math.inf]
    unsplit = [token for tokens, times in found.same.items() if times >= FEWEST for token in sorted(tokens)]
    wrong = {
        "records committed past before their dead letter was there": cases.committed_past(history, guilty),
        "records put aside because of what was beside them": _condemned(history, innocent),
        "requests sent again as they were, not split; records in them": cases.records(history, unsplit),
        "records that can never succeed, not put aside": guilty if not aside and found.alone >= FEWEST else [],
    }
    figures = {
        "requests refused": Figure(found.requests, "", "> 0"),
        "of those with others beside culprits": Figure(found.mixed, "", "> 0"),
        "refused by themselves": Figure(found.alone),
        "records with culprits": Figure(len(guilty)),
        "put aside": Figure(len(aside)),
        "most dead letters for one": Figure(max((len(history.letters(record)) for record in aside), default=0)),
        "records around them": Figure(len(innocent)),
        "records left": Figure(len(left), "", "= 0"),
    }
    for what, suffered in wrong.items():
        if suffered:
            return judge.fails(what, suffered, figures)
    if left and (reason := cases.undecided(history, left)) is None:
        return judge.fails("records neither accepted nor put aside", left, figures)
    if left:
        return judge.doubts(f"records are neither accepted nor put aside ({len(left)}), but {reason}", figures)
    if not found.mixed or (guilty and not aside):
        doubt = "no culprit was put aside" if found.mixed else "no request was refused that had others beside a culprit"
        return judge.doubts(doubt, figures)
    summary = f"culprits were put aside ({len(aside)} records), and what was around them was accepted ({len(innocent)})"
    return judge.passes(summary, figures)


def _condemned(history: History, innocent: Sequence[Produced]) -> list[Produced]:
    return [record for record in innocent if history.letters(record) and not _is_refused_elsewhere(history, record)]


def _is_refused_elsewhere(history: History, record: Produced) -> bool:
    """Whether an item of the record was refused for good by itself: alone in its request, or by its own status."""
    return any(
        sending.status == 400 or (sending.attempt.status in {400, 413} and _is_alone(sending.attempt, record))
        for item in range(record.items)
        for sending in history.sendings.get(record.record << ITEM_BITS | item, ())
    )


def _is_alone(attempt: Attempt, record: Produced) -> bool:
    return attempt.records() == {record.record}
