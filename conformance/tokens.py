"""Tokens: the mark an item carries from Kafka to its tenant's cluster, whatever document it becomes on the way.

A token is ``isotok`` and 24 lower-case hexadecimal digits: run (4), topic number (4), partition (4), sequence within
the partition (8), item within the record (4). It holds no character that JSON, a URL or a log line would escape, so it
is found again as a byte pattern.

Where many are kept, a token is its *number*, the 96-bit integer its digits spell. The number without its last field is
the *record key*: it names the Kafka record that all its items share.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

PREFIX = "isotok"
PATTERN = re.compile(rb"isotok([0-9a-f]{24})")

ITEM_BITS = 16
_SEQUENCE_BITS = 32
_LIMITS = {"run": 0xFFFF, "topic": 0xFFFF, "partition": 0xFFFF, "sequence": 0xFFFFFFFF, "item": 0xFFFF}


class NotATokenError(ValueError):
    """Raised for text that is no token."""


class TokenRangeError(ValueError):
    """Raised for a field that has no room in a token."""


@dataclass(frozen=True, slots=True, order=True)
class Token:
    """The name of one item: a log record, a data point, a span, or a flat JSON record as a whole.

    Attributes:
        run: The run's own number, so that leftovers of an earlier run are told apart.
        topic: The topic's index in the scenario's list of topics.
        partition: The partition the record was produced to.
        sequence: The record's place among those produced to that partition, from 0.
        item: The item's place within the record, from 0.
    """

    run: int
    topic: int
    partition: int
    sequence: int
    item: int = 0

    def __post_init__(self) -> None:
        """Refuse a field that would spill into its neighbour.

        Raises:
            TokenRangeError: It names the field, the value and what is allowed.
        """
        for field, limit in _LIMITS.items():
            value = getattr(self, field)
            if not 0 <= value <= limit:
                raise TokenRangeError(f"token field {field} is {value}; allowed are 0 to {limit}")

    @classmethod
    def parse(cls, text: str | bytes) -> Token:
        """Read one token from exactly its 30 characters.

        Raises:
            NotATokenError: The text has another shape.
        """
        raw = text.encode() if isinstance(text, str) else text
        match = PATTERN.fullmatch(raw)
        if match is None:
            raise NotATokenError(f"{text!r} is no token; a token is {PREFIX} and 24 lower-case hexadecimal digits")
        return cls.from_number(int(match[1], 16))

    @classmethod
    def from_number(cls, number: int) -> Token:
        """Return the token with this number."""
        return cls(
            run=number >> 80,
            topic=topic_of(number >> ITEM_BITS),
            partition=partition_of(number >> ITEM_BITS),
            sequence=number >> ITEM_BITS & 0xFFFFFFFF,
            item=number & 0xFFFF,
        )

    @classmethod
    def of_record(cls, record: int) -> Token:
        """Return the token of item 0 of the record with this key."""
        return cls.from_number(record << ITEM_BITS)

    @property
    def number(self) -> int:
        """The 96-bit integer that the digits spell."""
        return self.record << ITEM_BITS | self.item

    @property
    def record(self) -> int:
        """The key of the record this item belongs to: the number without the item."""
        return (self.run << 32 | self.topic << 16 | self.partition) << _SEQUENCE_BITS | self.sequence

    def encode(self) -> bytes:
        """Return the 30 ASCII bytes to put into a payload."""
        return str(self).encode()

    def __str__(self) -> str:
        """Return the 30 characters."""
        return f"{PREFIX}{self.number:024x}"


def find(data: bytes) -> Iterator[Token]:
    """Yield every token in data, in order, repetitions included."""
    for match in PATTERN.finditer(data):
        yield Token.from_number(int(match[1], 16))


def number_of(text: str) -> int:
    """Return the number of a token known to be well formed, without the cost of taking it apart.

    Raises:
        ValueError: What follows the prefix is not hexadecimal.
    """
    return int(text[len(PREFIX) :], 16)


def run_of(record: int) -> int:
    """Return the run's number from a record key."""
    return record >> 64


def topic_of(record: int) -> int:
    """Return the topic number from a record key."""
    return record >> 48 & 0xFFFF


def partition_of(record: int) -> int:
    """Return the partition from a record key."""
    return record >> 32 & 0xFFFF
