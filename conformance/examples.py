"""Examples: for some requirements a history of a few lines that passes, and one that fails."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Example:
    """Two histories, each as its lines in order of time: seconds, and what happened."""

    passes: tuple[str, ...]
    fails: tuple[str, ...]


def _load(path: Path) -> Mapping[str, Example]:
    return {
        identifier: Example(tuple(texts["passes"].split("\n")[:-1]), tuple(texts["fails"].split("\n")[:-1]))
        for identifier, texts in tomllib.loads(path.read_text()).items()
    }


EXAMPLES = _load(Path(__file__).with_suffix(".toml"))
"""The examples, by the id of the requirement."""
