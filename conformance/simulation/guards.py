"""The lockset check: what a class says that its lock guards is touched only by who holds that lock.

Tasks switch only at the seam, so an unlocked check-then-act does no harm there and would go unseen. Installed from
outside, the reference stays as it is.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NamedTuple

from isolane.conformance.simulation.failures import LOCKSET, Failure
from isolane.reference.letters import Letters
from isolane.reference.partition import Partition
from isolane.reference.receiver import Receiver
from isolane.reference.sending import Afterwards, IsolatedLine
from isolane.reference.shared import SharedLine

if TYPE_CHECKING:
    from isolane.conformance.simulation.scheduler import Scheduler


class Guarded(NamedTuple):
    """What one lock of a class guards.

    Attributes:
        owner: The class.
        lock: The attribute that holds the lock, or the condition.
        attributes: Those that are neither read nor written without it.
        written: Those that are not written without it; they are read by whoever wants to.
    """

    owner: type
    lock: str
    attributes: tuple[str, ...]
    written: tuple[str, ...] = ()


GUARDED = (
    Guarded(
        Partition,
        "_changed",
        ("_mailbox", "_mailbox_bytes", "_prefix", "_allowance", "_ended"),
        ("closed",),
    ),
    Guarded(IsolatedLine, "_work_came", ("_dispatcher", "_tasks", "_again", "_closed")),
    Guarded(IsolatedLine, "_budget_lock", ("_budget",)),
    Guarded(SharedLine, "_changed", ("_queue", "_busy", "_accepted_at", "_closed")),
    Guarded(Letters, "_changed", ("_letters", "_written", "_closed")),
    Guarded(Afterwards, "_lock", ("_told", "_attempts", "_documents")),
    Guarded(Receiver, "_lock", (), ("_stopping",)),
)
"""What the docstrings of the reference's classes say of their locks."""


class _Watched:
    """Stands for an attribute in its class, and asks of each touch whether the lock is held."""

    __slots__ = ("lock", "name", "reads")

    def __init__(self, name: str, lock: str, *, reads: bool) -> None:
        self.name = name
        self.lock = lock
        self.reads = reads

    def __get__(self, instance: object, owner: type | None = None) -> Any:  # noqa: ANN401 - whatever the attribute is
        if instance is None:
            return self
        values = instance.__dict__
        lock = values.get(self.lock)  # None while the object is being made
        if lock is not None and lock.owner is not lock.scheduler.current and self.reads:
            self._complain(instance, lock.scheduler)
        return values[self.name]

    def __set__(self, instance: object, value: object) -> None:
        values = instance.__dict__
        lock = values.get(self.lock)
        if lock is not None and lock.owner is not lock.scheduler.current:
            self._complain(instance, lock.scheduler)
        values[self.name] = value

    def _complain(self, instance: object, scheduler: Scheduler) -> None:
        task = scheduler.current
        if task is not scheduler.driver and not scheduler.looked_at and not scheduler.closed:
            sentence = f"{task} touched {type(instance).__name__}.{self.name} without {self.lock}"
            scheduler.fail(Failure(LOCKSET, sentence, tuple(scheduler.stacks())))


@contextmanager
def watched() -> Iterator[None]:
    """Watch the guarded attributes of the reference within the block; all locks must be simulated there."""
    for owner, lock, attributes, written in GUARDED:
        for name in (*attributes, *written):
            setattr(owner, name, _Watched(name, lock, reads=name in attributes))
    try:
        yield
    finally:
        for owner, _, attributes, written in GUARDED:
            for name in (*attributes, *written):
                delattr(owner, name)
