"""What happens to processes: the members, the group that they are, and the brokers."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from isolane.chaos.acting import Bites, Scene, way
from isolane.chaos.happenings import (
    BrokerFreeze,
    BrokerKill,
    CrashLoop,
    Freeze,
    Kill,
    ResetOffsets,
    Rolling,
    Scale,
    Stop,
)
from isolane.conformance.errors import HarnessError

_ENDED = "processes that ended"
_POLL = 0.2


@way(Kill, _ENDED)
@contextmanager
def kill(scene: Scene, fault: Kill) -> Iterator[Bites]:
    """Kill a member that runs, and start it again."""
    with _away(scene, fault.member, scene.world.members.kill) as bites:
        yield bites


@way(Stop, _ENDED)
@contextmanager
def stop(scene: Scene, fault: Stop) -> Iterator[Bites]:
    """Stop a member that runs, and start it again."""
    with _away(scene, fault.member, scene.world.members.stop) as bites:
        yield bites


@way(Freeze, "members that did nothing")
@contextmanager
def freeze(scene: Scene, fault: Freeze) -> Iterator[Bites]:
    """Freeze a member that runs, and let it go on."""
    members = scene.world.members
    runs = fault.member in members.pids
    if runs:
        members.freeze(fault.member)
    yield lambda: int(runs and fault.member in members.pids)
    if fault.member in members.pids:
        members.thaw(fault.member)


@way(CrashLoop, _ENDED)
@contextmanager
def crash_loop(scene: Scene, fault: CrashLoop) -> Iterator[Bites]:
    """Kill a member again and again."""
    ended = 0
    for _ in range(fault.times):
        if fault.member in scene.world.members.pids:
            scene.world.members.kill(fault.member)
            ended += 1
        scene.world.members.start(fault.member)
        scene.world.run_for(fault.life)
    yield lambda: ended


@way(Scale, "members that came or went")
@contextmanager
def scale(scene: Scene, fault: Scale) -> Iterator[Bites]:
    """Start or stop members, the highest numbers first to go, as far as the implementation may have so many."""
    moved = set_members(scene, fault.members)
    yield lambda: moved


@way(Rolling, _ENDED)
@contextmanager
def rolling(scene: Scene, _fault: Rolling) -> Iterator[Bites]:
    """Stop and start each member that runs, one after the other."""
    members = scene.world.members
    numbers = sorted(members.pids)
    for number in numbers:
        members.stop(number)
        members.start(number)
        scene.world.await_members(len(numbers), scene.world.descriptor.timing.session_timeout)
    yield lambda: len(numbers)


@way(ResetOffsets, "partitions that were set back")
@contextmanager
def reset_offsets(scene: Scene, fault: ResetOffsets) -> Iterator[Bites]:
    """Stop all members, set the offsets back when Kafka says that nobody is in the group, and start them again."""
    world, broker = scene.world, scene.stage.broker
    numbers = sorted(world.members.pids)
    world.members.stop_all()
    topics = scene.topics(fault.tenant)
    deadline = time.monotonic() + world.patience
    while True:
        try:
            set_back = broker.rewind(world.members.group, topics)
            break
        except HarnessError:
            if time.monotonic() > deadline:
                raise
            world.run_for(_POLL)
    world.tell("operator", "offsets", tenant=world.name_of(fault.tenant), topics=list(topics))
    for number in numbers:
        world.members.start(number)
    yield lambda: set_back


@way(BrokerKill, "brokers that ended")
@contextmanager
def broker_kill(scene: Scene, fault: BrokerKill) -> Iterator[Bites]:
    """Kill a broker, and start it again."""
    broker = scene.stage.kafka.brokers[fault.broker]
    broker.kill()
    yield lambda: 1
    broker.start()


@way(BrokerFreeze, "brokers that did nothing")
@contextmanager
def broker_freeze(scene: Scene, fault: BrokerFreeze) -> Iterator[Bites]:
    """Freeze a broker."""
    broker = scene.stage.kafka.brokers[fault.broker]
    broker.freeze()
    yield lambda: 1
    broker.thaw()


@contextmanager
def _away(scene: Scene, number: int, end: Callable[[int], object]) -> Iterator[Bites]:
    """End a member if it runs, and start it again afterwards, unless one of its number was started meanwhile."""
    runs = number in scene.world.members.pids
    if runs:
        end(number)
    yield lambda: int(runs)
    if runs and number not in scene.world.members.pids:
        scene.world.members.start(number)


def set_members(scene: Scene, count: int) -> int:
    """Start or stop members until there are so many, at most as many as the implementation may have; how many moved."""
    members = scene.world.members
    wanted = min(count, scene.world.descriptor.group.max_members)
    running = sorted(members.pids)
    going = running[wanted:]
    for number in going:
        members.stop(number)
    coming = [number for number in range(wanted) if number not in running][: max(0, wanted - len(running))]
    for number in coming:
        members.start(number)
    return len(going) + len(coming)
