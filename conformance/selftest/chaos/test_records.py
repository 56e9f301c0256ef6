"""What happens in Kafka's topics: each time is counted by itself."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import cast

from isolane.chaos import records
from isolane.chaos.acting import Scene
from isolane.chaos.happenings import Partitions
from isolane.chaos.stage import Stage
from isolane.chaos.timeline import Timeline
from isolane.conformance.world import World


def test_partitions_are_counted_from_those_of_before() -> None:
    """A topic of two that grows to three, and then to eight, was given one, and then five."""
    growing = [Partitions(at=at, tenant="a", partitions=total) for at, total in ((1, 3), (2, 8))]
    other = Partitions(at=1, tenant="b", partitions=7)
    tenants = [{"name": "a", "partitions": 2}, {"name": "b", "partitions": 2}]
    timeline = Timeline.model_validate({"name": "own", "tenant": tenants, "fault": [*growing, other]})
    world = SimpleNamespace(grow=lambda _tenant, _partitions: None)
    scene = Scene(cast("World", world), cast("Stage", None), timeline, Path())
    counted = []
    for fault in growing:
        with records.partitions(scene, fault) as bites:
            counted.append(bites())
    assert counted == [1, 5]
