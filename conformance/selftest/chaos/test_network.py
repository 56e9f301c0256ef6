"""The network: what is wrong with it stands apart from all else that is, however often its like happens in a place."""

from __future__ import annotations

from collections.abc import Callable, Collection
from contextlib import ExitStack
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest

from isolane.chaos import network
from isolane.chaos.acting import WAYS, Scene
from isolane.chaos.happenings import BlackHole, Latency, Network, Swallow
from isolane.chaos.stage import Stage
from isolane.chaos.timeline import Timeline
from isolane.conformance.world import World
from isolane.fixtures.services.toxiproxy_control import Toxic


class Door:
    """A proxy that keeps its toxics by their names, and has no two of one name, as Toxiproxy."""

    name, listen = "a", "127.0.0.1:1"

    def __init__(self) -> None:
        """Begin with everything well."""
        self.kept: dict[str, Toxic] = {}
        self.muted: set[str] = set()

    def add(self, toxic: Toxic) -> None:
        """Let a toxic work."""
        assert toxic.label not in self.kept
        self.kept[toxic.label] = toxic

    def mute(self, label: str) -> None:
        """Let a toxic do nothing."""
        assert label in self.kept
        self.muted.add(label)

    def remove(self, label: str) -> None:
        """Remove a toxic."""
        del self.kept[label]
        self.muted.discard(label)

    @property
    def works(self) -> list[str]:
        """The kinds of the toxics that work now."""
        return [toxic.kind for label, toxic in self.kept.items() if label not in self.muted]


class Answering:
    """A world, and its nodes, in which each look finds one more request that was answered."""

    def __init__(self, door: Door) -> None:
        """Stand behind that door."""
        self.proxies = {"a": door}
        self.bulks = 0

    def name_of(self, tenant: str) -> str:
        """A tenant's full name."""
        return tenant

    def counts(self, _tenant: str) -> SimpleNamespace:
        """What the node has counted."""
        self.bulks += 1
        return SimpleNamespace(bulks=self.bulks)

    def await_that(self, condition: Callable[[], bool], _timeout: float, _what: str) -> bool:
        """Whether a condition is true."""
        return condition()

    def connections(self, _proxy: str) -> int:
        """How many connections a proxy has accepted."""
        return 0

    def open_connections(self, _ports: Collection[int]) -> int:
        """How many connections are open."""
        return 1


@pytest.fixture
def door() -> Door:
    """The way to the tenant's node."""
    return Door()


@pytest.fixture
def scene(door: Door) -> Scene:
    """Where it happens."""
    world = Answering(door)
    stage = SimpleNamespace(nodes=world, toxiproxy=world)
    timeline = Timeline.model_validate({"name": "own", "tenant": [{"name": "a"}]})
    return Scene(cast("World", world), cast("Stage", stage), timeline, Path())


@pytest.mark.parametrize(
    "fault",
    [Swallow(target="a", at=1, seconds=2), BlackHole(target="a", at=1, seconds=2, half_open=True)],
    ids=lambda fault: str(fault.name),
)
def test_what_leaves_a_muted_toxic_happens_again(fault: Network, scene: Scene, door: Door) -> None:
    """The second time nothing works any more when it has ended, either."""
    for _ in range(2):
        with WAYS[type(fault)].play(scene, fault) as bites:
            assert bites() == 1
        assert door.works == []
    assert door.kept


def test_two_of_a_kind_overlap(scene: Scene, door: Door) -> None:
    """Each ends by itself, and leaves the other."""
    with ExitStack() as late:
        with ExitStack() as early:
            early.enter_context(network.latency(scene, Latency(target="a", at=1, seconds=2)))
            late.enter_context(network.latency(scene, Latency(target="a", at=2, seconds=2)))
            assert door.works == ["latency", "latency"]
        assert door.works == ["latency"]
    assert door.kept == {}
