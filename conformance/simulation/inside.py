"""What is looked at inside the reference while it runs: caps, slots, allowances and the budget.

This is the one place that knows private names of the reference; each function fails the schedule when a rule is broken.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from isolane.conformance.simulation.failures import Failure
from isolane.reference.sending import IsolatedLine

if TYPE_CHECKING:
    from collections.abc import Hashable

    from isolane.reference.limiter import Grant
    from isolane.reference.partition import Partition
    from isolane.reference.program import Program


def partitions(program: Program) -> list[Partition]:
    """Return the ownerships that the program has now."""
    return list(program._receiver._partitions.values())


def check_attempt(program: Program, tenant: str, key: Hashable, open_attempts: int) -> None:
    """LIM-8: each attempt under way has a slot of its own, and none is granted beyond the cap."""
    line = program._line
    if not isinstance(line, IsolatedLine):
        return
    slots = line._dispatcher.slots(tenant)
    if open_attempts > slots:
        raise Failure("LIM-8", f"{open_attempts} attempts are open to the cluster of {tenant}, on {slots} slots")
    grant: Grant = key  # type: ignore[assignment]  # that is what the isolated line uses
    state = line._dispatcher._tenants[tenant]
    if slots > state.cap.value and grant.began > state.cap._halved_at:
        raise Failure("LIM-8", f"{tenant} was granted {slots} slots with a cap of {state.cap.value}")


def check(program: Program, poll_bytes: int) -> None:
    """LIM-8, MEM-1, MEM-2 and MEM-6, as far as they can be seen between two steps.

    Args:
        program: While none of its tasks is within a critical section.
        poll_bytes: What one poll can bring at most, decoded.
    """
    line = program._line
    for partition in partitions(program):
        if partition._changed.owner is None:  # type: ignore[attr-defined]  # simulated
            _check_allowance(partition)
    if isinstance(line, IsolatedLine) and line._work_came.owner is None:  # type: ignore[attr-defined]  # simulated
        _check_slots(line)
    if isinstance(line, IsolatedLine) and line._budget_lock.owner is None:  # type: ignore[attr-defined]  # simulated
        _check_budget(line, partitions(program), poll_bytes)


def left_behind(program: Program) -> Failure | None:
    """LIM-8, MEM-2, MEM-6: return what a program holds that has nothing left to do, or None."""
    for partition in partitions(program):
        allowance = partition._allowance
        if allowance.records or allowance.bytes or partition._mailbox or partition._mailbox_bytes:
            return Failure("MEM-2", f"{partition.place} holds {allowance.records} records, and nothing is left to do")
    line = program._line
    if isinstance(line, IsolatedLine):
        if line._dispatcher._open:
            return Failure("LIM-8", f"{len(line._dispatcher._open)} slots are held, and nothing is left to do")
        if line._budget.bytes:
            return Failure("MEM-6", f"{line._budget.bytes} bytes are held, and nothing is left to do")
    return None


def _check_allowance(partition: Partition) -> None:
    bounds, held = partition._bounds.max_in_flight, partition._allowance
    if held.records > bounds.records:
        raise Failure("MEM-1", f"{partition.place} has {held.records} records in flight of {bounds.records}")
    if held.bytes > bounds.bytes and held.records > 1:
        raise Failure("MEM-2", f"{partition.place} has {held.bytes} bytes in flight of {bounds.bytes}")
    if held.records < 0 or held.bytes < 0:
        back = f"{-held.records} records and {-held.bytes} bytes"
        raise Failure("MEM-2", f"{partition.place} has given back {back} more than it had in flight")


def _check_slots(line: IsolatedLine) -> None:
    dispatcher = line._dispatcher
    held = Counter(grant.flush.lane.tenant for grant in dispatcher._open)
    if dispatcher._free + len(dispatcher._open) != line._workers or dispatcher._free < 0:
        raise Failure(
            "LIM-8", f"{dispatcher._free} workers are free and {len(dispatcher._open)} busy, of {line._workers}"
        )
    for name, tenant in dispatcher._tenants.items():
        if tenant.slots != held[name]:
            raise Failure("LIM-8", f"{name} holds {tenant.slots} slots for {held[name]} attempts")


def _check_budget(line: IsolatedLine, owned: list[Partition], poll_bytes: int) -> None:
    budget = line._budget
    if budget.bytes > budget._limit + poll_bytes:
        raise Failure("MEM-6", f"{budget.bytes} bytes are held, of {budget._limit} and one poll of {poll_bytes}")
    if any(partition._changed.owner for partition in owned):  # type: ignore[attr-defined]  # simulated
        return
    if sum(budget._tenants.values()) != budget.bytes:
        raise Failure("MEM-6", f"{budget.bytes} bytes are held, and the tenants' parts do not come to that")
