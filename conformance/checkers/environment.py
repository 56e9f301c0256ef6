"""DEL-5: what the environment refuses is held and sent again; nobody is condemned while nothing is accepted."""

from __future__ import annotations

import math
from collections.abc import Sequence

from isolane.conformance.checkers import cases
from isolane.conformance.checkers.cases import Judge
from isolane.conformance.history import History
from isolane.conformance.history_ledger import is_accepted
from isolane.conformance.history_sendings import Answer, Sending
from isolane.conformance.history_values import Fault, Produced
from isolane.conformance.tokens import ITEM_BITS
from isolane.conformance.verdict import Figure, Finding

FEWEST = 3
"""Requests that must have been refused, as a whole or by item."""

_PROXY = "proxy"
"""The kind of fault in which every request gets a 400, whatever is in it."""

_ANSWERS = {
    "denied": Answer.ENVIRONMENT,
    "blocked": Answer.ENVIRONMENT,
    "missing": Answer.ENVIRONMENT,
    _PROXY: Answer.REFUSED,
}


def check(history: History) -> list[Finding]:
    """Return a finding on DEL-5 for each fault of the environment: no access, a block, no index, a proxy's 400."""
    return [_judged(history, fault) for fault in cases.of_kind(history, *_ANSWERS)]


def _judged(history: History, fault: Fault) -> Finding:
    judge = Judge(history, "DEL-5", fault.name)
    answer = _ANSWERS[fault.name.partition("-")[0]]
    refused = [
        (attempt, tokens)
        for attempt in cases.attempts(history, fault)
        if (tokens := [token for token, status in attempt.items() if Sending(attempt, status).answer is answer])
    ]
    requests = len(refused)
    held = cases.records(history, (token for _, tokens in refused for token in tokens))
    aside = _put_aside(history, fault, [attempt.arrived for attempt, _ in refused])
    condemned = [record for record in dict.fromkeys(held + aside) if _is_condemned(history, fault.tenant, record)]
    past = cases.committed_past(history, held)
    left = [record for record in held if history.finished_at(record) == math.inf]
    figures = {
        "requests refused": Figure(requests, "", f"≥ {FEWEST}"),
        "records refused": Figure(len(held)),
        "records put aside for it": Figure(len(condemned), "", "= 0"),
        "records committed past": Figure(len(past), "", "= 0"),
        "records never accepted": Figure(len(left), "", "= 0"),
    }
    if past:
        return judge.fails("records committed past while only the environment was at fault", past, figures)
    if condemned:
        return judge.fails("records put aside while only the environment was at fault", condemned, figures)
    if left and (reason := cases.undecided(history, left)):
        return judge.doubts(f"records that were refused are not accepted ({len(left)}), but {reason}", figures)
    if left:
        return judge.fails("records never accepted after the environment was mended", left, figures)
    if requests < FEWEST:
        return judge.doubts(f"requests refused: {requests}, the least are {FEWEST}", figures)
    return judge.passes(f"what was refused was held, and accepted in the end ({len(held)} records)", figures)


def _put_aside(history: History, fault: Fault, refusals: Sequence[float]) -> list[Produced]:
    """Return what was put aside between the first and the last refusal of a fault, sent or not.

    Nothing where something was accepted between those: its sender may have known more of a record than its cluster. At
    the edges of a fault, and there alone, a cluster may not have it yet, or any more.
    """
    if not refusals or any(
        refusals[0] <= attempt.arrived <= refusals[-1] and any(is_accepted(status) for _, status in attempt.items())
        for attempt in cases.attempts(history, fault)
    ):
        return []
    return [
        record
        for record in history.by_tenant.get(fault.tenant, ())
        if record.kind == "data"
        and any(refusals[0] <= letter.at and letter.seen <= refusals[-1] for letter in history.letters(record))
    ]


def _is_condemned(history: History, tenant: str, record: Produced) -> bool:
    """Whether a record was put aside, and nothing but the environment had refused it."""
    if not history.letters(record):
        return False
    proxies = [fault for fault in cases.of_kind(history, _PROXY) if fault.tenant == tenant]
    return not any(
        sending.answer is Answer.REFUSED and not _is_in(sending, proxies)
        for item in range(record.items)
        for sending in history.sendings.get(record.record << ITEM_BITS | item, ())
    )


def _is_in(sending: Sending, faults: Sequence[Fault]) -> bool:
    return any(fault.began <= sending.attempt.arrived < fault.ended for fault in faults)
