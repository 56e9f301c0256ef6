"""What took too long while the harness was starved may be the machine's doing: each judge of time doubts it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path

import pytest

from isolane.conformance.checkers import (
    caps,
    cycles,
    fetching,
    probes,
    services_away,
    stalled,
    stopping,
    tenant_changes,
)
from isolane.conformance.history import History
from isolane.conformance.selftest.conformance.builders import Story
from isolane.conformance.selftest.conformance.limited import PUSHED_BACK, SLOWED, Sender, limited
from isolane.conformance.selftest.conformance.test_checkers_cycles import cycled
from isolane.conformance.selftest.conformance.test_checkers_fetching import GOOD, held
from isolane.conformance.selftest.conformance.test_checkers_probes import probed
from isolane.conformance.selftest.conformance.test_checkers_services_away import away
from isolane.conformance.selftest.conformance.test_checkers_stalled import BOTH, stall
from isolane.conformance.selftest.conformance.test_checkers_stopping import stopped
from isolane.conformance.selftest.conformance.test_checkers_tenant_changes import changed
from isolane.conformance.verdict import Finding, Verdict

Check = Callable[[History], Iterable[Finding]]


def restless(seconds: float) -> Story:
    """A rebalance that lasts so long while every cluster is stalled."""
    made = stall(unrest=seconds)
    made.phase("stalled", 10)
    return made


def shut_out() -> Story:
    """A member that does not get in while every cluster is stalled."""
    made = stall()
    made.phase("stalled", 10)
    del made.groups[1:]
    return made


def expelled() -> Story:
    """A member that is expelled while every cluster is stalled, and comes back."""
    made = stall()
    made.phase("stalled", 10)
    made.meta["bounds"]["session_timeout"] = 6.0
    made.group(21.2, {}, state="Empty", generation=1)
    made.group(21.6, {"a": BOTH}, generation=2)
    made.groups.sort(key=lambda line: line["at"])
    return made


def asked(took: float, code: int = 0) -> Story:
    """A member that ends so long after it was told to."""
    made = stopped(took=took, code=code)
    made.phase("stalled", 5)
    return made


def noticed(**changes: float) -> Story:
    """Changes of tenants, of which others, or who is concerned, notice what they should not."""
    made = changed(gap=changes.get("gap", 0.0), late=bool(changes.get("late")))
    made.phase("changes", 1)
    for line in made.attempts if "served" in changes else ():
        line["at"] += changes["served"] if line["at"] >= 61 and line["r"] <= 3 else 0.0
    return made


def recovered(delay: float) -> Story:
    """What waited for a service that was away is delivered so long after it was back."""
    made = away(delay=delay)
    made.phase("away", 9)
    return made


def held_up(stall: float) -> Story:
    """Two requests that were granted before a cap was halved, and arrive after the clusters' process stood still."""
    made = limited("LIM-2", "LIM-3")
    Sender(made, "sick", PUSHED_BACK).live(100, 145)
    Sender(made, "h0", SLOWED).live(100, 150)
    arrivals = {line["r"]: line for line in made.attempts if line["e"] == "arrived" and line["tenant"] == "sick"}
    refused = min(line["at"] for line in made.attempts if line.get("status") == 429 and line["r"] in arrivals)
    for number, arrival in arrivals.items():
        if refused < arrival["at"] <= refused + 0.006:
            later = refused + stall - arrival["at"]
            for line in made.attempts:
                line["at"] += later if line["r"] == number else 0.0
    return made


def beside() -> Story:
    """A partition beside a held one that waits, too."""
    made = held(*GOOD)
    for line in made.attempts:
        line["at"] += 18 if 103 <= line["at"] < 110 else 0.0
    return made


