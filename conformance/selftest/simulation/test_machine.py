"""The reference in simulated worlds that Hypothesis chooses."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, settings
from hypothesis.stateful import run_state_machine_as_test

from isolane.conformance.selftest.simulation.machine import Life

_SLOW = [HealthCheck.too_slow, HealthCheck.filter_too_much, HealthCheck.data_too_large]

settings.register_profile(
    "pr",
    derandomize=True,
    database=None,
    max_examples=25,
    stateful_step_count=15,
    deadline=None,
    suppress_health_check=_SLOW,
)
settings.register_profile(
    "nightly",
    max_examples=2000,
    stateful_step_count=40,
    deadline=None,
    print_blob=True,
    suppress_health_check=_SLOW,
)


def test_life() -> None:
    """The same few worlds each time: no rule is broken."""
    run_state_machine_as_test(Life, settings=settings.get_profile("pr"))


@pytest.mark.nightly
def test_long_life() -> None:
    """Many worlds, other ones each night; what failed is kept, and printed as a blob."""
    run_state_machine_as_test(Life, settings=settings.get_profile("nightly"))
