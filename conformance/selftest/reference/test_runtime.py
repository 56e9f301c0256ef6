"""Threads that end with an exception, delays, and what is told."""

from __future__ import annotations

import logging

import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from isolane.reference import log
from isolane.reference.backoff import Backoff
from isolane.reference.config import Retry
from isolane.reference.runtime import Runtime


def test_an_exception_that_ends_a_thread_is_a_crash() -> None:
    """No thread ends unseen: the program is told which one, and why."""
    crashes: list[tuple[str, Exception]] = []
    error = ValueError("why")

    def fail() -> None:
        raise error

    Runtime(lambda *crash: crashes.append(crash)).spawn("worker", fail).join(10)
    assert crashes == [("worker", error)]


@settings(deadline=None)
@given(failures=st.integers(1, 2000), chance=st.floats(0, 1, exclude_max=True), jitter=st.floats(0, 1))
def test_delays_double_up_to_a_bound_and_are_spread(failures: int, chance: float, jitter: float) -> None:
    """DEL-7: after any number of failures the delay is the doubled one, shortened by a random part of the jitter."""
    retry = Retry.model_validate({"initial_interval": "200ms", "max_interval": "30s", "jitter": jitter})
    full = min(30.0, 0.2 * 2 ** min(failures - 1, 30))
    delay = Backoff(retry, lambda: chance).delay(failures)
    assert delay == pytest.approx(full * (1 - jitter * chance))
    assert Backoff(retry, lambda: chance).delay(failures, at_least=60.0) == 60.0


def test_an_event_is_one_line_of_json(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """What happens is told on standard error, an event a line, with what belongs to it, traces included."""
    monkeypatch.setattr(logging.getLogger(), "handlers", [])
    log.set_up()
    log.info("assigned", partitions=["a/0"])
    log.crash("crashed", ValueError("line\nbreak"), thread="receiver")
    first, second = (orjson.loads(line) for line in capsys.readouterr().err.splitlines())
    assert (first["level"], first["event"], first["partitions"]) == ("info", "assigned", ["a/0"])
    assert (second["level"], second["event"], second["error"]) == ("critical", "crashed", "line\nbreak")
    assert second["trace"].startswith("ValueError")
