"""Bites: what is judged beside a fault that did nothing is in doubt, and says so for each requirement."""

from __future__ import annotations

from pathlib import Path

import pytest

from isolane.conformance.checkers import bites
from isolane.conformance.selftest.conformance.builders import Story, story
from isolane.conformance.verdict import HARNESS, Verdict


def lived(*counted: int, over: bool = True) -> Story:
    """A timeline in which so many things happened, each of which bit so often."""
    made = story(judges=("DEL-1", "OFF-1"))
    for number, bitten in enumerate(counted):
        made.event(number, "chaos", "latency", number=number, part="begins")
        made.event(number + 0.1, "chaos", "latency", number=number, part="ended", bites=bitten, bite="requests")
        if over:
            made.event(number + 0.2, "chaos", "latency", number=number, part="over")
    return made


def test_what_bit_leaves_no_doubt(tmp_path: Path) -> None:
    """The bites of each are figures, and nothing is said of any requirement."""
    (found,) = bites.check(lived(3, 1).load(tmp_path))
    assert (found.requirement, found.verdict) == (HARNESS, Verdict.PASS)
    assert [figure.value for figure in found.figures.values()] == [3, 1]


def test_what_did_not_bite_puts_all_in_doubt(tmp_path: Path) -> None:
    """Each declared requirement is inconclusive, and the sentence names what did nothing."""
    found = bites.check(lived(3, 0).load(tmp_path))
    assert [(each.requirement, each.verdict) for each in found] == [
        (HARNESS, Verdict.INCONCLUSIVE),
        ("DEL-1", Verdict.INCONCLUSIVE),
        ("OFF-1", Verdict.INCONCLUSIVE),
    ]
    assert {each.summary for each in found} == {"latency-1 did not bite: no requests"}


def test_what_never_ended_is_in_doubt(tmp_path: Path) -> None:
    """A run that was broken off during a fault has tried nothing with it."""
    found = bites.check(lived(3, over=False).load(tmp_path))
    assert {each.summary for each in found} == {"the run ended during latency-0"}


@pytest.mark.parametrize(("generations", "verdict"), [((4, 5, 7), Verdict.PASS), ((4, 4), Verdict.INCONCLUSIVE)])
def test_members_that_come_or_go_make_a_group_anew(
    generations: tuple[int, ...], verdict: Verdict, tmp_path: Path
) -> None:
    """By Kafka's count of its generations; when that stays, nobody was in the group who moved."""
    made = lived(1)
    made.events = [line | {"name": "scale"} for line in made.events]
    for at, generation in enumerate(generations):
        made.group(at, {}, generation=generation)
    found = bites.check(made.load(tmp_path))[0]
    assert (found.verdict, found.figures["rebalances"].value) == (verdict, generations[-1] - generations[0])


def test_a_history_without_a_timeline_is_passed_over(tmp_path: Path) -> None:
    """Other scenarios prove the bites of their faults in ways of their own."""
    assert bites.check(story().load(tmp_path)) == []
