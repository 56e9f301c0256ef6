"""The implementation's own words: lines of its output that name a record, and what it complained of most."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable

from isolane.conformance.history import History
from isolane.conformance.history_values import Produced

MOST = 5
"""Lines, or kinds of complaints, that are quoted."""

LONGEST = 600
"""Characters of a line that are quoted."""

_COMPLAINT = re.compile(r"\b(warn|warning|error|err|critical|fatal|panic|exception|traceback)\b", re.IGNORECASE)
_VARIABLE = re.compile(r"\w*\d\w*")
_ALIKE = 120
"""Characters in which two complaints are the same but for their numbers when they are of one kind."""


def naming(history: History, record: Produced) -> tuple[str, ...]:
    """Return the lines of the output that name a record: its token, or its topic, partition and offset.

    A list of partitions in brackets, as of an assignment, names no offset.
    """
    topic, partition, offset = history.topic(record.topic), record.partition, record.offset
    place = re.compile(
        rf"{re.escape(topic)}(?!\W?\[{partition}[\s,])\W{{1,2}}{partition}\W{{1,2}}{offset}\b"
        rf"|(?=.*\bpartition\W{{0,4}}{partition}\b).*\boffset\W{{0,4}}{offset}\b",
        re.IGNORECASE,
    )
    found = (line for line in history.output if record.token in line or (topic in line and place.search(line)))
    return tuple(_short(line) for line, _ in zip(found, range(MOST), strict=False))


def complaints(history: History) -> tuple[tuple[int, str], ...]:
    """Return what the output complains of, by kind: how often, and the first such line; the most frequent first.

    Lines are of one kind when they begin alike but for their numbers.
    """
    return _kinds(line for line in history.output if _COMPLAINT.search(line))


def _kinds(lines: Iterable[str]) -> tuple[tuple[int, str], ...]:
    first: dict[str, str] = {}
    counts: Counter[str] = Counter()
    for line in lines:
        kind = _VARIABLE.sub("#", line)[:_ALIKE]
        counts[kind] += 1
        first.setdefault(kind, line)
    return tuple((count, _short(first[kind])) for kind, count in counts.most_common(MOST))


def _short(line: str) -> str:
    """Return the line; of a long one begin and end, where loggers put the message and its cause."""
    line, half = line.strip(), LONGEST // 2
    return line if len(line) <= LONGEST else f"{line[:half]} … {line[-half:]}"
