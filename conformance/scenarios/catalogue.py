"""Every scenario, in the order in which they are run."""

from __future__ import annotations

from isolane.conformance.scenarios import crash, isolation
from isolane.conformance.scenarios.model import Scenario

SCENARIOS: tuple[Scenario, ...] = (isolation.SCENARIO, crash.SCENARIO)


def judging(ids: frozenset[str]) -> tuple[Scenario, ...]:
    """The scenarios that declare to judge any of these requirements."""
    return tuple(scenario for scenario in SCENARIOS if ids & set(scenario.judges))
