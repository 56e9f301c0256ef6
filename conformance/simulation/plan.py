"""What is done to a world: a list of steps, drawn from a seed or written down."""

from __future__ import annotations

from collections.abc import Mapping
from random import Random
from typing import NamedTuple

from isolane.conformance.simulation.scripts import SCRIPTS
from isolane.conformance.simulation.settings import Settings

Argument = int | str


class Step(NamedTuple):
    """One thing that is done to a world.

    Attributes:
        action: The name of a method of `World`.
        arguments: Of that method.
        then: How long everybody goes on afterwards, in milliseconds.
    """

    action: str
    arguments: tuple[Argument, ...] = ()
    then: int = 0

    def __str__(self) -> str:
        """As a call."""
        return f"{self.action}({', '.join(map(repr, self.arguments))}), then {self.then} ms"


class Plan(NamedTuple):
    """A world and what is done to it; whatever is left out of `steps`, the rest can still be done.

    Attributes:
        settings: Of the world.
        steps: In order.
        stop_with: The script that all clusters follow when everything is stopped at the end; None for no such end.
    """

    settings: Settings
    steps: tuple[Step, ...]
    stop_with: str | None = None

    def without(self, steps: slice) -> Plan:
        """Return the plan without some of its steps."""
        kept = list(self.steps)
        del kept[steps]
        return self._replace(steps=tuple(kept))


_MEMBERSHIP: Mapping[str, int] = {"join": 3, "leave": 2, "crash": 3, "freeze": 2, "thaw": 2, "grow": 1}
_FAULTS: Mapping[str, int] = {"sicken": 8, "heal": 3, "lose_letters": 1, "find_letters": 1, "lose_broker": 1}
_WEIGHTS = {**_MEMBERSHIP, **_FAULTS}
_ACTIONS = list(_WEIGHTS)
_SCRIPTS = list(SCRIPTS)
_KINDS = ("one item", "one item", "one item", "three items", "nothing", "broken", "large")
_LEAST_RECORDS = 28

SURE = ("lose_broker", "lose_broker", "leave", "crash", "freeze")
"""Faults that happen whatever the order; a script may never come to bite, or bite nobody."""

_STOPPED = 0.3


def random_plan(seed: int) -> Plan:
    """Return the plan that belongs to a seed: at least 28 records, and at least one fault that is sure to happen."""
    random = Random(seed)
    settings = Settings(
        tenants=random.choice((2, 2, 3)),
        partitions=random.choice((1, 2)),
        members=random.choice((1, 2, 2)),
        protocol=random.choice(("cooperative", "eager")),
    )
    first = _produce(random)
    # So that it bites: a cluster is sick when the first records come to it.
    sick = int(first.arguments[0]) % (settings.tenants * settings.partitions) // settings.partitions
    steps = [
        Step("go_on", (), random.choice((20, 60, 200))),
        Step("sicken", (sick, random.choice(_SCRIPTS))),
        first,
    ]
    while _records(steps) < _LEAST_RECORDS:
        if random.random() < 0.8:
            action = random.choices(_ACTIONS, weights=list(_WEIGHTS.values()))[0]
            steps.append(_step(random, action))
        steps.append(_produce(random))
    if not any(step.action in SURE for step in steps):
        steps.append(_step(random, random.choice(SURE)))
    return Plan(settings, tuple(steps), random.choice(_SCRIPTS) if random.random() < _STOPPED else None)


def _records(steps: list[Step]) -> int:
    return sum(int(step.arguments[2]) for step in steps if step.action == "produce")


def _produce(random: Random) -> Step:
    kind = random.choice(_KINDS)
    count = random.randrange(1, 3) if kind == "large" else random.randrange(2, 9)
    return Step(
        "produce", (random.randrange(6), kind, count, random.choice((0, 0, 0, 2))), random.choice((0, 0, 3, 30))
    )


def _step(random: Random, action: str) -> Step:
    return Step(action, _arguments(random, action), random.choice((0, 5, 20, 60, 150)))


def _arguments(random: Random, action: str) -> tuple[Argument, ...]:
    if action == "sicken":
        return random.randrange(3), random.choice(_SCRIPTS)
    if action in {"heal", "leave", "crash", "freeze", "grow"}:
        return (random.randrange(3),)
    return ()
