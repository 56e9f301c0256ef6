"""What the tests of the reference share."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from isolane.reference.runtime import Runtime

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture
def runtime() -> Iterator[Runtime]:
    """A runtime whose threads must not crash."""
    crashes: list[tuple[str, Exception]] = []
    yield Runtime(lambda thread, error: crashes.append((thread, error)), seed=1)
    assert not crashes
