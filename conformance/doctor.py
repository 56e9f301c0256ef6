"""The doctor: takes an implementation through one record, step by step, and says what was seen at each.

For whoever plugs in an implementation of their own: the first run of a suite tells little when nothing comes through,
and this tells where it stops.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from isolane.conformance.engine import Request
from isolane.conformance.errors import ImplementationNotStartedError, NoTrafficError
from isolane.conformance.history import History
from isolane.conformance.opening import Plan, Services, opened
from isolane.conformance.shape import Shape, TenantShape
from isolane.conformance.verdict import ExitCode
from isolane.conformance.world import World

ACCEPTED_WITHIN = 5.0
"""Seconds that the record may still be on its way when its offset is committed already."""

SHAPE = Shape((TenantShape("a", "healthy", partitions=1, rate=1),))


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """Something that was tried: whether it went well, what was seen, and the doctor's exit code if it did not."""

    well: bool
    what: str
    seen: str = ""
    code: ExitCode = ExitCode.INCONCLUSIVE


def examine(request: Request, services: Services, ignore: Callable[[str], None]) -> Iterator[Step]:
    """Start the implementation, send a record, see it accepted and committed, stop it; the steps as they are taken.

    The last step is the first that did not go well. What was seen is kept as a history in the request's folder.

    Raises:
        DescriptorError: Its template or command line is wrong.
        HarnessError: Kafka did not take the record.
    """
    folder = request.folder / "doctor"
    plan = Plan("doctor", (), SHAPE, request.depth, request.seed)
    with opened(plan, request.descriptor, services, folder, ignore) as world:
        yield from _examined(request, world, folder)


def _examined(request: Request, world: World, folder: Path) -> Iterator[Step]:
    descriptor = request.descriptor
    what = "its command can be run"
    try:
        world.members.start()
        yield Step(well=True, what=what, seen=f"output in {folder / 'member-0.log'}")
        what = "it goes on running"
        world.await_ready(world.patience)
    except ImplementationNotStartedError as error:
        yield Step(well=False, what=what, seen=str(error), code=ExitCode.WRONG_USAGE)
        return
    except NoTrafficError:
        yield _what_arrived(folder)
        return
    if not world.await_accepted(ACCEPTED_WITHIN):
        yield _what_arrived(folder)
        return
    yield from _accepted(folder)
    committed = world.await_committed()
    yield _commit(folder, well=committed, interval=descriptor.timing.commit_interval)
    if not committed:
        return
    began = time.monotonic()
    code = world.members.stop()
    took = time.monotonic() - began
    grace = descriptor.timing.stop_grace
    yield Step(
        well=took < grace and code is not None,
        what="SIGTERM ends it",
        seen=f"after {took:.1f} s (stop_grace {grace:g} s), exit code {code}",
    )


def _what_arrived(folder: Path) -> Step:
    """Why the record was not accepted, as far as the cluster saw."""
    history = History.load(folder)
    words = "\n".join((folder / "member-0.log").read_text(errors="replace").splitlines()[-5:])
    if not history.attempts:
        seen = "no request came to the tenant's cluster: does it subscribe to the pattern, and reach its endpoint?"
    elif all(token is None for attempt in history.attempts for token in attempt.tokens()):
        seen = "requests came, without the record's token: documents must keep the record's text"
    else:
        statuses = sorted({str(status) for attempt in history.attempts for _, status in attempt.items()})
        seen = f"requests with the record came, and were answered {', '.join(statuses)}: see attempts.ndjson"
    return Step(well=False, what="its tenant's cluster accepts the record", seen=f"{seen}; its last words:\n{words}")


def _accepted(folder: Path) -> Iterator[Step]:
    history = History.load(folder)
    record = history.produced[0]
    yield Step(
        well=True,
        what="Kafka takes a record",
        seen=f"{history.place(record)}, {record.size} bytes, {record.items} items",
    )
    first = next(attempt for attempt in history.attempts if attempt.carries(record.record))
    yield Step(
        well=True,
        what="a request with it arrives at its tenant's cluster",
        seen=f"{first.arrived - record.acked:.2f} s later, {first.size} bytes on the wire",
    )
    delay = history.accepted_at(record) - record.acked
    yield Step(well=True, what="its tenant's cluster accepts the record", seen=f"{delay:.2f} s after Kafka took it")


def _commit(folder: Path, *, well: bool, interval: float) -> Step:
    history = History.load(folder)
    record = history.produced[0]
    what = "its offset is committed"
    if not well:
        latest = history.commits[-1].offsets if history.commits else {}
        seen = f"not within the commit interval ({interval:g} s) and a margin; committed offsets of the group: {latest}"
        return Step(well=False, what=what, seen=f"{seen} (group {history.meta.group})")
    place = (record.topic, record.partition)
    first = next(each for each in history.commits if each.offsets.get(place, 0) > record.offset)
    return Step(
        well=True, what=what, seen=f"{max(0.0, first.ended - history.accepted_at(record)):.2f} s after it was accepted"
    )
