"""Processes: members are as many as planned, whatever falls together."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest

from isolane.chaos import processes
from isolane.chaos.acting import Scene
from isolane.chaos.happenings import Kill
from isolane.chaos.stage import Stage
from isolane.chaos.timeline import Timeline
from isolane.conformance.world import World


class Crew:
    """Members that are numbers; none can be started while it runs, or ended while it does not."""

    def __init__(self) -> None:
        """Begin with two."""
        self.pids = {0: 100, 1: 101}

    def start(self, number: int) -> None:
        """Start a member."""
        assert number not in self.pids
        self.pids[number] = 100 + number

    def kill(self, number: int) -> None:
        """End a member."""
        del self.pids[number]

    stop = kill


@pytest.fixture
def crew() -> Crew:
    """The members."""
    return Crew()


@pytest.fixture
def scene(crew: Crew) -> Scene:
    """Where they are, up to four."""
    world = SimpleNamespace(members=crew, descriptor=SimpleNamespace(group=SimpleNamespace(max_members=4)))
    timeline = Timeline.model_validate({"name": "own", "members": 2, "tenant": [{"name": "a"}]})
    return Scene(cast("World", world), cast("Stage", None), timeline, Path())


@pytest.mark.parametrize("count", [0, 1, 2, 3])
def test_who_was_started_meanwhile_is_not_started_again(count: int, scene: Scene, crew: Crew) -> None:
    """Members that come while one is away take its number; the end of its absence starts no second of the number."""
    with processes.kill(scene, Kill(at=1, seconds=2, member=0)) as bites:
        assert bites() == 1
        processes.set_members(scene, count)
    assert 0 in crew.pids
