"""Many tenants and partitions in one process."""

from __future__ import annotations

import pytest

from isolane.conformance.simulation.scale import measure


def test_idle_tenants_cost_a_grant_nothing() -> None:
    """Ten times as many tenants, nine tenths of them idle: the same grants, as fair, for the same calls."""
    few, many = measure(10, 2, busy=10, records=20), measure(100, 2, busy=10, records=20)
    assert (many.grants, many.fairness) == (few.grants, few.fairness)
    assert many.calls == pytest.approx(few.calls, rel=0.01)


@pytest.mark.nightly
def test_two_thousand_tenants() -> None:
    """With ten thousand partitions, and twenty tenants busy, a grant costs what it costs among twenty."""
    few, many = measure(20, 5, busy=20, records=40), measure(2000, 5, busy=20, records=40)
    assert (many.grants, many.fairness) == (few.grants, few.fairness)
    assert many.calls == pytest.approx(few.calls, rel=0.01)
