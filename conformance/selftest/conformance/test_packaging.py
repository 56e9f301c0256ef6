"""Packaging: what is in the repository is in the distribution."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[3]
TOPS = ("reference", "fixtures", "conformance", "chaos")


@pytest.fixture
def project() -> dict[str, Any]:
    """The content of pyproject.toml."""
    return tomllib.loads((ROOT / "pyproject.toml").read_text())


def test_every_package_is_listed(project: dict[str, Any]) -> None:
    """The list names each package: setuptools finds none by itself below a mapped folder.

    A folder with nothing but data is one to Python, too, where its name can be imported; builds warn of one left out.
    """
    folders = {path.parent.relative_to(ROOT) for top in TOPS for path in (ROOT / top).glob("**/__init__.py")}
    folders |= {path.parent.relative_to(ROOT) for path in data_files()}
    found = {".".join(("isolane", *folder.parts)) for folder in folders if all(map(str.isidentifier, folder.parts))}
    assert set(project["tool"]["setuptools"]["packages"]) == found


def test_every_data_file_is_listed(project: dict[str, Any]) -> None:
    """A file beside the code that is neither Python nor Markdown matches a pattern of the package data."""
    patterns = [each for group in project["tool"]["setuptools"]["package-data"].values() for each in group]
    unlisted = [path for path in data_files() if not any(path.match(pattern) for pattern in patterns)]
    assert unlisted == []


def data_files() -> list[Path]:
    """What lies beside the code and is neither Python nor Markdown."""
    return [
        path
        for top in TOPS
        for path in (ROOT / top).glob("**/*")
        if path.is_file() and path.suffix not in {".py", ".pyc", ".md"} and "__pycache__" not in path.parts
    ]
