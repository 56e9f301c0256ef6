"""What the tenants' clusters saw and accepted, put together from the lines of ``attempts.ndjson``.

The same classes serve a stored history and a live run, which feeds them what a `Tail` returns.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from isolane.conformance.history_files import Line
from isolane.conformance.tokens import ITEM_BITS, number_of, run_of, topic_of

_WIDTH = 12
_NO_TOKEN = b"\xff" * _WIDTH
_CONFLICT = 409
_RETRYABLE = frozenset({408, 425, 429})


@dataclass(frozen=True, slots=True)
class Attempt:
    """One bulk request as its cluster saw it. Times are monotonic seconds.

    Attributes:
        request: The request's number, unique in the history.
        tenant: Whose cluster it arrived at.
        arrived: When its body had arrived.
        size: Bytes of its body on the wire.
        concurrent: Bulk requests of this tenant open at that moment, this one included.
        packed: The items' tokens, 12 bytes each, in order; all ones for an item in which none was found.
        answered: When the cluster decided on its answer; None while it has not.
        status: The HTTP status decided on.
        statuses: A status an item, one for all of them, or None when the answer was for the request as a whole.
        closed: When the exchange was over; None while it is not.
        how: How it ended: replied, client_gone, reset, lost (applied, reply withheld) or cut.
    """

    request: int
    tenant: str
    arrived: float
    size: int
    concurrent: int
    packed: bytes
    answered: float | None = None
    status: int | None = None
    statuses: int | tuple[int, ...] | None = None
    closed: float | None = None
    how: str | None = None

    def __len__(self) -> int:
        """Return the number of items."""
        return len(self.packed) // _WIDTH

    def tokens(self) -> Iterator[int | None]:
        """Yield the number of each item's token, None where none was found."""
        for start in range(0, len(self.packed), _WIDTH):
            part = self.packed[start : start + _WIDTH]
            yield None if part == _NO_TOKEN else int.from_bytes(part)

    def records(self) -> set[int]:
        """Return the keys of the records that the items belong to, as far as tokens were found."""
        return {token >> ITEM_BITS for token in self.tokens() if token is not None}

    def items(self) -> Iterator[tuple[int | None, int | None]]:
        """Yield each item's token number and status; None for what is not known."""
        statuses = self.statuses
        for position, token in enumerate(self.tokens()):
            if isinstance(statuses, tuple):
                yield token, statuses[position] if position < len(statuses) else None
            else:
                yield token, statuses

    def accepts(self) -> bool:
        """Return whether the answer says of any item that it was accepted."""
        return any(is_accepted(status) for _, status in self.items())

    def carries(self, record: int) -> bool:
        """Return whether any item belongs to the record with this key."""
        return record.to_bytes(10) in self.packed and any(
            token is not None and token >> ITEM_BITS == record for token in self.tokens()
        )


@dataclass(frozen=True, slots=True)
class Connection:
    """A connection that a black hole swallowed."""

    tenant: str
    at: float


