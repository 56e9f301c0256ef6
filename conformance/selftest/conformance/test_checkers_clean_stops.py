"""REB-7 and LIF-3: who leaves in peace leaves nothing to be delivered twice."""

from __future__ import annotations

from pathlib import Path

import pytest

from isolane.conformance.checkers import clean_stops
from isolane.conformance.selftest.conformance.builders import Story, story
from isolane.conformance.tokens import Token
from isolane.conformance.verdict import Finding, Verdict


def judged(made: Story, folder: Path, requirement: str) -> Finding:
    """The finding on one of them."""
    (found,) = [each for each in clean_stops.check(made.load(folder)) if each.requirement == requirement]
    return found


def rolled() -> Story:
    """Two members are stopped and started again, one after the other, each with twenty items under way."""
    made = story(judges=("REB-7", "LIF-3"))
    made.event(0, "process", "started", member=0)
    made.event(0, "process", "started", member=1)
    for member, at in ((1, 100.0), (0, 200.0)):
        tokens = [made.produce("h0", at - 3) for _ in range(20)]
        made.attempt("h0", tokens, at - 1, took=2)
        made.event(at, "signal", "terminated", member=member)
        made.event(at + 2, "process", "stopped", member=member)
        made.event(at + 2.1, "process", "started", member=member)
    made.phase("restarted", 300)
    made.event(300, "signal", "terminated", member=0)
    made.event(301, "process", "stopped", member=0)
    made.event(302, "process", "started", member=0)
    made.deliver("h0", 305)
    made.phase("drain", 310)
    made.phase("end", 320)
    return made


def again(made: Story, at: float, items: int) -> None:
    """Deliver so many items of the first twenty once more."""
    made.attempt("h0", [Token.parse(line["token"]) for line in made.produced[:items]], at)


def test_stops_in_peace_pass(tmp_path: Path) -> None:
    """What was under way was finished, and nothing came twice."""
    finding = judged(rolled(), tmp_path / "rolling", "REB-7")
    assert finding.verdict is Verdict.PASS
    assert finding.figures["items that were under way then"].value == 40
    assert judged(rolled(), tmp_path / "restarted", "LIF-3").verdict is Verdict.PASS


@pytest.mark.parametrize(("items", "verdict"), [(2, Verdict.PASS), (3, Verdict.FAIL)])
def test_next_to_nothing_may_come_twice(items: int, verdict: Verdict, tmp_path: Path) -> None:
    """One in twenty of what was under way."""
    made = rolled()
    again(made, 104, items)
    assert judged(made, tmp_path, "REB-7").verdict is verdict


def test_what_a_killed_member_leaves_behind_is_not_counted(tmp_path: Path) -> None:
    """It had no chance to finish; so it is with a lost reply."""
    made = rolled()
    made.event(103, "process", "killed", member=5)
    again(made, 104, 20)
    assert judged(made, tmp_path / "killed", "REB-7").verdict is Verdict.PASS
    made = rolled()
    made.attempts[2]["how"] = "closed"
    again(made, 104, 20)
    assert judged(made, tmp_path / "lost", "REB-7").verdict is Verdict.PASS


def hang_up(made: Story, request: int, after: float) -> None:
    """Let the sender of a request be gone so many seconds after it came, before there is an answer."""
    (at,) = [line["at"] for line in made.attempts if line["r"] == request and line["e"] == "arrived"]
    made.attempts = [line for line in made.attempts if line["r"] != request or line["e"] == "arrived"]
    made.attempts.append({"e": "closed", "r": request, "at": at + after, "how": "client_gone"})


def test_work_that_is_thrown_away_is_told(tmp_path: Path) -> None:
    """Whoever hangs up on what is under way has nothing accepted twice, and made others send all of it again."""
    made = rolled()
    hang_up(made, 1, 1.1)
    finding = judged(made, tmp_path, "REB-7")
    assert finding.verdict is Verdict.FAIL
    assert finding.figures["items that were under way then"].value == 40
    assert finding.figures["items hung up on, with nobody killed or frozen"].value == 20
    assert finding.evidence[0] == made.produced[0]["token"]


def test_an_attempt_that_is_cut_without_a_change_is_no_work_thrown_away(tmp_path: Path) -> None:
    """Nobody had come or gone: a deadline, or a cut for the sake of others, is for others to judge."""
    made = rolled()
    hang_up(made, made.attempt("h0", [made.produce("h0", 290) for _ in range(20)], 291), 2.0)
    assert judged(made, tmp_path, "REB-7").verdict is Verdict.PASS


@pytest.mark.parametrize("kind", ["killed", "frozen"])
def test_who_is_killed_hangs_up_on_everything(kind: str, tmp_path: Path) -> None:
    """That is no work that anybody threw away."""
    made = rolled()
    made.event(100.05, "process", kind, member=5)
    hang_up(made, 1, 1.1)
    assert judged(made, tmp_path, "REB-7").verdict is Verdict.PASS


def test_members_with_nothing_under_way_prove_nothing(tmp_path: Path) -> None:
    """Or with too few of them stopped."""
    made = rolled()
    made.events = [line for line in made.events if (line["name"], line["at"]) != ("terminated", 100.0)]
    assert judged(made, tmp_path, "REB-7").verdict is Verdict.INCONCLUSIVE


def test_a_clean_stop_that_leaves_duplicates_is_told(tmp_path: Path) -> None:
    """Of what was accepted before it, delivered again afterwards."""
    made = rolled()
    token = made.deliver("h0", 290)
    made.attempt("h0", [token], 304)
    finding = judged(made, tmp_path, "LIF-3")
    assert finding.verdict is Verdict.FAIL
    assert finding.evidence == (str(token),)


def test_without_a_restart_nothing_is_judged(tmp_path: Path) -> None:
    """There is no phase for it, or it is not complete."""
    made = rolled()
    made.events = [line for line in made.events if line["name"] not in {"restarted", "drain", "end"}]
    assert judged(made, tmp_path, "LIF-3").verdict is Verdict.INCONCLUSIVE
