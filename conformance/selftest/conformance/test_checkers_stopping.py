"""LIF-2: SIGTERM ends a member in time, whatever goes on, and nothing is marked that is not finished."""

from __future__ import annotations

from pathlib import Path

import pytest

from isolane.conformance.checkers import stopping
from isolane.conformance.selftest.conformance.builders import Story, story
from isolane.conformance.verdict import Finding, Verdict

LAST = "what was committed"


def judged(made: Story, folder: Path) -> dict[str, Finding]:
    """The findings by case."""
    return {finding.case: finding for finding in stopping.check(made.load(folder))}


def stopped(*, took: float = 4.0, code: int = 0) -> Story:
    """A member is stopped in an outage, another one as it starts, and a third one in a rebalance without a broker."""
    made = story(judges=("LIF-2",))
    made.meta["bounds"]["stop_grace"] = 5.0
    made.event(0, "process", "started", member=0)
    made.event(10, "fault", "blackhole", tenant="h0", script={})
    made.event(10, "fault", "pushback-429", tenant="h1", script={})
    made.event(20, "signal", "terminated", member=0)
    made.event(20 + took, "process", "stopped", member=0, code=code)
    for tenant, name in (("h0", "blackhole"), ("h1", "pushback-429")):
        made.event(30, "heal", name, tenant=tenant)
    made.event(40, "process", "started", member=1)
    made.event(41, "signal", "terminated", member=1)
    made.event(42, "process", "stopped", member=1, code=0)
    made.event(50, "process", "started", member=2)
    made.group(55, {"a": ["1/0"]})
    made.group(59, {"a": []}, state="PreparingRebalance")
    made.event(58, "broker", "down")
    made.event(60, "signal", "terminated", member=2)
    made.event(62, "process", "stopped", member=2, code=0)
    made.group(63, {})
    made.event(64, "broker", "up")
    made.phase("end", 70)
    made.event(71, "signal", "terminated", member=3)
    return made


def test_each_stop_has_its_cases(tmp_path: Path) -> None:
    """What went on then; the end of the scenario is none."""
    found = judged(stopped(), tmp_path)
    assert set(found) == {
        "member 0: blackhole, pushback",
        "member 1: start-up",
        "member 2: no broker, rebalance",
        LAST,
    }
    assert {finding.verdict for finding in found.values()} == {Verdict.PASS}


@pytest.mark.parametrize(("took", "code"), [(5.6, 0), (4.0, -9)], ids=["late", "killed"])
def test_a_member_that_does_not_end_in_time_is_a_violation(took: float, code: int, tmp_path: Path) -> None:
    """It had to be killed, or would have been."""
    found = judged(stopped(took=took, code=code), tmp_path)
    assert found["member 0: blackhole, pushback"].verdict is Verdict.FAIL
    assert found["member 1: start-up"].verdict is Verdict.PASS


def test_a_stop_that_commits_what_was_only_read_is_a_violation(tmp_path: Path) -> None:
    """It is past a record that nobody has accepted (FB-07)."""
    made = stopped()
    token = made.produce("h0", 12)
    made.commit(24.5, {"1/0": 1})
    made.attempt("h0", [token], 50)
    finding = judged(made, tmp_path)[LAST]
    assert finding.verdict is Verdict.FAIL
    assert finding.evidence == (str(token),)


def test_what_was_committed_wrongly_before_is_for_others(tmp_path: Path) -> None:
    """It had nothing to do with a stop."""
    made = stopped()
    token = made.produce("h0", 12)
    made.commit(13, {"1/0": 1})
    made.attempt("h0", [token], 15)
    assert judged(made, tmp_path)[LAST].verdict is Verdict.PASS


def test_nobody_was_stopped(tmp_path: Path) -> None:
    """Then nothing is known."""
    made = stopped()
    made.events = [line for line in made.events if line["kind"] != "signal"]
    assert judged(made, tmp_path)[""].verdict is Verdict.INCONCLUSIVE
