"""What the tests of all parts share."""

from __future__ import annotations

import gc
import logging
import warnings
from collections.abc import Iterator

import pytest


@pytest.fixture
def refused_connections(caplog: pytest.LogCaptureFixture) -> Iterator[None]:
    """Lets a test in which connections to Kafka fail be the one that fails when a client leaves a socket open.

    kafka-python would leave them to the garbage collector: what others have left is collected before. They hang on
    exceptions, so that no log may keep these.
    """
    gc.collect()
    caplog.set_level(logging.CRITICAL, "kafka")
    yield
    with warnings.catch_warnings():
        warnings.simplefilter("error", ResourceWarning)
        gc.collect()
