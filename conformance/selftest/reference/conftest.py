"""What the tests of the reference share."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from isolane.conformance.selftest.reference.program_bench import MODES, Bench
from isolane.reference.outcome import Outcome, Reply
from isolane.reference.runtime import Runtime

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from isolane.reference.config import Mode


@pytest.fixture
def runtime() -> Iterator[Runtime]:
    """A runtime whose threads must not crash."""
    crashes: list[tuple[str, Exception]] = []
    yield Runtime(lambda thread, error: crashes.append((thread, error)), seed=1)
    assert not crashes


@pytest.fixture
def bench_of(runtime: Runtime) -> Iterator[Callable[..., Bench]]:
    """Makes benches, whose programs end with the test."""
    made: list[Bench] = []

    def make(mode: Mode = "isolated", grace: float = 0.5, **settings: object) -> Bench:
        made.append(Bench(runtime, mode, grace, **settings))
        return made[-1]

    yield make
    for bench in made:
        bench.stop()
        for cluster in bench.clusters.values():
            cluster.answer(lambda documents: Reply.whole(Outcome.RETRYABLE, len(documents), "over"))


@pytest.fixture(params=MODES)
def bench(bench_of: Callable[..., Bench], request: pytest.FixtureRequest) -> Bench:
    """A bench in each mode."""
    return bench_of(request.param)
