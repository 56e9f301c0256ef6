"""Packaging: what is in the repository is in the distribution."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[3]


@pytest.fixture
def project() -> dict[str, Any]:
    """The content of pyproject.toml."""
    return tomllib.loads((ROOT / "pyproject.toml").read_text())


def test_every_package_is_listed(project: dict[str, Any]) -> None:
    """The list names each package: setuptools finds none by itself below a mapped folder."""
    found = {
        ".".join(("isolane", *init.parent.relative_to(ROOT).parts))
        for top in ("reference", "fixtures", "conformance", "chaos")
        for init in (ROOT / top).glob("**/__init__.py")
    }
    assert set(project["tool"]["setuptools"]["packages"]) == found


def test_every_data_file_is_listed(project: dict[str, Any]) -> None:
    """A file beside the code that is neither Python nor Markdown matches a pattern of the package data."""
    patterns = [each for group in project["tool"]["setuptools"]["package-data"].values() for each in group]
    data = [
        path
        for top in ("reference", "fixtures", "conformance", "chaos")
        for path in (ROOT / top).glob("**/*")
        if path.is_file() and path.suffix not in {".py", ".pyc", ".md"} and "__pycache__" not in path.parts
    ]
    unlisted = [path for path in data if not any(path.match(pattern) for pattern in patterns)]
    assert unlisted == []
