"""Performing: everything begins and ends at its time, and its bites are counted before it ends."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, cast

import pytest

from isolane.chaos import performing
from isolane.chaos.acting import WAYS, Bites, Scene, Way
from isolane.chaos.happenings import Burst, Happening, NodeFreeze, Refuse
from isolane.chaos.stage import Stage
from isolane.chaos.timeline import Timeline
from isolane.conformance.world import World

FAULTS = [
    {"kind": "refuse", "target": "a", "at": 1, "seconds": 4},
    {"kind": "node_freeze", "tenant": "b", "at": 2, "seconds": 1},
    {"kind": "burst", "tenant": "a", "at": 2},
]
TIMELINE = Timeline.model_validate({"name": "own", "tenant": [{"name": "a"}, {"name": "b"}], "fault": FAULTS})


class Still:
    """A world in which time passes only while it is let live on."""

    def __init__(self) -> None:
        """Begin at nought."""
        self.now = 0.0
        self.told: list[tuple[float, str, str, dict[str, Any]]] = []

    def run_for(self, seconds: float) -> None:
        """Let time pass."""
        self.now += seconds

    def name_of(self, tenant: str) -> str:
        """A tenant's full name."""
        return f"{tenant}-full"

    def tell(self, kind: str, name: str, **detail: object) -> None:
        """Keep an event."""
        self.told.append((self.now, kind, name, detail))


@pytest.fixture
def world() -> Still:
    """The world."""
    return Still()


def performed(world: Still, monkeypatch: pytest.MonkeyPatch, way: Way) -> None:
    """Perform the timeline, in which each kind is done in that way."""
    for kind in (Refuse, NodeFreeze, Burst):
        monkeypatch.setitem(WAYS, kind, way)
    scene = Scene(cast("World", world), cast("Stage", None), TIMELINE, Path())
    with ExitStack() as stack:
        performing._perform(scene, stack)


def test_everything_happens_at_its_time(world: Still, monkeypatch: pytest.MonkeyPatch) -> None:
    """Faults overlap as planned; what has no end of its own ends with the rest; bites are counted at the end."""
    done: list[tuple[float, str, str]] = []

    @contextmanager
    def play(_scene: Scene, fault: Happening) -> Iterator[Bites]:
        done.append((world.now, fault.name, "begins"))
        yield lambda: int(world.now)
        done.append((world.now, fault.name, "ends"))

    performed(world, monkeypatch, Way(play, "seconds"))
    assert done == [
        (1, "refuse", "begins"),
        (2, "node_freeze", "begins"),
        (2, "burst", "begins"),
        (3, "node_freeze", "ends"),
        (5, "refuse", "ends"),
        (5, "burst", "ends"),
    ]
    bites = {detail["number"]: detail["bites"] for _, kind, _, detail in world.told if "bites" in detail}
    assert bites == {0: 5, 1: 3, 2: 5}


def test_what_happens_at_clusters_is_a_fault_of_the_history(world: Still, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its begin and end are told by the tenant's full name; it lasts as planned, however long others take to begin."""

    @contextmanager
    def play(_scene: Scene, _fault: Happening) -> Iterator[Bites]:
        world.run_for(0.25)
        yield lambda: 1

    performed(world, monkeypatch, Way(play, "seconds"))
    faults = [(at, kind, name, detail["tenant"]) for at, kind, name, detail in world.told if kind in {"fault", "heal"}]
    assert faults == [
        (1.25, "fault", "refuse-0", "a-full"),
        (2.5, "fault", "node_freeze-1", "b-full"),
        (3.75, "heal", "node_freeze-1", "b-full"),
        (5.75, "heal", "refuse-0", "a-full"),
    ]


def test_what_fails_is_never_told_to_be_over(world: Still, monkeypatch: pytest.MonkeyPatch) -> None:
    """An act that cannot be done ends the performance; what had begun is left as what had not ended."""

    @contextmanager
    def play(_scene: Scene, fault: Happening) -> Iterator[Bites]:
        if fault.name == "burst":
            raise RuntimeError("Kafka takes nothing")
        yield lambda: 1

    with pytest.raises(RuntimeError, match="Kafka takes nothing"):
        performed(world, monkeypatch, Way(play, "seconds"))
    assert not [detail for _, _, _, detail in world.told if detail.get("part") == "over"]
