"""Many tenants and partitions in one process."""

from __future__ import annotations

import pytest

from isolane.conformance.simulation.scale import Scale, measure


def same_grants(one: Scale, other: Scale) -> bool:
    """Whether as many slots were granted, and as evenly."""
    return one[3:-1] == other[3:-1]


def test_idle_tenants_cost_a_grant_nothing() -> None:
    """Ten times as many tenants, nine tenths of them idle: the same grants, as fair, for the same calls."""
    few, many = measure(10, 2, busy=10, records=20), measure(100, 2, busy=10, records=20)
    assert same_grants(few, many)
    assert many.calls == pytest.approx(few.calls, rel=0.01)


def test_busy_tenants_have_equal_shares() -> None:
    """However many have work, and though many attempts end in the same instant: nobody is left behind by much."""
    seen = measure(20, 5, busy=20, records=40)
    assert seen.most - seen.fewest <= 3
    assert seen.fairness > 0.99


@pytest.mark.nightly
def test_two_thousand_tenants() -> None:
    """With ten thousand partitions, and twenty tenants busy, a grant costs what it costs among twenty."""
    few, many = measure(20, 5, busy=20, records=40), measure(2000, 5, busy=20, records=40)
    assert same_grants(few, many)
    assert many.calls == pytest.approx(few.calls, rel=0.01)
