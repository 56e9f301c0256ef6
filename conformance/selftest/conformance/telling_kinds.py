"""What every kind of line of an example shares: the history so far, and how records and partitions are named."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from isolane.conformance.selftest.conformance.builders import Story
from isolane.conformance.tokens import Token

TENANTS = {"a": "h0", "b": "h1", "c": "h2"}
"""The tenants of the story, by the letters that they have in examples."""

PLACES = r"\w/\d+@\d+(?: \w/\d+@\d+)*"
"""One record or several: tenant, partition and offset of each."""


@dataclass
class Telling:
    """The history as far as it is told, and its records by their names."""

    story: Story
    records: dict[str, Token] = field(default_factory=dict)

    def tokens(self, places: str) -> list[Token]:
        """The tokens of records, which have been produced, named one after the other."""
        return [self.records[place] for place in places.split(" ")]

    def partition(self, named: str) -> str:
        """A partition as histories have it, topic number/partition, of one named tenant/partition."""
        tenant, _, number = named.partition("/")
        return f"{self.story.topic(TENANTS[tenant])}/{number}"


Kinds = Mapping[re.Pattern[str], Callable[[Telling, float, re.Match[str]], None]]
"""Readers of lines by what such lines say: each adds what has happened at a time, in seconds."""
