"""Timelines that are drawn: the same from the same seed, sound, various, and such that their faults end in order."""

from __future__ import annotations

import subprocess
import sys
from itertools import pairwise
from pathlib import Path
from typing import ClassVar

import pytest

from isolane.chaos.generating import AGAIN, SEEN, TENANTS, Plan, Walk, drawn
from isolane.chaos.happenings import (
    KAFKA,
    KINDS,
    BrokerFreeze,
    BrokerKill,
    Conflict,
    Happening,
    Lasting,
    Network,
    NewTopic,
    NoNewIndices,
    Oversized,
    ResetOffsets,
    ends,
)
from isolane.chaos.timeline import Timeline, load

SEEDS = range(24)


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


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: str(kind.model_fields["kind"].default))
def test_each_kind_is_drawn_where_it_is_possible(kind: type[Happening], timelines: list[Timeline]) -> None:
    """None is left to the fixed set alone; a timeline is refused in which something cannot be done."""
    assert any(isinstance(fault, kind) for timeline in timelines for fault in timeline.faults)


def test_what_is_never_accepted_has_time_to_be_seen(timelines: list[Timeline]) -> None:
    """Dead letters are what shows it: something comes later, and nothing before they can be there."""
    for timeline in timelines:
        for fault, after in pairwise((*timeline.faults, None)):
            if isinstance(fault, Conflict):
                assert after is not None
                assert after.at >= fault.at + SEEN


def test_nothing_is_asked_of_members_that_were_all_stopped(timelines: list[Timeline]) -> None:
    """Until they have joined again no fault of a cluster, or of the way to one, would meet their requests."""
    for timeline in timelines:
        for number, fault in enumerate(timeline.faults):
            if isinstance(fault, ResetOffsets):
                meanwhile = [each for each in timeline.faults[number + 1 :] if each.at < fault.at + AGAIN]
                assert not any(_at(each) is not None for each in meanwhile if not _is_broker(each))


def test_an_index_is_missing_when_a_topic_is_new(timelines: list[Timeline]) -> None:
    """That is when a cluster that makes none is asked for one; what is too much for it comes later."""
    for timeline in timelines:
        for number, fault in enumerate(timeline.faults):
            before, after = timeline.faults[:number], timeline.faults[number + 1 :]
            if isinstance(fault, NoNewIndices):
                assert isinstance(after[0], NewTopic)
                assert after[0].tenant == fault.tenant
                assert all(each.at >= ends(fault) for each in after[1:])
            if isinstance(fault, Oversized):
                assert any(isinstance(each, NewTopic) and each.tenant == fault.tenant for each in before)


def test_a_walk_keeps_nothing_of_which_nothing_would_be_seen() -> None:
    """What is never accepted is left out where nothing follows."""

    class Own(Walk):
        drawn: ClassVar[list[Plan]] = []

    walk = Own()
    for _ in range(2):
        walk.send_what_is_never_accepted("a")
    walk.teardown()
    assert walk.drawn[0].faults == []


@pytest.mark.parametrize("place", [KAFKA, *(tenant.name for tenant in TENANTS)])
def test_one_thing_at_a_time_is_wrong_with_a_place(place: str, timelines: list[Timeline]) -> None:
    """What is wrong with Kafka, or with a tenant's cluster, has ended before something else begins."""
    for timeline in timelines:
        wrong = [fault for fault in timeline.faults if _at(fault) == place]
        for before, after in pairwise(wrong):
            assert ends(before) <= after.at


def _is_broker(fault: object) -> bool:
    return isinstance(fault, BrokerKill | BrokerFreeze)


def _at(fault: object) -> str | None:
    if _is_broker(fault):
        return KAFKA
    if isinstance(fault, Network):
        return fault.target
    return getattr(fault, "tenant", None) if isinstance(fault, Lasting) else None
