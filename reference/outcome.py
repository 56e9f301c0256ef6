"""What a cluster said to one attempt: the contract between the exporter and those who decide what comes next."""

from __future__ import annotations

import enum
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence


class Outcome(enum.Enum):
    """What became of one document, or of a request as a whole."""

    ACCEPTED = "accepted"
    """The cluster confirmed it: 2xx, or 409 for the document's own id."""

    RETRYABLE = "retryable"
    """Later it may succeed: 408, 425, 429, 5xx, a deadline, a broken connection, a reply that is nonsense (DEL-2)."""

    ENVIRONMENT = "environment"
    """Not the document is at fault but what surrounds it: 401, 403, 404, 405 (DEL-5)."""

    CONDEMNED = "condemned"
    """The document can never succeed: 400 for the item, 413 for it alone (DEL-4)."""

    TOO_LARGE = "too_large"
    """The request as a whole was refused, 413 or 400: split it until the culprit stands alone (DEL-4)."""


@dataclass(frozen=True, slots=True)
class Reply:
    """What came of one attempt.

    Attributes:
        request: The outcome of the request as a whole, which holds for every document; None when each has its own.
        items: One outcome a document, in order; empty when `request` is given.
        retry_after: Seconds that the cluster asked to wait; None when it did not.
        reason: The first failure in words, without secrets; empty when there was none.
    """

    request: Outcome | None
    items: Sequence[Outcome] = ()
    retry_after: float | None = None
    reason: str = ""
