"""What is looked for is found: each rule of the simulation is broken on purpose."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import nullcontext

import pytest

from isolane.conformance.simulation import guards, inside
from isolane.conformance.simulation.broker import Log
from isolane.conformance.simulation.choice import Replayed
from isolane.conformance.simulation.failures import LOCKSET, Failure
from isolane.conformance.simulation.guards import GUARDED
from isolane.conformance.simulation.ledger import Ledger
from isolane.conformance.simulation.runtime import SimulatedRuntime
from isolane.conformance.simulation.schedule import prepared
from isolane.conformance.simulation.scheduler import Process, Scheduler
from isolane.conformance.simulation.settings import LARGEST, PAYLOADS, Settings, places_of, position_of
from isolane.conformance.simulation.story import Story
from isolane.conformance.simulation.world import World
from isolane.reference.config import Mode
from isolane.reference.otlp import Undecodable, documents
from isolane.reference.program import Program

(PLACE,) = places_of("t0", 1)


@pytest.fixture
def ledger() -> Iterator[Ledger]:
    """Of three records, of which the first two are finished; the last has two items."""
    scheduler = Scheduler(Replayed())
    made = Ledger(scheduler, Story(lambda: 0.0, wanted=False))
    for offset, items in ((0, 1), (1, 0), (5, 2)):
        made.produced(PLACE, offset, "t0", items)
    made.accepted("t0", f"{PLACE.topic}:0:0:0")
    yield made
    scheduler.close()


def log_of(end: int) -> Log:
    """A log that ends there."""
    log = Log()
    log.skip(end)
    return log


def test_a_commit_may_pass_what_is_finished(ledger: Ledger) -> None:
    """Also over a hole, up to the next record; and over that once each of its items is accepted or dead-lettered."""
    ledger.committed("p", PLACE, 2, log_of(6), foreign=False)
    ledger.committed("p", PLACE, 5, log_of(6), foreign=False)
    assert ledger.uncommitted() == [PLACE]
    ledger.accepted("t0", f"{PLACE.topic}:0:5:0")
    ledger.dead_lettered(PLACE.topic, 0, 5, 1)
    ledger.committed("p", PLACE, 6, log_of(6), foreign=False)
    assert ledger.uncommitted() == []
    assert ledger.unfinished == 0


def test_a_dead_letter_counts_for_its_own_item(ledger: Ledger) -> None:
    """Whichever of them is first, and however often it is written."""
    for _ in range(2):
        ledger.dead_lettered(PLACE.topic, 0, 5, 0)
    assert ledger.unfinished == 1
    ledger.accepted("t0", f"{PLACE.topic}:0:5:1")
    assert ledger.unfinished == 0


@pytest.mark.parametrize("kind", sorted(PAYLOADS))
def test_what_is_produced_tells_its_items_apart(kind: str) -> None:
    """As a document of its own, or as a record that is none, each has the position that it is told by."""
    value, items = PAYLOADS[kind]
    try:
        sources = [document.source for document in documents("logs.t0", 0, 0, "logs", value)]
    except Undecodable:
        sources = [value or b""]
    assert [position_of(source) for source in sources] == list(range(items))


@pytest.mark.parametrize(
    ("offset", "foreign", "rule"),
    [(6, False, "OFF-1"), (1, False, "OFF-2"), (7, False, "OFF-2"), (2, True, "OFF-5")],
)
def test_a_commit_that_breaks_a_rule_is_seen(ledger: Ledger, offset: int, rule: str, *, foreign: bool) -> None:
    """Past what is not finished, backwards, beyond the end, and of a partition that another member owns."""
    ledger.committed("p", PLACE, 2, log_of(6), foreign=False)
    with pytest.raises(Failure) as caught:
        ledger.committed("p", PLACE, offset, log_of(6), foreign=foreign)
    assert caught.value.rule == rule


@pytest.fixture
def busy() -> Iterator[Program]:
    """A program with a record in flight to a cluster that does not answer."""
    with prepared():
        world = World(Settings(tenants=1, partitions=1), Replayed())
        world.sicken(0, "answers nothing")
        world.produce(0, "one item", 4)
        world.go_on(0.1)
        yield world._members[0].program
        world.close()


@pytest.mark.parametrize("punctual", [True, False])
def test_a_stop_is_judged_where_nobody_was_slow_since_it_began(*, punctual: bool) -> None:
    """LIF-2: slow threads are nobody's fault, also if nobody is slow any more when the time for the stop is over."""
    with prepared():
        world = World(Settings(tenants=1, partitions=1), Replayed())
        world.go_on(0.1)
        (member,) = world._members
        member.program._receiver.stop = lambda: None  # type: ignore[method-assign]  # it goes on for ever
        world.scheduler.punctual = punctual
        member.stop()
        world.go_on(0.5)
        world.scheduler.punctual = True
        with pytest.raises(Failure, match="LIF-2: p1 was not stopped within") if punctual else nullcontext():
            world.go_on(0.5)
        world.close()


