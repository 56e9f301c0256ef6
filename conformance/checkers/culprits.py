"""DEL-4: what can never succeed is put aside, confirmed before it is marked; what is around it is delivered."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from isolane.conformance.checkers import cases
from isolane.conformance.checkers.cases import Judge
from isolane.conformance.history import History
from isolane.conformance.history_ledger import Attempt, is_accepted
from isolane.conformance.history_values import Fault, Produced
from isolane.conformance.tokens import ITEM_BITS, Token
from isolane.conformance.verdict import Figure, Finding

_KINDS = ("items", "marked", "large")


@dataclass(slots=True)
class _Case:
    """What a fault refused for good.

    Attributes:
        culprits: The items that can never succeed.
        bystanders: The items that were refused as parts of requests with them.
        requests: Requests that were refused as a whole, or in which an item was.
        mixed: Those of them with others beside the culprits.
    """

    culprits: set[int] = field(default_factory=set)
    bystanders: set[int] = field(default_factory=set)
    requests: int = 0
    mixed: int = 0


def check(history: History) -> list[Finding]:
    """Return a finding on DEL-4 for each fault that refuses for good; none where nothing is ever put aside."""
    if history.meta.dead_letter.kind == "none":
        return []
    return [
        _judged(history, fault, case)
        for fault in cases.of_kind(history, *_KINDS)
        if (case := _case(history, fault)) is not None
    ]


def _case(history: History, fault: Fault) -> _Case | None:
    kind = fault.name.partition("-")[0]
    if kind == "items" and 400 not in _cycle(fault):
        return None
    case = _Case()
    for attempt in cases.attempts(history, fault):
        tokens = {token for token in attempt.tokens() if token is not None}
        if kind == "items":
            own = {token for token, status in attempt.items() if status == 400 and token is not None}
            others = any(is_accepted(status) for _, status in attempt.items())
        elif attempt.statuses is None and attempt.status in {400, 413}:
            own = {token for token in tokens if _is_culprit(history, fault, token)}
            others = tokens > own
            case.bystanders |= tokens - own
        else:
            continue
        case.requests += bool(own) or kind != "items"
        case.mixed += others and (bool(own) or kind != "items")
        case.culprits |= own if others or kind != "items" else set()
    return case


def _cycle(fault: Fault) -> Sequence[int]:
    statuses = cases.part(fault, "items")
    return statuses if isinstance(statuses, (list, tuple)) else ()


def _is_culprit(history: History, fault: Fault, token: int) -> bool:
    pattern, limit = cases.part(fault, "culprit"), cases.part(fault, "body_limit")
    if isinstance(pattern, str):
        return re.search(pattern, str(Token.from_number(token))) is not None
    record = history.find(token >> ITEM_BITS)
    return isinstance(limit, int) and record is not None and record.size > limit * record.items


def _judged(history: History, fault: Fault, case: _Case) -> Finding:
    judge = Judge(history, "DEL-4", fault.name)
    guilty = cases.records(history, sorted(case.culprits))
    innocent = [record for record in cases.records(history, sorted(case.bystanders)) if record not in set(guilty)]
    aside = [record for record in guilty if history.letters(record)]
    condemned = [
        record for record in innocent if history.letters(record) and not _is_refused_elsewhere(history, record)
    ]
    past = cases.committed_past(history, guilty)
    left = [record for record in (*guilty, *innocent) if history.finished_at(record) == math.inf]
    figures = {
        "requests refused": Figure(case.requests, "", "> 0"),
        "of those with others beside culprits": Figure(case.mixed, "", "> 0"),
        "records with culprits": Figure(len(guilty)),
        "put aside": Figure(len(aside)),
        "most dead letters for one": Figure(max((len(history.letters(record)) for record in aside), default=0)),
        "records around them": Figure(len(innocent)),
        "records around them put aside": Figure(len(condemned), "", "= 0"),
        "records left": Figure(len(left), "", "= 0"),
    }
    for what, suffered in (
        ("records committed past before their dead letter was there", past),
        ("records put aside because of what was beside them", condemned),
    ):
        if suffered:
            return judge.fails(what, suffered, figures)
    if left and (reason := cases.undecided(history)):
        return judge.doubts(f"records are neither accepted nor put aside ({len(left)}), but {reason}", figures)
    if left or (guilty and not aside):
        what = "records neither accepted nor put aside" if left else "records that can never succeed, not put aside"
        return judge.fails(what, left or guilty, figures)
    if not case.mixed:
        return judge.doubts("no request was refused that had others in it beside a culprit", figures)
    summary = f"culprits were put aside ({len(aside)} records), and what was around them was accepted ({len(innocent)})"
    return judge.passes(summary, figures)


def _is_refused_elsewhere(history: History, record: Produced) -> bool:
    """Whether an item of the record was refused for good by itself: alone in its request, or by its own status."""
    return any(
        sending.status == 400 or (sending.attempt.status in {400, 413} and _is_alone(sending.attempt, record))
        for item in range(record.items)
        for sending in history.sendings.get(record.record << ITEM_BITS | item, ())
    )


def _is_alone(attempt: Attempt, record: Produced) -> bool:
    return _keys(attempt.tokens()) == {record.record}


def _keys(tokens: Iterable[int | None]) -> set[int]:
    return {token >> ITEM_BITS for token in tokens if token is not None}
