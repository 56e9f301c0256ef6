"""What every kind of line of an example shares: the history so far, and how records and partitions are named."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace

from isolane.conformance.history_values import Kind
from isolane.conformance.selftest.conformance.builders import Story
from isolane.conformance.tokens import Token

TENANTS = {"a": "h0", "b": "h1", "c": "h2"}
"""The tenants of the story, by the letters that they have in examples."""

PLACES = r"\w/\d+@\d+(?: (?:to )?\w/\d+@\d+)*"
"""One record or several: tenant, partition and offset of each; with ``to`` between two, all from one to the other."""

SIZE = r"(?P<size>\d+) (?P<unit>bytes|MiB)"
"""A number of bytes."""


@dataclass
class Telling:
    """The history as far as it is told, its records by name, and, by letter, topics that are not a tenant's first."""

    story: Story
    records: dict[str, list[Token]] = field(default_factory=dict)
    topics: dict[str, int] = field(default_factory=dict)

    def topic(self, letter: str) -> int:
        """The number of a topic: of its own letter, or of its tenant's."""
        return self.topics[letter] if letter in self.topics else self.story.topic(TENANTS[letter])

    def add_topic(self, letter: str, name: str, tenant: str | None) -> int:
        """Give a letter to one more topic; its number."""
        self.topics[letter] = len(self.story.meta["topics"])
        self.story.meta["topics"].append({"name": name, "tenant": tenant, "partitions": 1})
        return self.topics[letter]

    def produce(self, place: str, at: float, *, items: int = 1, kind: Kind = "data") -> str:
        """Produce a record at a place, the next one of a partition where it names no offset; its name."""
        partition, _, offset = place.partition("@")
        letter, _, number = partition.partition("/")
        key = self.topic(letter), int(number)
        assert self.story.offsets[key] <= int(offset or self.story.offsets[key]), f"{place} comes too late"
        self.story.offsets[key] = int(offset or self.story.offsets[key])
        token = self.story.produce_to(*key, at, items=items, kind=kind)
        name = f"{partition}@{self.story.produced[-1]['offset']}"
        self.records[name] = [replace(token, item=item) for item in range(items)]
        return name

    def tokens(self, places: str) -> list[Token]:
        """The tokens of all items of records, which have been produced, named one after the other."""
        return [token for place in each(places) for token in self.records[place]]

    def partition(self, named: str) -> str:
        """A partition as histories have it, topic number/partition, of one named tenant/partition."""
        letter, _, number = named.partition("/")
        return f"{self.topic(letter)}/{number}"


def each(places: str) -> Iterator[str]:
    """Yield the name of every record of `PLACES`."""
    for names in re.sub(" to ", "-", places).split(" "):
        first, _, last = names.partition("-")
        partition, _, offset = first.partition("@")
        for number in range(int(offset), int((last or first).rpartition("@")[2]) + 1):
            yield f"{partition}@{number}"


def bytes_of(said: re.Match[str]) -> int:
    """The bytes that a line with one `SIZE` in it says."""
    return int(said["size"]) * (1024**2 if said["unit"] == "MiB" else 1)


Kinds = Mapping[re.Pattern[str], Callable[[Telling, float, re.Match[str]], None]]
"""Readers of lines by what such lines say: each adds what has happened at a time, in seconds."""
