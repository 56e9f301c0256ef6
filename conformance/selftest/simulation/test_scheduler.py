"""Tasks, the clock, and what the scheduler finds wrong."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import pairwise
from random import Random

import pytest

from isolane.conformance.simulation.choice import TIME, Choice, Deviation, Recorded, Replayed, Walk, seeded
from isolane.conformance.simulation.failures import CRASH, DEADLOCK, HELD, LIVELOCK, Failure
from isolane.conformance.simulation.runtime import SimulatedRuntime
from isolane.conformance.simulation.scheduler import Process, Scheduler

Begin = Callable[..., SimulatedRuntime]


@pytest.fixture
def begin() -> Iterator[Begin]:
    """Makes a runtime of one process, under a choice; its tasks are ended after the test."""
    schedulers = []

    def make(*deviations: Deviation, choice: Choice | None = None) -> SimulatedRuntime:
        schedulers.append(Scheduler(choice or Replayed(deviations)))
        return SimulatedRuntime(schedulers[-1], Process("p"), seed=1)

    yield make
    for scheduler in schedulers:
        scheduler.close()


def test_time_passes_only_when_nobody_is_ready(begin: Begin) -> None:
    """Each task sees the time that it waited for, in order, and no real time passes."""
    runtime = begin()
    seen = []
    for seconds in (3600.0, 60.0, 86400.0):

        def work(seconds: float = seconds) -> None:
            runtime.scheduler.sleep(seconds)
            seen.append((seconds, runtime.now()))

        runtime.spawn(f"{seconds}", work)
    runtime.scheduler.sleep(100_000)
    assert seen == [(60.0, 60.0), (3600.0, 3600.0), (86400.0, 86400.0)]
    assert runtime.now() == 100_000


def test_the_choice_may_let_time_pass_while_others_are_ready(begin: Begin) -> None:
    """A task that is ready and slow meets a time-out that has passed meanwhile."""
    runtime = begin(Deviation(3, TIME))
    seen: list[float] = []
    runtime.spawn("sleeper", lambda: runtime.scheduler.sleep(5))

    def work() -> None:
        runtime.scheduler.point()
        seen.append(runtime.now())

    runtime.spawn("slow", work)
    runtime.scheduler.sleep(10)
    assert seen == [5.0]


def test_a_lock_is_held_by_one(begin: Begin) -> None:
    """Whatever the interleaving, an increment in two steps under a lock loses nothing, and without one it may."""
    lost = 0
    for seed in range(30):
        runtime = begin(choice=seeded(seed))
        lock, guarded, bare = runtime.lock(), [0], [0]

        def work(runtime: SimulatedRuntime = runtime) -> None:
            for _ in range(5):
                with lock:  # noqa: B023 - done before the next one is made
                    before = guarded[0]  # noqa: B023
                    runtime.scheduler.point()
                    guarded[0] = before + 1  # noqa: B023
                before = bare[0]  # noqa: B023
                runtime.scheduler.point()
                bare[0] = before + 1  # noqa: B023

        for thread in [runtime.spawn(f"{number}", work) for number in range(3)]:
            thread.join()
        assert guarded == [15]
        lost += bare[0] < 15
    assert lost


def test_a_condition_wakes_who_waits(begin: Begin) -> None:
    """One waiter for a notification, all of them for `notify_all`, and none before."""
    runtime = begin()
    condition, woken = runtime.condition(), []

    def wait(name: int) -> None:
        with condition:
            assert condition.wait(50)
            woken.append(name)

    for number in range(3):
        runtime.spawn(f"{number}", lambda number=number: wait(number))  # type: ignore[misc]  # a default binds it
    runtime.scheduler.sleep(1)
    assert woken == []
    with condition:
        condition.notify()
    runtime.scheduler.sleep(1)
    assert woken == [0]
    with condition:
        condition.notify_all()
    runtime.scheduler.sleep(1)
    assert woken == [0, 1, 2]


def test_waiting_ends_when_time_runs_out(begin: Begin) -> None:
    """`wait` returns False then, and the lock is held again; a `join` returns, too."""
    runtime = begin()
    condition = runtime.condition()
    thread = runtime.spawn("long", lambda: runtime.scheduler.sleep(10))
    with condition:
        assert not condition.wait(0.25)
        assert runtime.now() == 0.25
        condition.notify()  # the lock is held: it may be asked for
    thread.join(1)
    assert (runtime.now(), thread.is_alive()) == (1.25, True)
    thread.join()
    assert (runtime.now(), thread.is_alive()) == (10.0, False)


def test_two_locks_in_opposite_orders_are_a_deadlock(begin: Begin) -> None:
    """It is found when it happens, with the stack of every task that is part of it."""
    runtime = begin(Deviation(3, 1))
    one, two = runtime.lock(), runtime.lock()

    def take(first: object, second: object) -> None:
        with first, second:  # type: ignore[attr-defined]  # locks
            pass

    runtime.spawn("there", lambda: take(one, two))
    runtime.spawn("back", lambda: take(two, one))
    with pytest.raises(Failure) as caught:
        runtime.scheduler.sleep(1)
    assert caught.value.rule == DEADLOCK
    assert sorted(line for line in caught.value.details if line.startswith("p: ")) == [
        "p: back waits for lock",
        "p: there",
    ]


def test_nothing_that_will_ever_happen_is_a_deadlock(begin: Begin) -> None:
    """When all tasks wait for each other and no time-out is set, the schedule ends."""
    runtime = begin()
    condition = runtime.condition()

    def wait() -> None:
        with condition:
            condition.wait()

    thread = runtime.spawn("waits", wait)
    with pytest.raises(Failure, match="nothing will ever happen"):
        thread.join()


def test_tasks_that_spin_are_a_livelock(begin: Begin, monkeypatch: pytest.MonkeyPatch) -> None:
    """Switching for ever while no time passes ends the schedule."""
    monkeypatch.setattr("isolane.conformance.simulation.scheduler._BUSY", 1000)
    runtime = begin(choice=Walk(Random(1), stickiness=0.0, haste=0.0))

    def spin() -> None:
        while True:
            runtime.scheduler.point()

    runtime.spawn("one", spin)
    runtime.spawn("other", spin)
    with pytest.raises(Failure) as caught:
        runtime.scheduler.sleep(1)
    assert caught.value.rule == LIVELOCK


def test_a_lock_held_while_sleeping_is_told(begin: Begin) -> None:
    """Design decision 1: no lock is held over a call that blocks."""
    runtime = begin()
    lock = runtime.lock()

    def work() -> None:
        with lock:
            runtime.scheduler.sleep(1)

    runtime.spawn("sleeper", work)
    with pytest.raises(Failure, match="sleeper waits for time") as caught:
        runtime.scheduler.sleep(2)
    assert caught.value.rule == HELD


def test_an_exception_in_a_thread_ends_the_schedule(begin: Begin) -> None:
    """It is a finding, with the place that it came from."""
    runtime = begin()
    runtime.spawn("divider", lambda: 1 / 0)  # type: ignore[arg-type]  # it returns nothing
    with pytest.raises(Failure, match="divider ended with ZeroDivisionError") as caught:
        runtime.scheduler.sleep(1)
    assert caught.value.rule == CRASH


def test_a_frozen_process_does_nothing_until_it_is_thawed(begin: Begin) -> None:
    """Its time-outs pass meanwhile; a killed one never goes on."""
    runtime = begin()
    seen: list[float] = []

    def tick() -> None:
        while True:
            runtime.scheduler.sleep(1)
            seen.append(runtime.now())

    runtime.spawn("ticker", tick)
    runtime.scheduler.sleep(1.5)
    runtime.scheduler.freeze(runtime.process)
    runtime.scheduler.sleep(10)
    runtime.scheduler.thaw(runtime.process)
    runtime.scheduler.sleep(1.2)
    runtime.scheduler.kill(runtime.process)
    runtime.scheduler.sleep(10)
    assert seen == [1.0, 11.5, 12.5]


def run(runtime: SimulatedRuntime) -> list[str]:
    """Three tasks that share a lock; the order of what they did."""
    lock, order = runtime.lock(), []

    def work(name: str) -> None:
        for _ in range(4):
            with lock:
                order.append(name)
            runtime.scheduler.sleep(runtime.random())

    for name in "abc":
        runtime.spawn(name, lambda name=name: work(name))  # type: ignore[misc]  # a default binds it
    runtime.scheduler.sleep(20)
    return order


@pytest.mark.parametrize("seed", [0, 1, 2, 3, 4, 5])
def test_what_a_choice_did_is_told_by_its_deviations(begin: Begin, seed: int) -> None:
    """Replayed, they give the same run, to the last switch."""
    recorded = Recorded(seeded(seed))
    first = Scheduler(recorded)
    orders = [run(SimulatedRuntime(first, Process("p"), seed=1))]
    first.close()
    second = begin(*recorded.deviations)
    orders.append(run(second))
    assert orders[0] == orders[1]
    assert first.digest == second.scheduler.digest
    assert all(earlier.point < later.point for earlier, later in pairwise(recorded.deviations))
