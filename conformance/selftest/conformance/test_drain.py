"""How long a drain is waited for: for as long as something comes now and then, within reason."""

from __future__ import annotations

from pathlib import Path
from typing import Any, cast

import pytest

from isolane.conformance.selftest.conformance.test_capacity import Clock, world_of
from isolane.conformance.world import STILL, World, ground, loading, waiting
from isolane.fixtures.implementations import descriptor
from isolane.fixtures.implementations.descriptor import Descriptor

TIMEOUT = 20.0


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    """Time that passes at once."""
    clock = Clock()
    for module in (ground, loading, waiting):
        monkeypatch.setattr(module, "time", clock)
    return clock


def behind(folder: Path, clock: Clock, *, records: int, apart: float) -> World:
    """A world with a backlog of which a record comes every so many seconds; all of it is committed by then."""
    world = world_of(folder, lost=0)
    cast("Any", world)._missing = lambda: {
        record: 1 for record in range(records) if (record + 1) * apart > clock.monotonic()
    }
    cast("Any", world.load).ends = dict
    return world


def test_a_drain_that_goes_on_is_waited_for_to_its_end(tmp_path: Path, clock: Clock) -> None:
    """DEL-1 has no bound of time: who delivers without a pause has lost nothing."""
    assert behind(tmp_path, clock, records=50, apart=1).drain(TIMEOUT)
    assert clock.now == pytest.approx(50, abs=1)


def test_a_drain_that_stands_still_is_not_waited_for_any_longer(tmp_path: Path, clock: Clock) -> None:
    """Neither one in which nothing comes at all, nor what is left of one that went on for longer."""
    assert not behind(tmp_path, clock, records=1, apart=1000).drain(TIMEOUT)
    assert clock.now == pytest.approx(TIMEOUT, abs=1)
    clock.now = 0
    world = behind(tmp_path, clock, records=31, apart=1)
    come = cast("Any", world)._missing
    cast("Any", world)._missing = lambda: come() | {1000: 1}
    assert not world.drain(TIMEOUT)
    assert clock.now == pytest.approx(31 + STILL, abs=1)


def test_a_drain_without_an_end_is_given_up(tmp_path: Path, clock: Clock) -> None:
    """A run ends, however slowly its backlog comes."""
    assert not behind(tmp_path, clock, records=1000, apart=1).drain(TIMEOUT)
    assert clock.now == pytest.approx(waiting.LONGER * TIMEOUT, abs=1)


def test_a_backlog_in_mid_run_is_not_waited_for_any_longer(tmp_path: Path, clock: Clock) -> None:
    """There is the drain for that."""
    assert not behind(tmp_path, clock, records=50, apart=1).await_backlog_of("a", timeout=TIMEOUT)
    assert clock.now == pytest.approx(TIMEOUT, abs=1)


@pytest.mark.parametrize(("interval", "patience"), [(None, 28), (5, 35), (60, 90), (3600, 90)])
def test_patience_lasts_as_long_as_the_next_probe_may(interval: float | None, patience: float, tmp_path: Path) -> None:
    """LIM-4: a cluster may be tried again as late as the descriptor says, as far as that is believed."""
    world = world_of(tmp_path, lost=0)
    world.descriptor = _probing(interval)
    assert world.patience == patience


def _probing(interval: float | None) -> Descriptor:
    """The reference, as if it published this interval, and attempts of up to 30 s."""
    reference = descriptor.find("reference")
    limits = reference.limits.model_copy(update={"probe_interval": interval})
    timing = reference.timing.model_copy(update={"request_timeout": 30})
    return reference.model_copy(update={"limits": limits, "timing": timing})
