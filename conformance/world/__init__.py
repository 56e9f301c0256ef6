"""The world of one scenario: topics, consumer group, clusters, load, members and observers.

Whatever is done to it, and whatever is seen in it, goes to the scenario's history. Names of tenants and
topics carry the run's number, so that worlds on one Kafka never meet.
"""

from __future__ import annotations

from isolane.conformance.world.ground import STILL, WorldTenant
from isolane.conformance.world.loading import ACKNOWLEDGED_WITHIN, Loading
from isolane.conformance.world.operation import Operation
from isolane.conformance.world.topics import Topics
from isolane.conformance.world.waiting import Waiting

__all__ = ["ACKNOWLEDGED_WITHIN", "STILL", "World", "WorldTenant"]


class World(Waiting, Loading, Topics, Operation):
    """One living scenario; `opening.opened` makes it."""
