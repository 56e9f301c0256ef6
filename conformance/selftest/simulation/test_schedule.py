"""Whole schedules of the reference: what they cover, that they can be repeated, and made small."""

from __future__ import annotations

import os
import subprocess
import sys
from itertools import pairwise
from pathlib import Path

import pytest

from isolane.conformance import cli
from isolane.conformance.simulation import exploration
from isolane.conformance.simulation.choice import Deviation, Replayed, seeded
from isolane.conformance.simulation.plan import SURE, Plan, Step, random_plan
from isolane.conformance.simulation.reduction import fewest, shifted
from isolane.conformance.simulation.replay import Replay, ReplayError
from isolane.conformance.simulation.schedule import Schedule, pinned, prepared, run, told
from isolane.conformance.simulation.settings import Settings
from isolane.conformance.verdict import ExitCode

_EVENT_LOG = """
import sys
from isolane.conformance.simulation.choice import seeded
from isolane.conformance.simulation.plan import random_plan
from isolane.conformance.simulation.schedule import prepared, run
with prepared():
    for seed in map(int, sys.argv[1:]):
        switches = []
        outcome = run(random_plan(seed), seeded(seed), tell=True, trace=lambda *switch: switches.append(switch))
        print(*switches, *outcome.story, outcome.digest, sep="\\n")
"""

SMALL = Plan(Settings(tenants=1, partitions=1), (Step("produce", (0, "one item", 3, 0), 20),), "answers nothing")


def test_the_reference_survives() -> None:
    """A hundred schedules: no rule is broken; each has its load and faults, and nearly all are of different orders."""
    coverage, failed, outcome = exploration.explore(range(1000, 1100))
    assert failed is None, outcome
    assert coverage.schedules == 100
    assert coverage.distinct >= 99
    assert coverage.records >= 20
    assert coverage.switches >= 500
    assert coverage.faults > 100
    assert coverage.fewest >= 1


def test_a_seed_gives_the_same_event_log_in_another_process() -> None:
    """To the byte: every switch between tasks, and every event, whatever the order of hashes."""
    logs = [
        subprocess.run(
            [sys.executable, "-c", _EVENT_LOG, "3", "4", "5"],
            env={**os.environ, "PYTHONHASHSEED": seed},
            check=True,
            capture_output=True,
        ).stdout
        for seed in ("1", "2")
    ]
    assert logs[0] == logs[1]
    assert logs[0].count(b"\n") > 1000


def test_a_schedule_is_pinned_by_its_deviations() -> None:
    """Without its seed it is the same, to the last switch."""
    schedule = Schedule(random_plan(7), seed=7)
    with prepared(watch=False):
        again = pinned(schedule)
        assert again.deviations
        first, second = run(schedule.plan, schedule.choice), run(again.plan, again.choice)
    assert (first.digest, first.points, first.seconds) == (second.digest, second.points, second.seconds)


def test_plans_have_load_and_faults() -> None:
    """At least twenty records, something that is done to a cluster, and something that is sure to happen."""
    for seed in range(100):
        steps = random_plan(seed).steps
        records = sum(int(step.arguments[2]) for step in steps if step.action == "produce")
        assert records >= 20
        assert any(step.action == "sicken" for step in steps)
        assert any(step.action in SURE for step in steps)


def test_a_story_tells_what_happened() -> None:
    """Each record's way, in the order of time."""
    with prepared():
        story = told(Schedule(SMALL, ())).story
    assert all(earlier.time <= later.time for earlier, later in pairwise(story))
    lines = [str(event) for event in story]
    for words in ("p1 starts", "produced managed_otlp.logs.t0/0@0 to 2", "sent managed_otlp.logs.t0/0@0", "committed"):
        assert any(words in line for line in lines), words


def test_items_that_suffice_are_found() -> None:
    """What can be left out is left out."""
    assert fewest(range(100), lambda some: {7, 62} <= set(some)) == [7, 62]
    assert fewest(range(5), lambda _: True) == []


def test_what_follows_a_deviation_that_is_left_out_may_come_sooner_or_later() -> None:
    """By a few choices, in the order that there was: without it less, or more, may happen before."""
    deviations = (Deviation(3, 1), Deviation(5, 2), Deviation(9, 1))
    found = list(shifted(deviations))
    assert {
        deviations[1:],
        deviations[:2],
        (Deviation(3, 1), Deviation(7, 1)),
        (Deviation(3, 1), Deviation(12, 1)),
    } < set(found)
    assert len(set(found)) == len(found)
    for fewer in found:
        assert len(fewer) == 2
        assert 0 < fewer[0].point < fewer[1].point


def test_a_file_holds_a_schedule(tmp_path: Path) -> None:
    """It is read as it was written, and run again by the command; a file that is none is wrong usage."""
    with prepared():
        schedule = pinned(Schedule(SMALL, seed=1))
    path = tmp_path / "folder" / "schedule.json"
    written = Replay(target="reference", rule=None, plan=schedule.plan, deviations=schedule.deviations or ())
    written.write(path)
    assert Replay.read(path) == written
    assert Replay.read(path).schedule == schedule
    assert cli.run(["simulate", "--replay", str(path)]) == ExitCode.CONFORMS
    path.write_text(path.read_text().replace('"produce"', '"close"').replace('"version": 1', '"version": 2'))
    with pytest.raises(ReplayError, match="version: 2 is not allowed"):
        Replay.read(path)
    assert cli.run(["simulate", "--replay", str(path)]) == ExitCode.WRONG_USAGE


def test_the_command_says_what_was_covered(capsys: pytest.CaptureFixture[str]) -> None:
    """Schedules, distinct ones, how many a minute, and the medians; and how to have the same again."""
    assert cli.run(["simulate", "--schedules", "5", "--seed", "17"]) == ExitCode.CONFORMS
    printed = capsys.readouterr().out
    assert "5 schedules, 5 distinct" in printed
    assert "a minute; median" in printed
    assert "Reproduce: isolane simulate --target reference --seed 17 --schedules 5" in printed


def test_nothing_is_simulated_by_another_name(capsys: pytest.CaptureFixture[str]) -> None:
    """Wrong usage, and what may have been meant."""
    assert cli.run(["simulate", "--target", "known-bad/slot_released_thrice"]) == ExitCode.WRONG_USAGE
    assert "known-bad/slot_released_twice" in capsys.readouterr().err


def test_the_default_order_is_one_of_many() -> None:
    """Two seeds do the same in different orders."""
    with prepared(watch=False):
        digests = {run(SMALL, choice).digest for choice in (Replayed(), seeded(1), seeded(2))}
    assert len(digests) == 3