class AcceptedIndex:
    """When each record was accepted by its own tenant's cluster.

    An item is accepted by the first answer that gives it a 2xx, whether or not the reply reached the client; by a real
    cluster, which tells of no answers, when it is found there. A 409 adds nothing: where the id is the item's own, an
    answer has told of it before, and where it is another's the item is not there. What another tenant's cluster took,
    or what belongs to another run, does not count.
    Memory: two numbers a record, whatever its items and attempts. Not synchronised: for one thread.
    """

    def __init__(self, run: int, owners: Mapping[int, str]) -> None:
        """Start with nothing accepted.

        Args:
            run: The number of the run.
            owners: Each owned topic's number and its tenant.
        """
        self._run = run
        self._owners = owners
        self._masks: dict[int, int] = {}
        self._times: dict[int, float] = {}

    def add(self, attempt: Attempt) -> None:
        """Take in an attempt, in the order of answers; one not answered, or answered as a whole, changes nothing."""
        if attempt.answered is None or attempt.statuses is None:
            return
        for token, status in attempt.items():
            if token is not None and is_accepted(status) and status != _CONFLICT:
                self.accept(token, attempt.tenant, attempt.answered)

    def accept(self, token: int, tenant: str, at: float) -> None:
        """Take in that a tenant's cluster has the item with this token number; what was known before stays."""
        record, bit = token >> ITEM_BITS, 1 << (token & 0xFFFF)
        mask = self._masks.get(record, 0)
        if self._is_own(token, tenant) and not mask & bit:
            self._masks[record] = mask | bit
            self._times[record] = at

    def withdraw(self, token: int, tenant: str) -> None:
        """Take in that the item with this token number is not in a tenant's cluster any more."""
        record, bit = token >> ITEM_BITS, 1 << (token & 0xFFFF)
        if self._is_own(token, tenant) and record in self._masks:
            self._masks[record] &= ~bit

    def postpone(self, record: int, at: float) -> None:
        """Take in that nothing of the record was accepted before this time."""
        if record in self._times:
            self._times[record] = max(at, self._times[record])

    def accepted_at(self, record: int, items: int) -> float:
        """Return when the last of the record's items was first accepted; infinity while any is not."""
        everything = (1 << items) - 1
        if self._masks.get(record, 0) & everything != everything:
            return math.inf
        return self._times[record]

    def progress(self, record: int) -> tuple[int, float]:
        """Return which of the record's items were accepted (a bit each), and when the last of those first was."""
        return self._masks.get(record, 0), self._times.get(record, -math.inf)

    def has_item(self, token: int) -> bool:
        """Return whether the item with this token number was accepted."""
        return bool(self._masks.get(token >> ITEM_BITS, 0) >> (token & 0xFFFF) & 1)

    def missing(self, records: Mapping[int, int]) -> dict[int, int]:
        """Return those of the records (key: number of items) that are not accepted yet; takes time linear in them."""
        return {record: items for record, items in records.items() if self.accepted_at(record, items) == math.inf}

    def _is_own(self, token: int, tenant: str) -> bool:
        record = token >> ITEM_BITS
        return run_of(record) == self._run and self._owners.get(topic_of(record)) == tenant


class Ledger:
    """The exchanges at all clusters, line by line. Not synchronised: for one thread.

    Attributes:
        attempts: Every request seen, by its number, in order of arrival.
        connections: Connections swallowed by a black hole.
        accepted: When each record was accepted.
    """

    def __init__(self, run: int, owners: Mapping[int, str]) -> None:
        """Start empty; the arguments are those of `AcceptedIndex`."""
        self.attempts: dict[int, Attempt] = {}
        self.connections: list[Connection] = []
        self.accepted = AcceptedIndex(run, owners)

    def feed(self, line: Line) -> None:
        """Take in one line of ``attempts.ndjson``.

        Lines of a kind not known here are passed over, and so is the end of a request whose arrival was never told: it
        belongs to what the cluster did before this history began.

        Raises:
            KeyError, TypeError, ValueError: The line has a known kind, and lacks what belongs to it.
        """
        match line["e"]:
            case "arrived":
                self.attempts[int(line["r"])] = Attempt(
                    int(line["r"]),
                    str(line["tenant"]),
                    float(line["at"]),
                    int(line["bytes"]),
                    int(line["open"]),
                    _pack(line["tokens"]),
                )
            case "answered" if line["r"] in self.attempts:
                answered = replace(
                    self.attempts[line["r"]],
                    answered=float(line["at"]),
                    status=int(line["status"]),
                    statuses=_statuses(line["items"]),
                )
                self.attempts[line["r"]] = answered
                self.accepted.add(answered)
            case "closed" if line["r"] in self.attempts:
                self.attempts[line["r"]] = replace(
                    self.attempts[line["r"]], closed=float(line["at"]), how=str(line["how"])
                )
            case "connected":
                self.connections.append(Connection(str(line["tenant"]), float(line["at"])))


def is_accepted(status: int | None) -> bool:
    """Return whether an item's status says that the cluster holds it."""
    return status is not None and (200 <= status < 300 or status == _CONFLICT)


def is_retryable(status: int | None) -> bool:
    """Return whether a status, of an item or of a request, says that the same may succeed later."""
    return status is not None and (status in _RETRYABLE or status >= 500)


def _statuses(items: list[int] | int | None) -> tuple[int, ...] | int | None:
    return items if items is None else tuple(map(int, items)) if isinstance(items, list) else int(items)


def _pack(tokens: list[str | None]) -> bytes:
    return b"".join(_NO_TOKEN if token is None else number_of(token).to_bytes(_WIDTH) for token in tokens)
