"""What a cluster's answer means for the documents that were sent: pure functions from reply to outcomes.

A reply confirms exactly what it states (DEL-3): a document is accepted only by an item in its own place which says
so without contradicting itself or the rest of the reply. Everything else is sent again, or judged by its status.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from email.utils import parsedate_to_datetime
from enum import Enum, auto
from typing import TYPE_CHECKING

import orjson

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


REPLY_LIMIT = 16 * 1024**2
"""The bytes of an answer that are read at most, more or less: enough for fifty thousand items with an error each."""


class Outcome(Enum):
    """What became of a document, or of a request as a whole."""

    ACCEPTED = auto()
    """The cluster has it: 2xx, or 409 for an id that is the document's own (DEL-9)."""

    RETRYABLE = auto()
    """Not now: 408, 425, 429, 5xx, the deadline, the connection, or an answer that makes no sense (DEL-2)."""

    ENVIRONMENT = auto()
    """Not before somebody mends something that no document can be blamed for: 401, 403, 404 and the like (DEL-5)."""

    CONDEMNED = auto()
    """This document can never succeed: 400 for the item, or 400 or 413 when it was sent alone (DEL-4)."""

    TOO_LARGE = auto()
    """The request is to be split: it was refused as a whole, 413 or 400, by a culprit that is to stand alone (DEL-4),
    or the answer to so many documents is longer than what is read of it."""


@dataclass(frozen=True, slots=True)
class Reply:
    """What one attempt came to.

    Attributes:
        request: The outcome of the request as a whole, or None when each item has one of its own.
        items: One outcome a document, in the order of the documents; all are `request` where there is one.
        retry_after: Seconds that the cluster asks to wait before the next request (DEL-7), or None.
        reason: Why something was not accepted, for people: the request's reason, or the first item's.
        reasons: Why single documents were not accepted, by position.
    """

    request: Outcome | None
    items: Sequence[Outcome]
    retry_after: float | None = None
    reason: str = ""
    reasons: Mapping[int, str] = field(default_factory=dict)

    @classmethod
    def whole(cls, outcome: Outcome, count: int, reason: str, retry_after: float | None = None) -> Reply:
        """Return the reply in which one outcome holds for the request, and so for each of `count` documents."""
        return cls(outcome, (outcome,) * count, retry_after, reason)


# Elasticsearch answers 400 also for what only an operator can mend: no document is to blame for these.
_ENVIRONMENT_TYPES = ("index_closed_exception", "invalid_index_name_exception", "validation_exception")

_LONGEST_WAIT = 86_400.0


def of_status(status: int) -> Outcome:
    """Return the outcome that an HTTP status stands for, of an item or of a request that is not split."""
    if 200 <= status < 300:
        return Outcome.ACCEPTED
    if status in {408, 425, 429} or not 300 <= status < 500:
        return Outcome.RETRYABLE
    if status in {400, 413}:
        return Outcome.CONDEMNED
    return Outcome.ENVIRONMENT


def judge(status: int, headers: Mapping[str, str], body: bytes, ids: Sequence[str]) -> Reply:
    """Return what an answer to a bulk request means for the documents with these ids, in their order.

    Args:
        status: The HTTP status.
        headers: The HTTP headers, with names in lower case.
        body: Anything at all; of an answer that is longer than `REPLY_LIMIT` the beginning, which is longer, too.
        ids: Of the documents sent, each with the operation `create`.
    """
    count, wait = len(ids), retry_after(headers)
    if status == 200:
        if headers.get("x-elastic-product") != "Elasticsearch":
            return Reply.whole(Outcome.RETRYABLE, count, "the answer is not Elasticsearch's (no product header)", wait)
        return _judge_items(body, ids, wait)
    outcome = Outcome.RETRYABLE if status < 300 else of_status(status)
    if outcome is Outcome.CONDEMNED and count > 1:
        outcome = Outcome.TOO_LARGE
    return Reply.whole(outcome, count, f"status {status}{_explanation(body)}", wait)


