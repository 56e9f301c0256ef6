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
    """The history as far as it is told, its records by their names, and what to do once all of it is told."""

    story: Story
    records: dict[str, list[Token]] = field(default_factory=dict)
    at_last: list[Callable[[], None]] = field(default_factory=list)

    def produce(self, place: str, at: float, *, items: int = 1, kind: Kind = "data") -> str:
        """Produce a record at a place, the next one of a partition where it names no offset; its name."""
        partition, _, offset = place.partition("@")
        tenant, _, number = partition.partition("/")
        key = self.story.topic(TENANTS[tenant]), int(number)
        assert self.story.offsets[key] <= int(offset or self.story.offsets[key]), f"{place} comes too late"
        self.story.offsets[key] = int(offset or self.story.offsets[key])
        token = self.story.produce(TENANTS[tenant], at, partition=int(number), items=items, kind=kind)
        name = f"{partition}@{self.story.produced[-1]['offset']}"
        self.records[name] = [replace(token, item=item) for item in range(items)]
        return name

    def tokens(self, places: str) -> list[Token]:
        """The tokens of all items of records, which have been produced, named one after the other."""
        return [token for place in each(places) for token in self.records[place]]

    def partition(self, named: str) -> str:
        """A partition as histories have it, topic number/partition, of one named tenant/partition."""
        tenant, _, number = named.partition("/")
        return f"{self.story.topic(TENANTS[tenant])}/{number}"


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
