"""What happens in Kafka's topics: records out of the ordinary, transactions that are aborted, topics and partitions."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from isolane.chaos.acting import Bites, Scene, way
from isolane.chaos.happenings import Abort, Burst, Inflate, NewTopic, Partitions
from isolane.conformance.load import Draft, Shaper
from isolane.fixtures import payloads
from isolane.fixtures.services.elasticsearch_conditions import CONFLICTING

_RECORDS = "records that were sent"


@way(Burst, _RECORDS)
@contextmanager
def burst(scene: Scene, fault: Burst) -> Iterator[Bites]:
    """Send many records at once."""
    scene.world.send(fault.tenant, count=fault.records)
    yield lambda: fault.records


@way(Inflate, _RECORDS)
@contextmanager
def inflate(scene: Scene, fault: Inflate) -> Iterator[Bites]:
    """Send records of much text that is always the same."""
    scene.world.send(fault.tenant, Draft(value=padded(fault.size)), fault.records)
    yield lambda: fault.records


@way(Abort, "records in a transaction that was aborted")
@contextmanager
def abort(scene: Scene, fault: Abort) -> Iterator[Bites]:
    """Abort a transaction, and commit one."""
    for commit in (False, True):
        scene.world.transaction(fault.tenant, fault.records, commit=commit)
    yield lambda: fault.records


@way(NewTopic, "topics that were made")
@contextmanager
def new_topic(scene: Scene, fault: NewTopic) -> Iterator[Bites]:
    """Make the topics of a tenant that is late, and begin its load."""
    scene.world.create(fault.tenant)
    scene.world.load_within(float("inf"))
    yield lambda: len(scene.topics(fault.tenant))


@way(Partitions, "partitions that were added")
@contextmanager
def partitions(scene: Scene, fault: Partitions) -> Iterator[Bites]:
    """Give topics more partitions."""
    scene.world.grow(fault.tenant, fault.partitions)
    first = next(tenant.partitions for tenant in scene.timeline.tenants if tenant.name == fault.tenant)
    others = (each for each in scene.timeline.faults if isinstance(each, Partitions) and each.tenant == fault.tenant)
    had = max([first, *(each.partitions for each in others if each.partitions < fault.partitions)])  # they only grow
    yield lambda: fault.partitions - had


def padded(size: int) -> Shaper:
    """Make records of so many bytes of text an item, that compress well."""

    def value(encoding: payloads.Encoding, signal: payloads.Signal, tokens: Sequence[str]) -> bytes:
        return payloads.value(encoding, signal, tokens, padding=size)

    return value


def conflicting(encoding: payloads.Encoding, signal: payloads.Signal, tokens: Sequence[str]) -> bytes:
    """Make a record whose items have text where `map_as_number` maps a number."""
    return payloads.value(encoding, signal, tokens, attributes={CONFLICTING: "text"})
