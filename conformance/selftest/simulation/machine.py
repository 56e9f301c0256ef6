"""A simulated world as a state machine: Hypothesis chooses load, faults and order, and makes failures small."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule

from isolane.conformance.simulation.choice import TIME, Queued
from isolane.conformance.simulation.failures import Failure
from isolane.conformance.simulation.schedule import prepared
from isolane.conformance.simulation.scripts import SCRIPTS
from isolane.conformance.simulation.settings import PAYLOADS, Settings
from isolane.conformance.simulation.world import World

SOME = st.integers(0, 2)
THEN = st.sampled_from((0, 5, 20, 60, 150))
ORDER = st.lists(st.tuples(st.integers(1, 60), st.integers(TIME, 9)), max_size=6)
"""Where the order of tasks leaves the default: after so many choices, and who goes on instead."""


class Life(RuleBasedStateMachine):
    """Whatever is done to a world, no rule is broken; healed, everything is delivered, committed and given back.

    After each step the requirements OFF-1, OFF-2, OFF-5, TEN-2, LIM-8, MEM-1, MEM-2 and MEM-6 hold, and at the end
    DEL-1, and LIF-2.
    """

    def __init__(self) -> None:
        """Prepare the reference; there is no world yet."""
        super().__init__()
        self._prepared = prepared()
        self._prepared.__enter__()
        self._choice = Queued()
        self._world: World | None = None
        self._failed = False

    @initialize(
        tenants=st.integers(1, 3),
        partitions=st.integers(1, 2),
        members=st.integers(1, 3),
        protocol=st.sampled_from(("cooperative", "eager")),
        mode=st.sampled_from(("isolated", "isolated", "partition_workers", "shared_loop")),
    )
    def begin(self, **sizes: Any) -> None:  # noqa: ANN401 - as `Settings` has them
        """Make a world."""
        self._world = World(Settings(**sizes), self._choice)

    @rule(place=st.integers(0, 5), kind=st.sampled_from(sorted(PAYLOADS)), count=st.integers(1, 8), gap=SOME)
    def produce(self, place: int, kind: str, count: int, gap: int) -> None:
        """Produce records."""
        self._do("produce", place, kind, count, gap)

    @rule(tenant=SOME, script=st.sampled_from(sorted(SCRIPTS)))
    def sicken(self, tenant: int, script: str) -> None:
        """Let a cluster be sick."""
        self._do("sicken", tenant, script)

    @rule(action=st.sampled_from(("heal", "crash", "freeze", "leave", "grow")), number=SOME)
    def change(self, action: str, number: int) -> None:
        """Heal a cluster, do something to a member, or add a partition."""
        self._do(action, number)

    @rule(action=st.sampled_from(("join", "thaw", "lose_letters", "find_letters", "lose_broker", "find_broker")))
    def befall(self, action: str) -> None:
        """Change something of which there is only one."""
        self._do(action)

    @rule(then=THEN, order=ORDER)
    def go_on(self, then: int, order: list[tuple[int, int]]) -> None:
        """Let everybody go on, in some order."""
        assert self._world is not None
        self._choice.then(self._world.scheduler.points, order)
        self._do("go_on", then / 1000)

    @precondition(lambda self: self._world.records)
    @rule(order=ORDER, script=st.sampled_from(sorted(SCRIPTS)))
    def stop(self, order: list[tuple[int, int]], script: str) -> None:
        """Stop all members while clusters are sick; others start."""
        assert self._world is not None
        self._do("finish")
        self._choice.then(self._world.scheduler.points, order)
        self._do("stop_all", script)
        self._do("join")

    def teardown(self) -> None:
        """Heal everything, and see that it ends well."""
        try:
            if self._world is not None and not self._failed:
                self._world.finish()
        finally:
            if self._world is not None:
                self._world.close()
            self._prepared.__exit__(None, None, None)

    def _do(self, action: str, *arguments: object) -> None:
        try:
            getattr(self._world, action)(*arguments)
        except Failure:
            self._failed = True
            raise
