"""Reads the lines of examples into a history: ``seconds what happened``, one small function for each kind of line.

The kinds stand in modules of their own, ``telling_*.py``, each with a table ``KINDS`` of patterns and readers.
"""

from __future__ import annotations

from collections.abc import Iterable

from isolane.conformance.requirements import requirement
from isolane.conformance.selftest.conformance import telling_members, telling_records
from isolane.conformance.selftest.conformance.builders import Story, story
from isolane.conformance.selftest.conformance.telling_kinds import Kinds, Telling

KINDS: Kinds = {
    **telling_records.KINDS,
    **telling_members.KINDS,
}
"""Every kind of line: its pattern, which the whole of a line's words must match, and its reader."""


def told(lines: Iterable[str], identifier: str) -> Story:
    """The history that lines of an example of a requirement tell, of one that claims the requirement's feature.

    Raises:
        AssertionError: A line is of no kind, or of two.
    """
    made = story(judges=(identifier,))
    made.meta["features"] = {feature: True for feature in [requirement(identifier).feature] if feature}
    made.meta["dead_letter"] = {"kind": "kafka", "undecodable": "dead_letter"}
    telling = Telling(made)
    for line in lines:
        at, what = line.split(" ", 1)
        readings = [(read, said) for kind, read in KINDS.items() if (said := kind.fullmatch(what))]
        assert len(readings) == 1, f"kinds of line that read {line!r}: {len(readings)}"
        for read, said in readings:
            read(telling, float(at), said)
    return made
