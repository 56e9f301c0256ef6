"""The implementation's own words: lines of its output that name a record, and what it complained of most."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence

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
_BETWEEN = r"(?:\W{1,2}|\W{0,3}@\W?|\W{1,3}(?:at\W)?offset\W{1,4})"
"""What stands between a partition and an offset, behind their topic."""


def naming(history: History, record: Produced) -> tuple[str, ...]:
    """Return the first lines of the output that name a record: its token, or its topic, partition and offset."""
    return tuple(_short(line) for line, _ in zip(_naming(history, record, history.output), range(MOST), strict=False))


def telling_apart(history: History, records: Sequence[Produced], others: Sequence[Produced]) -> Mapping[int, str]:
    """Return a line of the output that names each of the records, by its key, where there is one that tells it apart.

    No line does of which there are others, alike but for their numbers, that name one of the others: such lines are
    written of every record, as in a log of commits.
    """
    lines = {record.record: list(_naming(history, record, history.output)) for record in records}
    known = {line for named in lines.values() for line in named}
    kinds = {_alike(line) for line in known}
    further = [line for line in history.output if line not in known and _alike(line) in kinds] if known else []
    usual = {_alike(line) for record in others for line in _naming(history, record, further)}
    apart = {key: [line for line in named if _alike(line) not in usual] for key, named in lines.items()}
    return {key: named[0] for key, named in apart.items() if named}


def _naming(history: History, record: Produced, lines: Iterable[str]) -> Iterator[str]:
    """Yield the lines that name a record. A list of partitions in brackets, as of an assignment, names no offset."""
    topic, partition, offset = history.topic(record.topic), record.partition, record.offset
    place = re.compile(
        rf"{re.escape(topic)}(?!\W?\[{partition}[\s,])\W{{1,2}}{partition}{_BETWEEN}{offset}\b"
        rf"|(?=.*\bpartition\W{{0,4}}{partition}\b).*\boffset\W{{0,4}}{offset}\b",
        re.IGNORECASE,
    )
    return (line for line in lines if record.token in line or (topic in line and place.search(line)))


def complaints(history: History) -> tuple[tuple[int, str], ...]:
    """Return what the output complains of, by kind: how often, and the first such line; the most frequent first.

    Lines are of one kind when they begin alike but for their numbers.
    """
    return _kinds(line for line in history.output if _COMPLAINT.search(line))


def _kinds(lines: Iterable[str]) -> tuple[tuple[int, str], ...]:
    first: dict[str, str] = {}
    counts: Counter[str] = Counter()
    for line in lines:
        kind = _alike(line)[:_ALIKE]
        counts[kind] += 1
        first.setdefault(kind, line)
    return tuple((count, _short(first[kind])) for kind, count in counts.most_common(MOST))


def _alike(line: str) -> str:
    return _VARIABLE.sub("#", line)


def _short(line: str) -> str:
    """Return the line; of a long one begin and end, where loggers put the message and its cause."""
    line, half = line.strip(), LONGEST // 2
    return line if len(line) <= LONGEST else f"{line[:half]} … {line[-half:]}"
