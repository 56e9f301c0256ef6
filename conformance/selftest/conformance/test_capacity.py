"""Capacity of an implementation that does not deliver everything: a finding for later, not the end of the run."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast

import pytest

from isolane.conformance.errors import NoTrafficError
from isolane.conformance.history_files import ATTEMPTS
from isolane.conformance.progress import Progress
from isolane.conformance.shape import TenantShape
from isolane.conformance.tokens import Token
from isolane.conformance.world import STILL, World, WorldTenant, ground, loading, waiting
from isolane.fixtures.implementations import descriptor

RUN = 7
BURST = 40


class LossyLoad:
    """A load of one topic whose records are accepted at once, but for those that are lost."""

    def __init__(self, attempts: Path, lost: int) -> None:
        """Write what the cluster saw to `attempts`; the last `lost` records of a burst never arrive."""
        self._attempts, self._lost = attempts, lost
        self._fresh: dict[int, int] = {}

    def phase(self, _name: str) -> tuple[str, dict[int, int]]:
        """Nothing was offered before."""
        return "", {}

    def burst(self, records: Mapping[int, int]) -> None:
        """Send the records, and let those that are not lost be accepted."""
        tokens = [Token(RUN, 0, 0, sequence) for sequence in range(records[0])]
        self._fresh = {token.record: 1 for token in tokens}
        accepted = [str(token) for token in tokens[: records[0] - self._lost]]
        exchange = [
            {"e": "arrived", "r": 1, "tenant": "a", "at": 0.0, "bytes": 1, "open": 1, "tokens": accepted},
            {"e": "answered", "r": 1, "at": 0.0, "status": 200, "items": 201},
        ]
        self._attempts.write_text("".join(json.dumps(line) + "\n" for line in exchange if accepted))

    def settle(self, _timeout: float) -> int:
        """Kafka has all of them."""
        return len(self._fresh)

    def take_sent(self) -> dict[int, int]:
        """The records of the burst, once."""
        taken, self._fresh = self._fresh, {}
        return taken

    def place(self, record: int) -> tuple[int, int, int]:
        """Topic number, partition and offset of a record: one after the other."""
        return 0, 0, Token.of_record(record).sequence


class NoMembers:
    """No process that could end."""

    def ended(self) -> list[int]:
        """Nobody did."""
        return []


class Clock:
    """Time that passes when somebody sleeps, and a little when somebody looks at it."""

    def __init__(self) -> None:
        """Begin at nought."""
        self.now = 0.0

    def monotonic(self) -> float:
        """The time in seconds."""
        self.now += 0.001
        return self.now

    def sleep(self, seconds: float) -> None:
        """Let time pass."""
        self.now += seconds


class Commits:
    """Committed offsets as they were last read."""

    def __init__(self, offset: int) -> None:
        """The only partition's committed offset."""
        self.latest = {("t", 0): offset}


class Events:
    """Takes what the history is told."""

    def write(self, _line: Mapping[str, Any]) -> None:
        """Forget it."""


def world_of(folder: Path, *, lost: int, committed: int = 0) -> World:
    """A world of one tenant in which that many records of a burst are lost, and what is below an offset committed."""
    load = cast("Any", LossyLoad(folder / ATTEMPTS, lost))
    unused: Any = None
    return World(
        descriptor.find("reference"),
        load=load,
        members=cast("Any", NoMembers()),
        clusters=unused,
        commits=cast("Any", Commits(committed)),
        progress=Progress(load, folder, RUN, {0: "a"}),
        broker=unused,
        shape=unused,
        tenants={"a": WorldTenant(TenantShape("a", "sick", 1, rate=1), "a", {0: "t"})},
        events=cast("Any", Events()),
        phase_began=lambda _: None,
    )


@pytest.fixture(autouse=True)
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    """Time that passes at once."""
    clock = Clock()
    for module in (ground, loading, waiting):
        monkeypatch.setattr(module, "time", clock)
    return clock


def test_records_that_are_lost_do_not_end_the_run(tmp_path: Path) -> None:
    """An implementation that loses a part of a burst has the capacity at which it delivered the rest."""
    world = world_of(tmp_path, lost=BURST // 2)
    assert world.measure_capacity(BURST) > 0


def test_lost_records_are_not_waited_for_again(tmp_path: Path) -> None:
    """The backlog of a tenant is gone when everything has come but what had been given up before."""
    world = world_of(tmp_path, lost=BURST // 2)
    world.measure_capacity(BURST)
    assert world.await_backlog_of("a", timeout=0)


def test_a_backlog_that_does_not_come_is_waited_for_once(tmp_path: Path) -> None:
    """What was missing at the end of the patience counts as lost from then on; a verdict is for the checkers."""
    world = world_of(tmp_path, lost=1)
    world.load.burst({0: BURST})
    assert not world.await_backlog_of("a", timeout=0)
    assert world.await_backlog_of("a", timeout=0)


def test_what_comes_while_the_world_lives_on_is_followed_at_once(tmp_path: Path) -> None:
    """A minute's worth read in one go, when a heal begins, would starve the load and the very drain that is timed."""
    world = world_of(tmp_path, lost=1)
    world.load.burst({0: BURST})
    world.run_for(1)
    (tmp_path / ATTEMPTS).unlink()  # whatever was not read yet is not read any more
    assert len(world.behind("a")) == 1


@pytest.mark.parametrize(("committed", "waited"), [(BURST, STILL), (BURST - 1, 100.0)])
def test_what_is_committed_past_is_not_waited_for_as_long(
    committed: int, waited: float, tmp_path: Path, clock: Clock
) -> None:
    """A record that is missing and committed past is lost; one that is not committed may come until the time-out."""
    world = world_of(tmp_path, lost=1, committed=committed)
    world.load.burst({0: BURST})
    assert not world.await_backlog_of("a", timeout=100)
    assert clock.now == pytest.approx(waited, abs=1)


def test_an_implementation_that_delivers_nothing_has_no_capacity(tmp_path: Path) -> None:
    """Without a single record there is nothing to measure, and nothing to judge."""
    with pytest.raises(NoTrafficError, match="of a burst of 40 records none was accepted"):
        world_of(tmp_path, lost=BURST).measure_capacity(BURST)
