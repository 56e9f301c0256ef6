"""Many lives at once: each step in its turn, as long as it has to be, whatever the others do."""

from __future__ import annotations

import time
from typing import cast

from isolane.conformance.timeline import Step, live
from isolane.conformance.world import World
from isolane.fixtures.cluster import Script


class FakeWorld:
    """A world in which each look finds that the script of a tenant has bitten once more, if it ever does."""

    def __init__(self, *, patience: float = 5.0, biting: bool = True) -> None:
        """Begin with nothing done."""
        self.patience, self._biting = patience, biting
        self.told: list[str] = []
        self.looks = 0
        self.owed = [{1, 2}, {2, 3}, {3}]

    def inject(self, tenant: str, name: str, *layers: Script) -> None:
        """See `World`."""
        self.told.append(f"{tenant}: {name} of {len(layers)}")

    def heal(self, tenant: str, name: str) -> None:
        """See `World`."""
        self.told.append(f"{tenant}: {name} healed")

    def bitten(self, tenant: str) -> int:
        """See `World`."""
        assert tenant
        self.looks += 1
        return self.looks if self._biting else 0

    def behind(self, tenant: str) -> set[int]:
        """See `World`: records come and go."""
        assert tenant
        return self.owed.pop(0)

    def run_for(self, seconds: float) -> None:
        """See `World`: time is not what is tested here."""
        time.sleep(seconds / 100)

    def lived(self, **lives: list[Step]) -> list[str]:
        """Live these lives; what was done."""
        live(cast("World", self), lives)
        return self.told


def test_each_tenant_goes_through_its_own_steps() -> None:
    """One after the other; a step without a name leaves the cluster healthy."""
    told = FakeWorld().lived(
        a=[Step(0, "slow", (Script(latency=1),)), Step(0), Step(0, "mixed", (Script(), Script()))],
        b=[Step(0.2, "down", (Script(status=503),))],
    )
    assert [line for line in told if line.startswith("a")] == [
        "a: slow of 1",
        "a: slow healed",
        "a: mixed of 2",
        "a: mixed healed",
    ]
    assert [line for line in told if line.startswith("b")] == ["b: down of 1", "b: down healed"]
    assert told[-1] == "b: down healed"


def test_a_step_lasts_until_its_fault_has_bitten() -> None:
    """Its time is the least."""
    world = FakeWorld()
    world.lived(a=[Step(0, "down", (Script(status=503),), bites=3)])
    assert world.looks == 3


def test_a_step_lasts_until_what_came_before_is_finished() -> None:
    """What comes meanwhile it does not wait for."""
    world = FakeWorld()
    world.lived(a=[Step(0, "large", (Script(body_limit=1),), settles=True)])
    assert world.owed == []


def test_a_fault_that_does_not_bite_ends_when_patience_does() -> None:
    """An implementation that never comes must not hold the others' lives up for ever."""
    world = FakeWorld(patience=0.1, biting=False)
    assert world.lived(a=[Step(0, "down", (Script(status=503),), bites=3)])[-1] == "a: down healed"


def test_what_a_step_begins_with_is_done_when_the_fault_is_on() -> None:
    """Records that are to meet it must not be quicker."""
    world = FakeWorld()
    step = Step(0, "large", (Script(body_limit=1),), at_first=lambda: world.told.append("sent"))
    assert world.lived(a=[step]) == ["a: large of 1", "sent", "a: large healed"]