def _judge_items(body: bytes, ids: Sequence[str], wait: float | None) -> Reply:
    try:
        reply = orjson.loads(body)
    except orjson.JSONDecodeError:
        outcome = Outcome.TOO_LARGE if len(body) > REPLY_LIMIT and len(ids) > 1 else Outcome.RETRYABLE  # MEM-3
        return Reply.whole(outcome, len(ids), f"the answer is not JSON within {len(body)} bytes", wait)
    items = reply.get("items") if isinstance(reply, dict) else None
    if not isinstance(items, list):
        return Reply.whole(Outcome.RETRYABLE, len(ids), "the answer is not that of a bulk request", wait)
    # With another number of items than documents, only an id tells which document an item speaks of.
    named = len(items) != len(ids)
    outcomes: list[Outcome] = []
    reasons: dict[int, str] = {}
    failures = False
    for position, identity in enumerate(ids):
        outcome, reason = _judge_item(items[position] if position < len(items) else None, identity, named=named)
        outcomes.append(outcome)
        failures = failures or reason != ""
        if outcome is not Outcome.ACCEPTED:
            reasons[position] = reason
    if reply.get("errors") is True and not failures:
        return Reply.whole(Outcome.RETRYABLE, len(ids), "the answer tells of errors and shows none", wait)
    return Reply(None, outcomes, wait, next(iter(reasons.values()), ""), reasons)


def _judge_item(item: object, identity: str, *, named: bool) -> tuple[Outcome, str]:
    """Return the outcome of the document `identity` from the item in its place, and what failed, if anything did."""
    result = item.get("create") if isinstance(item, dict) and len(item) == 1 else None
    if not isinstance(result, dict):
        return Outcome.RETRYABLE, "the answer has no item for this document"
    status, error = result.get("status"), result.get("error")
    if type(status) is not int or result.get("_id", None if named else identity) != identity:
        return Outcome.RETRYABLE, "the answer's item is not about this document"
    outcome = of_status(status)
    if outcome is Outcome.ACCEPTED and error is None:
        return outcome, ""
    failure = f"status {status}{_described(error)}"
    if status == 409:
        return Outcome.ACCEPTED, failure
    if outcome is Outcome.ACCEPTED:
        return Outcome.RETRYABLE, failure
    if outcome is Outcome.CONDEMNED and isinstance(error, dict) and error.get("type") in _ENVIRONMENT_TYPES:
        outcome = Outcome.ENVIRONMENT
    return outcome, failure


def retry_after(headers: Mapping[str, str]) -> float | None:
    """Return the seconds that a `Retry-After` header asks for (RFC 9110), or None when it makes no sense.

    A date counts from the `Date` of the same answer, so that no two clocks need to agree.
    """
    text = headers.get("retry-after", "").strip()
    if re.fullmatch(r"[0-9]{1,9}(\.[0-9]{1,9})?", text):
        return min(float(text), _LONGEST_WAIT)
    try:
        until, sent = parsedate_to_datetime(text), parsedate_to_datetime(headers.get("date", ""))
        return min(max(0.0, (until - sent).total_seconds()), _LONGEST_WAIT)
    except (ValueError, TypeError, OverflowError, IndexError):
        return None


def _explanation(body: bytes) -> str:
    """Return what the body of a refused request says of the error, where it says anything."""
    try:
        reply = orjson.loads(body)
    except orjson.JSONDecodeError:
        return ""
    return _described(reply.get("error") if isinstance(reply, dict) else None)


def _described(error: object) -> str:
    """Return an error's type and reason as `: type: reason`, as far as they are text, of at most a few lines."""
    parts = (error.get("type"), error.get("reason")) if isinstance(error, dict) else (error,)
    return "".join(f": {part[:300]}" for part in parts if isinstance(part, str))
