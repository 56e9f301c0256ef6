"""The seal of a history: what its files were when the scenario was over, so that damage is seen and never judged.

A file that was lost or cut short afterwards would look like records that were never produced, sent or accepted, and
turn red into green, or green into red.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from isolane.conformance.history_files import FILES, OUTPUT, DamagedHistoryError

SEAL = "seal.json"


class _File(BaseModel):
    """One file: its size in bytes, and the SHA-256 of its content, hexadecimal."""

    model_config = ConfigDict(frozen=True)

    bytes: Annotated[int, Field(ge=0)]
    sha256: str


class _Seal(BaseModel):
    model_config = ConfigDict(frozen=True)

    version: Annotated[Literal[1], Field(alias="schema")] = 1
    files: dict[str, _File]


def write(folder: Path) -> None:
    """Seal the history in a folder: nothing writes to its files any more.

    Raises:
        OSError: A file cannot be read, or the seal not be written.
    """
    seal = _Seal(files={path.name: _file(path) for path in _present(folder)})
    (folder / SEAL).write_text(seal.model_dump_json(by_alias=True, indent=2) + "\n", encoding="utf-8")


def check(folder: Path) -> None:
    """See that the files are what they were when the history was sealed; of one that never was, nothing is known.

    Raises:
        DamagedHistoryError: One is missing or has changed, or one came later; or the seal itself cannot be read.
    """
    path = folder / SEAL
    if not path.exists():
        return
    try:
        files = _Seal.model_validate_json(path.read_bytes()).files
    except (OSError, ValidationError) as error:
        raise DamagedHistoryError(f"{path}: no seal of a history can be read from it") from error
    for name, sealed in files.items():
        _compare(folder / name, sealed)
    for present in _present(folder):
        if present.name not in files:
            raise DamagedHistoryError(f"{present}: it was not there when the run ended")


def _compare(path: Path, sealed: _File) -> None:
    before = f"it had {sealed.bytes:,} bytes when the run ended"
    try:
        found = _file(path)
    except OSError as error:
        raise DamagedHistoryError(f"{path}: {error.strerror}; {before}") from error
    if found.bytes != sealed.bytes:
        raise DamagedHistoryError(f"{path}: it has {found.bytes:,} bytes; {before}")
    if found != sealed:
        raise DamagedHistoryError(f"{path}: its content has changed since the run ended")


def _present(folder: Path) -> Iterator[Path]:
    yield from (folder / name for name in FILES if (folder / name).exists())
    yield from sorted(folder.glob(OUTPUT))


def _file(path: Path) -> _File:
    with path.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
        return _File(bytes=file.tell(), sha256=digest)
