"""Processes: members are as many as planned, whatever falls together."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest

from isolane.chaos import processes
from isolane.chaos.acting import Scene
from isolane.chaos.happenings import Kill, ResetOffsets
from isolane.chaos.stage import Stage
from isolane.chaos.timeline import Timeline
from isolane.conformance.errors import HarnessError
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

    group = "own"

    def kill(self, number: int) -> None:
        """End a member."""
        del self.pids[number]

    stop = kill

    def stop_all(self) -> None:
        """End all."""
        self.pids.clear()


class Busy:
    """A Kafka that takes members for there still at first; it has four partitions, and then more."""

    def __init__(self, crew: Crew) -> None:
        """Serve them."""
        self.crew, self.refusals, self.partitions = crew, 2, 4

    def rewind(self, _group: str, _topics: tuple[str, ...]) -> int:
        """Set offsets back."""
        assert not self.crew.pids
        self.refusals -= 1
        if self.refusals >= 0:
            raise HarnessError("somebody is in the group still")
        before, self.partitions = self.partitions, 6
        return before

    def leaders(self, _topics: tuple[str, ...]) -> dict[int, int]:
        """Who leads each partition now."""
        return dict.fromkeys(range(self.partitions), 1)


@pytest.fixture
def crew() -> Crew:
    """The members."""
    return Crew()


@pytest.fixture
def scene(crew: Crew) -> Scene:
    """Where they are, up to four."""
    world = SimpleNamespace(
        members=crew,
        descriptor=SimpleNamespace(group=SimpleNamespace(max_members=4)),
        patience=60.0,
        run_for=lambda _: None,
        topics_of=lambda _: ("a-0",),
        name_of=lambda tenant: tenant,
        tell=lambda *_, **__: None,
    )
    timeline = Timeline.model_validate({"name": "own", "members": 2, "tenant": [{"name": "a"}]})
    return Scene(cast("World", world), cast("Stage", SimpleNamespace(broker=Busy(crew))), timeline, Path())


@pytest.mark.parametrize("count", [0, 1, 2, 3])
def test_who_was_started_meanwhile_is_not_started_again(count: int, scene: Scene, crew: Crew) -> None:
    """Members that come while one is away take its number; the end of its absence starts no second of the number."""
    with processes.kill(scene, Kill(at=1, seconds=2, member=0)) as bites:
        assert bites() == 1
        processes.set_members(scene, count)
    assert 0 in crew.pids


def test_offsets_are_set_back_while_nobody_runs(scene: Scene, crew: Crew) -> None:
    """As soon as Kafka lets it; what is counted is what was set back, not what came later; all run again."""
    with processes.reset_offsets(scene, ResetOffsets(at=1, tenant="a")) as bites:
        assert set(crew.pids) == {0, 1}
        assert bites() == 4
