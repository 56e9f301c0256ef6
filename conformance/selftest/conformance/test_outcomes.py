"""The scenario `outcomes` tries with an implementation what can be tried with it, and nothing else."""

from __future__ import annotations

from typing import Literal

import pytest

from isolane.conformance.depth import depth
from isolane.conformance.scenarios import outcomes
from isolane.conformance.timeline import Step
from isolane.conformance.world import World
from isolane.fixtures.implementations import descriptor
from isolane.fixtures.implementations.descriptor import DeadLetter, Descriptor

Place = Literal["none", "kafka", "index", "file"]
REFERENCE = descriptor.find("reference")


def putting_aside(kind: Place) -> Descriptor:
    """The reference, as if its dead letters went elsewhere."""
    where = None if kind == "none" else "aside"
    return REFERENCE.model_copy(update={"dead_letter": DeadLetter(kind=kind, where=where)})


@pytest.mark.parametrize(
    ("kind", "more", "untried"),
    [
        ("none", set(), {"DEL-4", "POI-3"}),
        ("index", set(), {"DEL-4", "POI-3"}),
        ("file", {"large", "marked"}, {"POI-3"}),
        ("kafka", {"large", "marked", "letters"}, set()),
    ],
)
def test_who_puts_nothing_aside_meets_nothing_that_never_succeeds(
    kind: Place, more: set[str], untried: set[str]
) -> None:
    """Nor is a destination hindered that cannot be: the clusters themselves, or a file."""
    known = putting_aside(kind)
    tenants = {tenant.name for tenant in outcomes.shape(known).tenants}
    assert tenants & {"large", "marked", "letters"} == more
    assert {"items", "proxy", "trickle", "healthy"} <= tenants
    assert set(outcomes.SCENARIO.judges) - set(outcomes.SCENARIO.judged(known)) == untried


def steps(name: str, known: Descriptor) -> list[Step]:
    """What a tenant's cluster goes through, in a world of the implementation."""
    world = World.__new__(World)
    world.descriptor = known
    return list(dict(outcomes._lives(known))[name](world, depth("standard")))


def test_statuses_that_condemn_are_only_given_where_that_can_be_seen() -> None:
    """Elsewhere they would only be lost."""
    (without,) = steps("items", putting_aside("none"))
    (with_letters,) = steps("items", putting_aside("kafka"))
    assert 400 not in without.layers[0].items
    assert 400 in with_letters.layers[0].items


@pytest.mark.parametrize("seconds", [2.0, 10.0, 30.0, 3000.0])
def test_silence_lasts_longer_than_the_deadline_that_is_believed(seconds: float) -> None:
    """So that an attempt must be given up while it lasts; a lax descriptor buys at most a minute."""
    timing = REFERENCE.timing.model_copy(update={"request_timeout": seconds})
    known = REFERENCE.model_copy(update={"timing": timing})
    for name in ("trickle", "silence"):
        assert steps(name, known)[-1].seconds == min(seconds, 60) + outcomes.BEYOND


def test_an_outage_lasts_as_long_as_the_depth_says() -> None:
    """Whatever it consists of."""
    for name in ("mixed", "away"):
        assert sum(step.seconds for step in steps(name, REFERENCE)) == pytest.approx(depth("standard").outage, abs=2)
