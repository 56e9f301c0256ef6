"""LIF-4: the broker, or a cluster, is away at the start or later: the process waits, and recovers by itself."""

from __future__ import annotations

from pathlib import Path

import pytest

from isolane.conformance.checkers import services_away
from isolane.conformance.selftest.conformance.builders import Story, story
from isolane.conformance.verdict import Finding, Verdict

CASES = ["the broker, at the start", "a cluster, at the start", "the broker, later", "a cluster, later"]


def judged(made: Story, folder: Path) -> dict[str, Finding]:
    """The findings by case."""
    return {finding.case: finding for finding in services_away.check(made.load(folder))}


def away(*, delay: float = 2.0) -> Story:
    """Broker and one cluster are away at the start, and once more; what waited is delivered so many seconds after."""
    made = story(judges=("LIF-4",))
    made.event(11, "process", "started", member=0)
    for down, up in ((10, 15), (40, 45)):
        made.event(down, "broker", "down")
        made.event(up, "broker", "up")
        made.event(down, "fault", "away", tenant="h0", script={})
        made.event(up + 1, "heal", "away", tenant="h0")
        for tenant, back in (("h0", up + 1), ("h1", up)):
            token = made.produce(tenant, down + 2)
            made.attempt(tenant, [token], back + delay)
    made.phase("drain", 80)
    made.phase("end", 90)
    return made


def test_a_process_that_waits_and_recovers_passes(tmp_path: Path) -> None:
    """In all four cases."""
    found = judged(away(), tmp_path)
    assert sorted(found) == sorted(CASES)
    assert {finding.verdict for finding in found.values()} == {Verdict.PASS}


def test_one_that_takes_for_ever_is_a_violation(tmp_path: Path) -> None:
    """It has not found what was back after the time for that."""
    found = judged(away(delay=26), tmp_path)
    assert {finding.verdict for finding in found.values()} == {Verdict.FAIL}
    assert "h0/0@1" in found["the broker, later"].summary


@pytest.mark.parametrize("at", [12, 15.5])
def test_one_that_ends_by_itself_is_a_violation(at: float, tmp_path: Path) -> None:
    """While the broker was away, or when it was back."""
    made = away()
    made.event(at, "process", "exited", member=0, code=1)
    assert judged(made, tmp_path)["the broker, at the start"].verdict is Verdict.FAIL


def test_one_that_was_started_again_proves_nothing(tmp_path: Path) -> None:
    """It may have recovered by that."""
    made = away()
    made.event(46, "process", "started", member=0)
    assert judged(made, tmp_path)["the broker, later"].verdict is Verdict.INCONCLUSIVE


def test_where_nothing_waited_nothing_is_known(tmp_path: Path) -> None:
    """Or where a Kafka that is not our own could not be away."""
    made = away()
    made.produced = [line for line in made.produced if line["acked"] < 40]
    assert judged(made, tmp_path / "idle")["the broker, later"].verdict is Verdict.INCONCLUSIVE
    made.events = [line for line in made.events if line["kind"] != "broker"]
    assert judged(made, tmp_path / "not ours")["the broker"].verdict is Verdict.INCONCLUSIVE
