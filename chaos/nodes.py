"""What goes wrong with tenants' nodes themselves: real Elasticsearch, killed, frozen, blocked, or asked too much."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from isolane.chaos.acting import Bites, Scene, way
from isolane.chaos.happenings import Conflict, NodeFreeze, NodeKill, NoNewIndices, Oversized, Rejections, WriteBlock
from isolane.chaos.records import conflicting, padded
from isolane.conformance.errors import HarnessError
from isolane.conformance.history_files import DEAD_LETTERS, Tail
from isolane.conformance.load import Draft
from isolane.conformance.nodes import ANSWERS_WITHIN
from isolane.conformance.outages import without_node, write_block
from isolane.fixtures.services.elasticsearch_conditions import make_new_indices, map_as_number
from isolane.fixtures.services.elasticsearch_probe import NotAnsweringError

_REJECTED_WITHIN = 5.0
_WAITING = "records that waited for it"
_ANSWERED = "requests that the node answered meanwhile"


@way(NodeKill, _WAITING)
@contextmanager
def node_kill(scene: Scene, fault: NodeKill) -> Iterator[Bites]:
    """Kill the node, and start it again."""
    with without_node(scene.world, fault.tenant):
        yield lambda: len(scene.world.behind(fault.tenant))


@way(NodeFreeze, _WAITING)
@contextmanager
def node_freeze(scene: Scene, fault: NodeFreeze) -> Iterator[Bites]:
    """Freeze the node."""
    node = scene.stage.nodes.node(scene.world.name_of(fault.tenant))
    node.freeze()
    yield lambda: len(scene.world.behind(fault.tenant))
    node.thaw()


@way(WriteBlock, _ANSWERED)
@contextmanager
def block(scene: Scene, fault: WriteBlock) -> Iterator[Bites]:
    """Block the indices that there are."""
    before = scene.answered(fault.tenant)
    with write_block(scene.world, fault.tenant):
        yield lambda: scene.answered(fault.tenant) - before


@way(NoNewIndices, _ANSWERED)
@contextmanager
def no_new_indices(scene: Scene, fault: NoNewIndices) -> Iterator[Bites]:
    """Forbid new indices."""
    endpoint = scene.stage.nodes.node(scene.world.name_of(fault.tenant)).endpoint
    before = scene.answered(fault.tenant)
    try:
        make_new_indices(endpoint, allowed=False, timeout=ANSWERS_WITHIN)
        yield lambda: scene.answered(fault.tenant) - before
        make_new_indices(endpoint, allowed=True, timeout=ANSWERS_WITHIN)
    except NotAnsweringError as error:
        raise HarnessError(f"the settings of {fault.tenant}'s cluster cannot be changed: {error}") from error


@way(Conflict, "dead letters")
@contextmanager
def conflict(scene: Scene, fault: Conflict) -> Iterator[Bites]:
    """Map a field as a number, and send records with text in it."""
    letters = Tail(scene.folder / DEAD_LETTERS)
    letters.poll()
    try:
        map_as_number(
            scene.stage.nodes.node(scene.world.name_of(fault.tenant)).endpoint,
            timeout=ANSWERS_WITHIN,
        )
    except NotAnsweringError as error:
        raise HarnessError(f"the mappings of {fault.tenant}'s cluster cannot be changed: {error}") from error
    scene.world.send(fault.tenant, Draft(value=conflicting), fault.records)
    yield lambda: len(letters.poll())


@way(Rejections, "items that found the write queue full")
@contextmanager
def rejections(scene: Scene, fault: Rejections) -> Iterator[Bites]:
    """Send many records at once, and wait for the first item that is rejected: that comes at once, or never."""
    name = scene.world.name_of(fault.tenant)
    before = scene.stage.nodes.counts(name).rejected
    rejected = 0

    def is_rejected() -> bool:
        nonlocal rejected
        rejected = scene.stage.nodes.counts(name).rejected - before
        return rejected > 0

    scene.world.send(fault.tenant, count=fault.records)
    scene.world.await_that(is_rejected, _REJECTED_WITHIN, "an item that is rejected")
    yield lambda: rejected


@way(Oversized, "records that are too large together")
@contextmanager
def oversized(scene: Scene, fault: Oversized) -> Iterator[Bites]:
    """Send records that are too large together."""
    scene.world.send(fault.tenant, Draft(value=padded(fault.size)), fault.records)
    yield lambda: fault.records  # a node does not count what it refuses before it has read it
