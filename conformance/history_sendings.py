"""What was sent of each item, attempt by attempt, and what its sender was told."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from enum import StrEnum
from typing import NamedTuple

from isolane.conformance.history_ledger import Attempt, is_accepted, is_retryable


class Answer(StrEnum):
    """What a sender may take an answer for, as far as one item is concerned."""

    CONFIRMED = "confirmed"
    """The whole reply was sent, and says that the cluster has the item."""

    NOT_NOW = "refused for now"
    """408, 425, 429 or 5xx, for the item or for the request; or a 200 that is no bulk reply."""

    SILENCE = "not answered"
    """No whole reply was sent: none at all, or it was cut off, withheld, or given up by the sender."""

    UNSTATED = "not stated"
    """The reply has items, and none for this one."""

    REFUSED = "refused for good"
    """400 or 413, for the item or for the request."""

    ENVIRONMENT = "refused by the environment"
    """Any other 4xx, for the item or for the request."""


class Sending(NamedTuple):
    """One item in one attempt; `status` is the item's own, None where the answer has none for it."""

    attempt: Attempt
    status: int | None

    @property
    def answer(self) -> Answer:
        """What the sender was told."""
        attempt = self.attempt
        if attempt.how != "replied" or attempt.answered is None:
            return Answer.SILENCE
        if self.status is None and attempt.statuses is not None:
            return Answer.UNSTATED
        status = attempt.status if self.status is None else self.status
        if is_accepted(self.status):
            return Answer.CONFIRMED
        if status == 200 or is_retryable(status):
            return Answer.NOT_NOW
        return Answer.REFUSED if status in {400, 413} else Answer.ENVIRONMENT


def by_item(attempts: Iterable[Attempt]) -> Mapping[int, Sequence[Sending]]:
    """Return the sendings of each item by the number of its token, in the order of the attempts."""
    sendings: dict[int, list[Sending]] = defaultdict(list)
    for attempt in attempts:
        for token, status in attempt.items():
            if token is not None:
                sendings[token].append(Sending(attempt, status))
    return sendings
