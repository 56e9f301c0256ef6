"""The files of a history: NDJSON, one writer each, readable while they grow and after their writer has crashed."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import orjson

META = "meta.json"
PRODUCED = "produced.ndjson"
ATTEMPTS = "attempts.ndjson"
COMMITS = "commits.ndjson"
DEAD_LETTERS = "dead_letters.ndjson"
FOUND = "found.ndjson"
SAMPLES = "samples.ndjson"
SCRAPES = "scrapes.ndjson"
FETCHED = "fetched.ndjson"
EVENTS = "events.ndjson"
GROUPS = "groups.ndjson"
OUTPUT = "member-*.log"

FILES = (META, PRODUCED, ATTEMPTS, COMMITS, DEAD_LETTERS, FOUND, SAMPLES, SCRAPES, FETCHED, EVENTS, GROUPS)
"""All but the members' output, those included that not every history has."""

Line = dict[str, Any]


class HistoryError(Exception):
    """Base of what can be wrong with a stored history."""


class NotAHistoryError(HistoryError):
    """Raised for a folder that holds no history."""


class DamagedHistoryError(HistoryError):
    """Raised for a line that its writer cannot have meant; names file, line number and fault."""


class HistoryWriter:
    """Appends lines to one file of a history; any thread may call it.

    A lock keeps lines whole and in order. Each line is handed to the operating system before `write` returns, so a line
    that has been written survives the death of this process. `write` blocks for as long as the file system does.
    """

    def __init__(self, path: Path) -> None:
        """Open path for appending; its folder must exist.

        Raises:
            OSError: The file cannot be opened.
        """
        self._file = path.open("ab")
        self._lock = threading.Lock()

    def write(self, line: Mapping[str, Any]) -> None:
        """Append one line.

        Raises:
            TypeError: A value is not JSON.
            OSError: The disk is full or gone.
            ValueError: The writer was closed.
        """
        encoded = orjson.dumps(line, option=orjson.OPT_APPEND_NEWLINE)
        with self._lock:
            self._file.write(encoded)
            self._file.flush()

    def close(self) -> None:
        """Close the file; closing again does nothing."""
        with self._lock:
            self._file.close()

    def __enter__(self) -> Self:
        """Return the writer itself."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close the file."""
        self.close()


class Tail:
    """Follows a file of a history while another process writes it.

    A file that does not exist yet is an empty one. A line is seen once, and only when it is complete. For one thread.
    """

    def __init__(self, path: Path) -> None:
        """Remember the path; nothing is opened before the first poll."""
        self._path = path
        self._position = 0
        self._number = 0

    def poll(self) -> list[Line]:
        """Return the lines completed since the last poll; does not wait for any.

        Raises:
            DamagedHistoryError: A complete line is no JSON object.
            OSError: The file cannot be read.
        """
        try:
            with self._path.open("rb") as file:
                file.seek(self._position)
                data = file.read()
        except FileNotFoundError:
            return []
        complete = data[: data.rfind(b"\n") + 1]
        self._position += len(complete)
        lines = []
        for raw in complete.splitlines():
            self._number += 1
            lines.append(_parse(raw, self._path, self._number))
        return lines


def read_lines(path: Path) -> Iterator[tuple[int, Line]]:
    """Yield each line of a file with its number, from 1.

    A missing file has no lines. A last line that its writer did not finish is left out: it says nothing for certain.

    Raises:
        DamagedHistoryError: Another line is no JSON object.
        OSError: The file cannot be read.
    """
    try:
        file = path.open("rb")
    except FileNotFoundError:
        return
    with file:
        for number, raw in enumerate(file, start=1):
            if not raw.endswith(b"\n") and not _is_whole(raw):
                return
            if raw.strip():
                yield number, _parse(raw, path, number)


def _is_whole(raw: bytes) -> bool:
    try:
        return isinstance(orjson.loads(raw), dict)
    except orjson.JSONDecodeError:
        return False


def _parse(raw: bytes, path: Path, number: int) -> Line:
    try:
        line = orjson.loads(raw)
    except orjson.JSONDecodeError as error:
        raise DamagedHistoryError(f"{path}, line {number}: not JSON ({error})") from error
    if not isinstance(line, dict):
        raise DamagedHistoryError(f"{path}, line {number}: {raw.strip()[:40]!r} is not a JSON object")
    return line
