"""Timelines that are drawn: the same from the same seed, sound, various, and such that their faults end in order."""

from __future__ import annotations

import subprocess
import sys
from itertools import pairwise
from pathlib import Path

import pytest

from isolane.chaos.generating import TENANTS, drawn
from isolane.chaos.happenings import KAFKA, BrokerKill, Lasting, Network, ends
from isolane.chaos.timeline import Timeline, load

SEEDS = range(3)


@pytest.fixture(scope="module")
def timelines() -> list[Timeline]:
    """Some that were drawn."""
    return [drawn(seed) for seed in SEEDS]


def test_a_seed_draws_the_same_again(timelines: list[Timeline]) -> None:
    """So a run can be repeated; and no two seeds draw the same."""
    assert drawn(SEEDS[0]) == timelines[0]
    assert len({timeline.toml() for timeline in timelines}) == len(timelines)


def test_another_process_draws_the_same() -> None:
    """Whatever modules it has loaded: `--scenario drawn-7` is to be what `--minutes` drew, and shrinks, by its seed."""
    draw = "from isolane.chaos.generating import drawn; print([drawn(seed).toml() for seed in range(8)])"
    alone, another = (
        subprocess.run([sys.executable, "-c", first + draw], check=True, capture_output=True, text=True).stdout
        for first in ("", "import isolane.conformance.cli; ")
    )
    assert alone == another


def test_what_is_drawn_can_be_kept(timelines: list[Timeline], tmp_path: Path) -> None:
    """Its TOML is read without complaint, and is the same."""
    for timeline in timelines:
        path = tmp_path / f"{timeline.name}.toml"
        path.write_text(timeline.toml())
        assert load(path) == timeline


def test_what_is_drawn_is_various(timelines: list[Timeline]) -> None:
    """Each has many kinds, in order of time."""
    for timeline in timelines:
        assert len({type(fault) for fault in timeline.faults}) >= 8
        assert [fault.at for fault in timeline.faults] == sorted(fault.at for fault in timeline.faults)


@pytest.mark.parametrize("place", [KAFKA, *(tenant.name for tenant in TENANTS)])
def test_one_thing_at_a_time_is_wrong_with_a_place(place: str, timelines: list[Timeline]) -> None:
    """What is wrong with Kafka, or with a tenant's cluster, has ended before something else begins."""
    for timeline in timelines:
        wrong = [fault for fault in timeline.faults if _at(fault) == place]
        for before, after in pairwise(wrong):
            assert ends(before) <= after.at


def _at(fault: object) -> str | None:
    if isinstance(fault, BrokerKill):
        return KAFKA
    if isinstance(fault, Network):
        return fault.target
    return getattr(fault, "tenant", None) if isinstance(fault, Lasting) else None
