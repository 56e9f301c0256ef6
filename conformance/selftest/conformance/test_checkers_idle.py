"""TEN-5: tenants that are there and have nothing to say cost little more than their connections."""

from __future__ import annotations

from pathlib import Path

import pytest

from isolane.conformance.checkers import idle
from isolane.conformance.selftest.conformance.builders import Story, story
from isolane.conformance.verdict import Finding, Verdict

MIB = 1024**2


def calm(*, threads: int = 250, fds: int = 300, rss: int = 300 * MIB, tenants: int = 200) -> Story:
    """A member with that many tenants, and what it needs of the system meanwhile."""
    made = story(healthy=tenants - 1)
    made.phase("ready", 0)
    made.phase("idle", 10)
    made.phase("drain", 20)
    for at in range(5, 25):
        calm_now = 10 <= at < 20
        made.samples.append(
            {
                "at": at,
                "member": 0,
                "pid": 1,
                "rss": rss if calm_now else 9000 * MIB,
                "threads": threads if calm_now else 9000,
                "fds": fds if calm_now else 9000,
            }
        )
    return made


def judged(made: Story, folder: Path) -> Finding:
    """The finding on TEN-5."""
    (finding,) = idle.check(made.load(folder))
    return finding


def test_tenants_that_cost_their_connections_pass(tmp_path: Path) -> None:
    """Nothing is counted but the calm: neither the start nor the drain."""
    finding = judged(calm(), tmp_path)
    assert finding.verdict is Verdict.PASS
    assert finding.figures["threads for each tenant"].value == pytest.approx(0.93)


@pytest.mark.parametrize(
    ("needs", "what"),
    [({"threads": 400}, "threads"), ({"fds": 800}, "descriptors"), ({"rss": 500 * MIB}, "memory")],
)
def test_tenants_that_cost_more_are_a_violation(needs: dict[str, int], what: str, tmp_path: Path) -> None:
    """A pool, a client or a buffer for each."""
    finding = judged(calm(**needs), tmp_path)
    assert finding.verdict is Verdict.FAIL
    assert finding.summary == f"200 tenants, most of them idle, cost too much in {what}"


def test_without_samples_nothing_is_proven(tmp_path: Path) -> None:
    """Nobody looked."""
    made = calm()
    made.samples.clear()
    assert judged(made, tmp_path).verdict is Verdict.INCONCLUSIVE


def test_a_few_tenants_try_nothing(tmp_path: Path) -> None:
    """Nor do many that are all busy."""
    assert idle.check(calm(tenants=20).load(tmp_path / "few")) == []
    made = calm()
    made.events = [line for line in made.events if line["name"] != "idle"]
    assert idle.check(made.load(tmp_path / "busy")) == []
