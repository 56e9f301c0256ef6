"""The scenario `kills` tries with an implementation what can be tried with it, with ten tenants whatever that is."""

from __future__ import annotations

import pytest

from isolane.conformance.scenarios import kills
from isolane.fixtures.cluster import Script
from isolane.fixtures.implementations import descriptor


@pytest.mark.parametrize(("name", "sick"), [("reference", 8), ("otelcol", 7)])
def test_ten_tenants_of_whom_some_are_well(name: str, sick: int) -> None:
    """Whoever puts nothing aside meets nothing that never succeeds, and has one more healthy tenant instead."""
    known = descriptor.find(name)
    roles = [tenant.role for tenant in kills.shape(known).tenants]
    assert (roles.count("sick"), roles.count("healthy")) == (sick, 10 - sick)
    condemning = [script for _, script in kills._answers(known) if 400 in script.items]
    assert bool(condemning) is (known.dead_letter.kind != "none")


def test_no_cluster_is_hopeless() -> None:
    """Each takes something of what it is sent, or in time, so that commits go on between one kill and the next."""
    for name, script in kills._answers(descriptor.find("reference")):
        assert script.when.share < 1 or 201 in script.items or script.parts.keys() <= {"latency", "jitter"}, name
        assert script != Script()


def test_sessions_are_short_and_never_longer_than_claimed() -> None:
    """A group that waits for a dead member meets no kill with anything in flight."""
    known = descriptor.find("reference")
    assert kills.adapt(known).timing.session_timeout == kills.SESSION
    brief = known.model_copy(update={"timing": known.timing.model_copy(update={"session_timeout": 1.0})})
    assert kills.adapt(brief).timing.session_timeout == 1.0
