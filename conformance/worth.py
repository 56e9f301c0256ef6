"""What each change is worth: the reference in its three modes meets one kind of trouble after the other.

The load and the modes are those of the demo; the troubles are those of isolation, at a tenant with few partitions and
at one with as many as there are sending workers.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from functools import partial

from isolane.conformance.demo import CALM, FAULT, FEW, HEALTHY, NARROW, RATE, WARM_UP, WIDE, shape
from isolane.conformance.depth import Depth
from isolane.conformance.load import PADDING, Draft
from isolane.conformance.scenarios.model import Scenario
from isolane.conformance.scenarios.one_sick import KINDS, adapt
from isolane.conformance.world import World
from isolane.fixtures import payloads
from isolane.fixtures.cluster import Script

RECOVERY = 20.0
"""Seconds that backlogs may take to go away before the next trouble comes."""

REST = 2.0
"""Seconds of load with nothing left behind, before the next trouble comes."""

LOUD = 5
"""How many times its usual volume the loud one sends: half of it in more records, half in larger ones."""


@dataclass(frozen=True, slots=True)
class Trouble:
    """One kind of trouble.

    Attributes:
        name: Of its fault.
        about: What it is, for people.
        tenant: Whose it is.
        script: What that tenant's cluster does; None where it is the tenant that does something.
    """

    name: str
    about: str
    tenant: str
    script: Script | None


def _at(tenant: str, kind: str, about: str) -> Trouble:
    width = f"{FEW} partitions" if tenant == NARROW else "as many partitions as workers"
    return Trouble(f"{kind}-{tenant}", f"{about}, {width}", tenant, KINDS[kind])


TROUBLES = (
    _at(NARROW, "slow", "slow (5 s a request)"),
    _at(WIDE, "slow", "slow (5 s a request)"),
    _at(WIDE, "blackhole", "black hole"),
    _at(WIDE, "refuse", "connections refused"),
    _at(WIDE, "pushback-429", "429 for the request"),
    _at(WIDE, "pushback-items", "429 for each item"),
    Trouble("flood", "ten times the volume, all at once", WIDE, None),
)
"""In the order in which they come."""


def story(world: World, _depth: Depth) -> None:
    """Calm; then each trouble, healed until nothing is left behind."""
    world.members.start()
    world.await_ready(timeout=world.patience)
    world.load_within(float("inf"))
    world.phase("warm-up")
    world.run_for(WARM_UP)
    world.phase("control")
    world.run_for(CALM)
    for trouble in TROUBLES:
        world.phase(f"fault:{trouble.name}")
        if trouble.script is None:
            world.inject(trouble.tenant, trouble.name)
            large = Draft(value=partial(payloads.value, padding=LOUD * PADDING))
            world.send(trouble.tenant, large, count=round(2 * RATE * FAULT))
        else:
            world.inject(trouble.tenant, trouble.name, trouble.script)
        world.run_for(FAULT)
        world.heal(trouble.tenant, trouble.name)
        world.phase(f"heal:{trouble.name}")
        until = time.monotonic() + RECOVERY
        for tenant in (HEALTHY, NARROW, WIDE):
            world.await_backlog_of(tenant, timeout=max(0.0, until - time.monotonic()))
        world.run_for(REST)
    world.drain(timeout=world.patience)


SCENARIO = Scenario(
    name="worth",
    title="one tenant's cluster is in trouble after the other, in every way",
    judges=("DEL-1", "OFF-1", "TEN-2"),
    shape=shape,
    story=story,
    adapt=adapt,
)