CASES: list[tuple[str, Check, Callable[[], Story], float]] = [
    ("LIM-3", caps.check, lambda: held_up(0.8), 111),
    ("LIM-3", caps.check, lambda: held_up(3.0), 113),
    ("LIM-4", probes.check, lambda: probed(1, 4, 2, 2, 2, 2, 2, 2, 2), 115),
    ("LIF-1", stalled.check, expelled, 21),
    ("LIF-2", stopping.check, lambda: asked(9.0), 28),
    ("LIF-2", stopping.check, lambda: asked(5.1, code=-9), 25),
    ("LIF-4", services_away.check, lambda: recovered(26), 30),
    ("REB-5", stalled.check, lambda: restless(12), 33),
    ("REB-5", stalled.check, shut_out, 33),
    ("REB-8", cycles.check, lambda: cycled(after=0.8), 93),
    ("OPS-4", tenant_changes.check, lambda: noticed(gap=2.1), 44),
    ("OPS-4", tenant_changes.check, lambda: noticed(late=True), 44),
    ("OPS-4", tenant_changes.check, lambda: noticed(served=14), 66),
    ("MEM-7", fetching.check, beside, 110),
]
NAMES = [f"{requirement}-{number}" for number, (requirement, *_) in enumerate(CASES)]


def judged(requirement: str, check: Check, made: Story, folder: Path) -> dict[Verdict, list[Finding]]:
    """The findings on a requirement by verdict."""
    found = [finding for finding in check(made.load(folder)) if finding.requirement == requirement]
    return {verdict: [each for each in found if each.verdict is verdict] for verdict in Verdict}


def starve(made: Story, at: float, seconds: float = 2.9) -> Story:
    """Let nothing run on the machine for a while before that moment."""
    made.event(at, "harness", "sampler_gap", seconds=seconds, of="process-sampler")
    made.event(at, "harness", "cluster_lag", seconds=seconds)
    return made


@pytest.mark.parametrize(("requirement", "check", "make", "at"), CASES, ids=NAMES)
def test_what_is_late_with_a_starved_harness_is_doubted(
    requirement: str, check: Check, make: Callable[[], Story], at: float, tmp_path: Path
) -> None:
    """The same that is a violation where nothing tells of it."""
    assert judged(requirement, check, make(), tmp_path / "fed")[Verdict.FAIL]
    found = judged(requirement, check, starve(make(), at), tmp_path / "starved")
    assert not found[Verdict.FAIL]
    assert any("but the harness was starved in" in finding.summary for finding in found[Verdict.INCONCLUSIVE])


@pytest.mark.parametrize(
    ("requirement", "check", "make", "at"),
    [
        ("REB-5", stalled.check, lambda: restless(34), 33),
        ("LIF-2", stopping.check, lambda: asked(20.5), 28),
        ("LIF-2", stopping.check, lambda: asked(1.0, code=-9), 20),
        ("LIM-3", caps.check, lambda: held_up(3.4), 113),
        ("LIM-3", caps.check, lambda: held_up(0.8), 130),
    ],
)
def test_a_starved_harness_explains_no_more_than_it_can(
    requirement: str, check: Check, make: Callable[[], Story], at: float, tmp_path: Path
) -> None:
    """Neither what takes several times as long as it may, nor what was not late, nor what was at another time."""
    assert judged(requirement, check, starve(make(), at), tmp_path)[Verdict.FAIL]


def test_a_rebalance_lasts_until_it_was_last_seen(tmp_path: Path) -> None:
    """Kafka may have been at rest for all the time for which nobody looked: that is neither a pass nor a violation."""
    made = restless(9.2)
    assert judged("REB-5", stalled.check, made, tmp_path / "seen")[Verdict.FAIL]
    made.event(34.2, "harness", "sampler_gap", seconds=9.1, of="group-observer")
    (finding,) = judged("REB-5", stalled.check, made, tmp_path / "not seen")[Verdict.INCONCLUSIVE]
    assert finding.summary == (
        "the longest rebalance took from 1.0 s to 9.2 s: nobody saw the group before that, and 8 s are allowed"
    )
    made = restless(8.4)
    made.event(33.4, "harness", "sampler_gap", seconds=0.8, of="group-observer")
    (finding,) = judged("REB-5", stalled.check, made, tmp_path / "a moment")[Verdict.INCONCLUSIVE]
    assert "from 7.6 s to 8.4 s" in finding.summary