def _grant_one_too_many(program: Program) -> None:
    program._line._dispatcher._free -= 1  # type: ignore[attr-defined]


def _leak_a_slot(program: Program) -> None:
    program._line._dispatcher._tenants["t0"].slots += 1  # type: ignore[attr-defined]


def _exceed_the_bytes(program: Program) -> None:
    allowance = inside.partitions(program)[0]._allowance
    allowance.records, allowance.bytes = 2, 10_000


def _exceed_the_records(program: Program) -> None:
    inside.partitions(program)[0]._allowance.records = 4


def _give_back_too_much(program: Program) -> None:
    inside.partitions(program)[0]._allowance.bytes = -1


def _exceed_the_budget(program: Program) -> None:
    program._line.hold("t0", 10_000_000)


@pytest.mark.parametrize(
    ("breaks", "rule"),
    [
        (_grant_one_too_many, "LIM-8"),
        (_leak_a_slot, "LIM-8"),
        (_exceed_the_bytes, "MEM-2"),
        (_exceed_the_records, "MEM-1"),
        (_give_back_too_much, "MEM-2"),
        (_exceed_the_budget, "MEM-6"),
    ],
)
def test_what_is_wrong_inside_is_seen(busy: Program, breaks: Callable[[Program], None], rule: str) -> None:
    """Slots, allowances and the budget are looked at between steps."""
    inside.check(busy, 50 * LARGEST)
    breaks(busy)
    with pytest.raises(Failure) as caught:
        inside.check(busy, 50 * LARGEST)
    assert caught.value.rule == rule


def test_what_is_held_when_nothing_is_left_to_do_is_seen(busy: Program) -> None:
    """A program that is not at rest is not taken for one that is."""
    left = inside.left_behind(busy)
    assert left is not None
    assert left.rule == "MEM-2"


class Account:
    """A class that guards a balance."""

    def __init__(self, runtime: SimulatedRuntime) -> None:
        """Begin with nothing."""
        self.balance = 0
        self.name = "own"
        self.lock = runtime.lock()


@pytest.mark.parametrize("touch", [lambda own: own.balance, lambda own: setattr(own, "name", "other")])
def test_a_touch_without_the_lock_is_seen(monkeypatch: pytest.MonkeyPatch, touch: Callable[[Account], object]) -> None:
    """A read or a write of what the lock guards, and a write of what is read freely."""
    monkeypatch.setattr(guards, "GUARDED", (guards.Guarded(Account, "lock", ("balance",), ("name",)),))
    scheduler = Scheduler(Replayed())
    runtime = SimulatedRuntime(scheduler, Process("p"), seed=1)

    def good() -> None:
        with account.lock:
            account.balance += 1
            account.name = "new"
        assert account.name == "new"

    with guards.watched():
        account = Account(runtime)
        runtime.spawn("good", good).join()
        runtime.spawn("bad", lambda: touch(account))  # type: ignore[arg-type]  # what it returns is nobody's
        with pytest.raises(Failure, match="bad touched Account") as caught:
            scheduler.sleep(1)
    scheduler.close()
    assert caught.value.rule == LOCKSET
    assert account.__dict__["balance"] == 1
    assert "balance" not in vars(Account)


def test_every_lock_of_the_reference_guards_something_that_is_watched(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each class that makes a lock in a running program is in the list, and each attribute in the list exists."""
    owners: set[type] = set()
    for make in (SimulatedRuntime.lock, SimulatedRuntime.condition):
        monkeypatch.setattr(SimulatedRuntime, make.__name__, _noting(make, owners))
    modes: tuple[Mode, ...] = ("isolated", "partition_workers")
    for mode in modes:
        world = World(Settings(mode=mode), Replayed())
        world.go_on(0.2)
        world.close()
    assert owners == {guarded.owner for guarded in GUARDED}


def _noting(make: Callable[..., object], owners: set[type]) -> Callable[..., object]:
    import sys

    def noted(self: SimulatedRuntime) -> object:
        owners.add(type(sys._getframe(1).f_locals["self"]))
        return make(self)

    return noted
