"""The observer of dead letters: what was put aside, and when it can have been there at the earliest."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import orjson

from isolane.conformance.broker import UnreadableError
from isolane.conformance.history_files import HistoryWriter
from isolane.conformance.reader import Reader
from isolane.conformance.tokens import find
from isolane.fixtures.implementations.descriptor import DeadLetter, DeadLetterHeaders


@dataclass(frozen=True, slots=True)
class Letter:
    """A dead letter as it was found: all its bytes, and its fields by name (a header, or a field of JSON)."""

    content: bytes
    fields: Mapping[str, bytes]


class Source(Protocol):
    """A place where dead letters go."""

    def read(self) -> Iterable[Letter]:
        """Return everything that is there now and was not returned before.

        Raises:
            UnreadableError: It cannot be read now; nothing is lost.
        """


def letter_topics(letters: DeadLetter, topics: Iterable[str]) -> frozenset[str]:
    """Return the names of the topics that dead letters of these topics go to; none where they go elsewhere."""
    if letters.kind != "kafka" or letters.where is None:
        return frozenset()
    return frozenset(letters.where.replace("{topic}", topic) for topic in topics)


@contextmanager
def source_of(letters: DeadLetter, bootstrap: str, topics: frozenset[str], folder: Path) -> Iterator[Source | None]:
    """The place that a descriptor names; None where there is none, or the ledger sees it already (an index).

    Args:
        letters: What the descriptor says.
        bootstrap: Kafka's address.
        topics: Those that dead letters go to.
        folder: The scenario's, where files lie.
    """
    if topics:
        reader = Reader(bootstrap)
        try:
            yield _TopicSource(reader, topics)
        finally:
            reader.close()
    elif letters.kind == "file" and letters.where is not None:
        yield _FileSource(folder / letters.where)
    else:
        yield None


class _TopicSource:
    def __init__(self, reader: Reader, topics: frozenset[str]) -> None:
        self._reader, self._topics = reader, topics

    def read(self) -> Iterable[Letter]:
        return [Letter(message.value or b"", message.headers) for message in self._reader.read(self._topics)]


class _FileSource:
    def __init__(self, path: Path) -> None:
        self._path, self._position = path, 0

    def read(self) -> Iterable[Letter]:
        try:
            with self._path.open("rb") as file:
                file.seek(self._position)
                data = file.read()
        except FileNotFoundError:
            return []
        except OSError as error:
            raise UnreadableError(f"{self._path}: {error.strerror}") from error
        complete = data[: data.rfind(b"\n") + 1]
        self._position += len(complete)
        return [Letter(line, _fields(line)) for line in complete.splitlines()]


class LetterObserver:
    """Writes each dead letter to the history once, with the time of the last reading that did not find it yet."""

    def __init__(
        self, source: Source, names: DeadLetterHeaders, topics: Mapping[str, int], letters: HistoryWriter
    ) -> None:
        """Observe `source`, whose letters have these names for their fields; `topics` numbers the topics by name."""
        self._source, self._names, self._topics, self._letters = source, names, topics, letters
        self._before = time.monotonic()

    def read(self) -> None:
        """Read once.

        Raises:
            UnreadableError: They cannot be read now.
        """
        began = time.monotonic()
        for letter in self._source.read():
            self._letters.write({"at": self._before, "seen": time.monotonic(), **self._described(letter)})
        self._before = began

    def _described(self, letter: Letter) -> dict[str, object]:
        fields, names = letter.fields, self._names
        return {
            "topic": self._topics.get(fields.get(names.topic, b"").decode(errors="replace")),
            "partition": _number(fields.get(names.partition)),
            "offset": _number(fields.get(names.offset)),
            "reason": fields.get(names.reason, b"").decode(errors="replace"),
            "tokens": list(dict.fromkeys(map(str, find(letter.content)))),
        }


def _number(raw: bytes | None) -> int | None:
    """Return a number that is written as digits, or as a big-endian integer of four or eight bytes."""
    if raw is None:
        return None
    if raw.isdigit():
        return int(raw)
    return int.from_bytes(raw) if len(raw) in {4, 8} else None


def _fields(line: bytes) -> dict[str, bytes]:
    try:
        content = orjson.loads(line)
    except orjson.JSONDecodeError:
        return {}
    return {name: str(value).encode() for name, value in content.items()} if isinstance(content, dict) else {}
