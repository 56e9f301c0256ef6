"""The harness watches itself: saturated clusters and steps of the clock are told, and make runs inconclusive."""

from __future__ import annotations

import time
from collections.abc import Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from isolane.conformance.checkers import harness
from isolane.conformance.self_watch import WORTH_TELLING, ClockWatch, ClusterWatch
from isolane.conformance.selftest.conformance import builders
from isolane.conformance.verdict import Verdict
from isolane.fixtures.errors import FixtureError


def lines() -> tuple[list[Mapping[str, Any]], Any]:
    """What is written, and what takes it."""
    written: list[Mapping[str, Any]] = []
    return written, SimpleNamespace(write=written.append)


def test_a_step_of_the_clock_is_told_once() -> None:
    """Forwards or backwards; a drift that nobody notices is not."""
    now = {"steady": 100.0, "wall": 5000.0}
    written, events = lines()
    watch = ClockWatch(events, lambda: now["steady"], lambda: now["wall"])
    for steady, wall in ((100.5, 5000.5), (101, 5001.05), (101.5, 5301.5), (102, 5302), (102.5, 5000.0)):
        now["steady"], now["wall"] = steady, wall
        watch.read()
    assert [(line["name"], line["at"]) for line in written] == [("clock_step", 101.5), ("clock_step", 102.5)]
    assert written[0]["seconds"] == pytest.approx(299.95)


def test_clusters_that_answer_late_are_told() -> None:
    """By what it took; those that answer at once, or not any more, are not."""
    written, events = lines()

    def counters(tenant: str) -> None:
        if tenant == "slow":
            time.sleep(1.5 * WORTH_TELLING)
        if tenant == "gone":
            raise FixtureError("they ended")

    clusters = cast("Any", SimpleNamespace(counters=counters))
    for tenant in ("slow", "fast", "gone"):
        ClusterWatch(clusters, tenant, events).read()
    (line,) = written
    assert line["name"] == "cluster_lag"
    assert line["seconds"] > WORTH_TELLING


def test_clusters_may_stand_still_since_they_last_answered() -> None:
    """Nobody asked them meanwhile: how long it was is told from there, and not only from when somebody asked again."""
    written, events = lines()
    waits = iter((0.0, 1.5 * WORTH_TELLING))
    clusters = cast("Any", SimpleNamespace(counters=lambda _: time.sleep(next(waits))))
    watch = ClusterWatch(clusters, "a", events)
    before = time.monotonic()
    watch.read()
    answered = time.monotonic()
    time.sleep(0.05)
    watch.read()
    (line,) = written
    assert before <= line["since"] <= answered
    assert line["at"] - line["since"] >= line["seconds"] + 0.05


@pytest.mark.parametrize(
    ("name", "seconds", "reason"),
    [
        ("cluster_lag", 0.8, "the harness was starved in control: cluster lag of 0.80 s (allowed 0.5 s)"),
        ("clock_step", 300.0, "the harness was starved in control: clock step of 300.00 s (allowed 1 s)"),
    ],
)
def test_what_was_measured_meanwhile_is_not_trusted(name: str, seconds: float, reason: str, tmp_path: Path) -> None:
    """A run is inconclusive by it, and says which of them it was."""
    made = builders.isolated()
    made.event(105, "harness", name, seconds=seconds)
    (finding,) = harness.check(made.load(tmp_path))
    assert (finding.verdict, finding.summary.partition(";")[0]) == (Verdict.INCONCLUSIVE, reason)


def test_small_delays_are_borne(tmp_path: Path) -> None:
    """What stays within its bound changes nothing."""
    made = builders.isolated()
    made.event(105, "harness", "cluster_lag", seconds=0.3)
    made.event(106, "harness", "clock_step", seconds=0.3)
    (finding,) = harness.check(made.load(tmp_path))
    assert finding.verdict is Verdict.PASS
    assert finding.figures["cluster lag"].value == 0.3
