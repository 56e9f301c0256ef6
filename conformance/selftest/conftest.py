"""What the tests of all parts share."""

from __future__ import annotations

import gc
import logging
from collections.abc import Iterator

import pytest


@pytest.fixture
def refused_connections(caplog: pytest.LogCaptureFixture) -> Iterator[None]:
    """Collects the sockets of connections that failed, which kafka-python leaves to the garbage collector.

    They hang on the exceptions that it logs, so that these must not be kept either.
    """
    caplog.set_level(logging.CRITICAL, "kafka")
    yield
    gc.collect()
