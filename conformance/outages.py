"""What can be done to a tenant's real node in a world: it is killed, or refuses; both are told in the history."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from isolane.conformance.history_found import NODE
from isolane.conformance.world import World


@contextmanager
def without_node(world: World, tenant: str) -> Iterator[None]:
    """Kill a tenant's node with SIGKILL; it is started again, on the same data, when the block has run.

    It is told as away only while it certainly was, so that what is sent meanwhile cannot have been accepted.
    """
    name = world.name_of(tenant)
    world.nodes.kill(name)
    world.tell("fault", NODE, tenant=name)
    yield
    world.tell("heal", NODE, tenant=name)
    world.nodes.start(name)


@contextmanager
def write_block(world: World, tenant: str) -> Iterator[None]:
    """Let the indices of a tenant's node refuse every document with 403, until the block has run."""
    name = world.name_of(tenant)
    world.nodes.block_writes(name, blocked=True)
    world.tell("fault", "write_block", tenant=name)
    yield
    world.nodes.block_writes(name, blocked=False)
    world.tell("heal", "write_block", tenant=name)
