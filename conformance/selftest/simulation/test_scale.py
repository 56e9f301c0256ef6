"""Many tenants and partitions in one process."""

from __future__ import annotations

import pytest

from isolane.conformance.simulation.scale import measure


def test_idle_tenants_cost_a_grant_nothing() -> None:
    """Ten times as many tenants, nine tenths of them idle: the same grants for the same calls of functions."""
    few, many = measure(10, 2, busy=10, records=20), measure(100, 2, busy=10, records=20)
    assert many.grants == few.grants
    assert many.calls == pytest.approx(few.calls, rel=0.01)
    assert few.fairness > 0.9


@pytest.mark.nightly
def test_two_thousand_tenants() -> None:
    """Of whom twenty are busy: a grant costs what it costs among twenty; and with all busy, all get the same."""
    few, many = measure(20, 5, busy=20, records=40), measure(2000, 5, busy=20, records=40)
    assert many.grants == few.grants
    assert many.calls == pytest.approx(few.calls, rel=0.01)
    assert many.fairness > 0.95
    assert measure(2000, 5, busy=2000, records=1).fairness > 0.95
