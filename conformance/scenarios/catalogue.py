"""Every scenario, in the order in which they are run."""

from __future__ import annotations

from collections.abc import Collection

from isolane.conformance.depth import DEPTHS
from isolane.conformance.requirements import CATALOGUE
from isolane.conformance.scenarios import (
    crash,
    cycles,
    idle_tenants,
    isolation,
    kills,
    limiter,
    long_sick,
    many_sick,
    membership,
    memory,
    nodes,
    one_sick,
    operation,
    outcomes,
    ownership,
    records,
    stalled,
)
from isolane.conformance.scenarios.model import Scenario

SCENARIOS: tuple[Scenario, ...] = (
    isolation.SCENARIO,
    one_sick.SCENARIO,
    long_sick.SCENARIO,
    many_sick.SCENARIO,
    limiter.SCENARIO,
    memory.SCENARIO,
    memory.WIDE,
    memory.LONG,
    crash.SCENARIO,
    kills.SCENARIO,
    outcomes.SCENARIO,
    records.SCENARIO,
    ownership.SCENARIO,
    membership.SCENARIO,
    cycles.SCENARIO,
    stalled.SCENARIO,
    operation.SCENARIO,
    idle_tenants.SCENARIO,
    nodes.SCENARIO,
)


def judging(ids: Collection[str], depths: Collection[str] = DEPTHS) -> tuple[Scenario, ...]:
    """The scenarios of any of these depths that declare to judge any of these requirements.

    Of a profile all of which is asked for, those are enough that are for it.
    """
    profiles, single = CATALOGUE.split(ids)
    return tuple(
        each
        for each in SCENARIOS
        if set(depths) & set(each.depths)
        and (set(single) & set(each.judges) or (set(profiles) & each.profiles and set(ids) & set(each.judges)))
    )
