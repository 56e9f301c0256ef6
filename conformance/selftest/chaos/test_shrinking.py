"""Shrinking: what a failure does not take is dropped, and one lucky run is no proof."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from isolane.chaos import possible
from isolane.chaos.shrinking import Confirmation, shrunk
from isolane.chaos.timeline import Timeline

SURE = Confirmation(least=1, runs=1)


def timeline(count: int) -> Timeline:
    """A timeline in which so many things happen, each at a time of its own."""
    faults = [{"kind": "burst", "tenant": "a", "at": number} for number in range(count)]
    return Timeline.model_validate({"name": "own", "tenant": [{"name": "a"}], "fault": faults})


def taking(*needed: int) -> Callable[[Timeline], bool]:
    """Fails when all of these happen."""
    return lambda tried: set(needed) <= {int(fault.at) for fault in tried.faults}


@given(needed=st.sets(st.integers(0, 19), min_size=1, max_size=4))
def test_what_it_takes_is_left(needed: set[int]) -> None:
    """Whatever a failure takes, exactly that is left, in its order."""
    left = shrunk(timeline(20), taking(*needed), SURE)
    assert [fault.at for fault in left.faults] == sorted(needed)


def test_few_runs_are_needed() -> None:
    """One of sixteen things is found in a handful of runs, not in hundreds."""
    runs = Counter[str]()

    def fails(tried: Timeline) -> bool:
        runs["made"] += 1
        return taking(11)(tried)

    shrunk(timeline(16), fails, SURE)
    assert runs["made"] <= 16


def test_each_that_fails_still_is_kept() -> None:
    """Whoever breaks off after hours has the smallest of them: each is told when it is confirmed, and smaller."""
    kept: list[Timeline] = []
    left = shrunk(timeline(8), taking(5), SURE, kept.append)
    assert [len(each.faults) for each in kept] == [4, 2, 1]
    assert kept[-1] == left


@pytest.mark.parametrize(
    ("outcomes", "confirmed", "runs"),
    [("ff", True, 2), ("fpf", True, 3), ("pp", False, 2), ("pfp", False, 3)],
)
def test_so_many_of_so_many_confirm(outcomes: str, confirmed: bool, runs: int) -> None:  # noqa: FBT001 - a table
    """Two of three runs must fail; a run that can change nothing is not made."""
    made = iter(outcomes)
    assert Confirmation(least=2, runs=3).confirms(lambda _: next(made) == "f", timeline(1)) is confirmed
    assert len(outcomes) - len(list(made)) == runs


def test_only_what_is_possible_is_tried() -> None:
    """A burst takes the topic that it goes to, and the kill of a member that there be one."""
    happening = [
        {"kind": "new_topic", "tenant": "late", "at": 1},
        {"kind": "scale", "members": 2, "at": 1},
        {"kind": "burst", "tenant": "a", "at": 2},
        {"kind": "burst", "tenant": "late", "at": 3},
        {"kind": "kill", "member": 1, "at": 4, "seconds": 1},
    ]
    tenants = [{"name": "a"}, {"name": "late", "late": True}]
    whole = Timeline.model_validate({"name": "own", "tenant": tenants, "fault": happening})

    def fails(tried: Timeline) -> bool:
        assert list(possible.mistakes(tried)) == []
        return taking(3, 4)(tried)

    assert [fault.name for fault in shrunk(whole, fails, SURE).faults] == ["new_topic", "scale", "burst", "kill"]
