"""The scenario of memory: in which order things happen to the clusters."""

from __future__ import annotations

from unittest.mock import MagicMock

from isolane.conformance.scenarios import memory


def test_clusters_are_dead_throughout_the_phase_that_is_judged() -> None:
    """MEM-4: what a healed cluster accepts at once must not count as accepted while it was dead."""
    world = MagicMock()
    memory._dead(world, 10.0, "dead-few", memory.FEW, {memory.FEW: memory.DEAD})
    told = [(name, arguments[:1]) for name, arguments, _ in world.method_calls if name in {"phase", "inject", "heal"}]
    assert told == [
        ("phase", ("fill:dead-few",)),
        ("inject", (memory.FEW,)),
        ("phase", ("fault:dead-few",)),
        ("phase", ("heal:dead-few",)),
        ("heal", (memory.FEW,)),
    ]
