"""Reads the lines of examples into a history: ``seconds what happened``, one small function for each kind of line.

``from to until every step: what happened`` stands for a line at each of these times, the last one left out.

The kinds stand in modules of their own, ``telling_*.py``, each with a table ``KINDS`` of patterns and readers.
"""

from __future__ import annotations

import re
from collections.abc import Container, Iterable, Iterator

from isolane.conformance.requirements import requirement
from isolane.conformance.selftest.conformance import (
    telling_faults,
    telling_flow,
    telling_kafka,
    telling_measures,
    telling_members,
    telling_operation,
    telling_records,
    telling_refusals,
)
from isolane.conformance.selftest.conformance.builders import Story, story
from isolane.conformance.selftest.conformance.telling_kinds import TENANTS, Kinds, Telling

KINDS: Kinds = {
    **telling_records.KINDS,
    **telling_members.KINDS,
    **telling_flow.KINDS,
    **telling_faults.KINDS,
    **telling_measures.KINDS,
    **telling_operation.KINDS,
    **telling_refusals.KINDS,
    **telling_kafka.KINDS,
}
"""Every kind of line: its pattern, which the whole of a line's words must match, and its reader."""

_NAMED = re.compile(r"\b(\w)(?:/\d|'s cluster)")
_RANGE = re.compile(r"(?P<began>\S+) to (?P<ended>\S+) every (?P<step>\S+): (?P<what>.*)")


def told(lines: Iterable[str], identifier: str) -> Story:
    """The history that lines of an example of a requirement tell, of one that claims the requirement's feature.

    Raises:
        AssertionError: A line is of no kind, or of two.
    """
    lines = list(lines)
    made = story(healthy=len(TENANTS), judges=(identifier,))
    _keep_only(made, {TENANTS[letter] for line in lines for letter in _NAMED.findall(line) if letter in TENANTS})
    made.meta["features"] = {feature: True for feature in [requirement(identifier).feature] if feature}
    made.meta["dead_letter"] = {"kind": "kafka", "undecodable": "dead_letter"}
    telling = Telling(made)
    for line in lines:
        for at, what in _moments(line):
            readings = [(read, said) for kind, read in KINDS.items() if (said := kind.fullmatch(what))]
            assert len(readings) == 1, f"kinds of line that read {line!r}: {len(readings)}"
            for read, said in readings:
                read(telling, at, said)
    return made


def _moments(line: str) -> Iterator[tuple[float, str]]:
    """Yield what a line says happened, each time that it did."""
    if said := _RANGE.fullmatch(line):
        began, ended, step = float(said["began"]), float(said["ended"]), float(said["step"])
        yield from ((began + number * step, said["what"]) for number in range(round((ended - began) / step)))
    else:
        at, what = line.split(" ", 1)
        yield float(at), what


def _keep_only(made: Story, tenants: Container[str]) -> None:
    """Leave out of a story those tenants, and their topics, of which nothing is told."""
    made.meta["topics"] = [topic for topic in made.meta["topics"] if topic["tenant"] in tenants]
    made.meta["tenants"] = [
        {**tenant, "topics": [made.topic(tenant["name"])]}
        for tenant in made.meta["tenants"]
        if tenant["name"] in tenants
    ]
