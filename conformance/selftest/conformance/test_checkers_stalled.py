"""REB-5, REB-6 and LIF-1: the group while every cluster is stalled, and a saturated member that is given more."""

from __future__ import annotations

from pathlib import Path

import pytest

from isolane.conformance.checkers import stalled
from isolane.conformance.selftest.conformance.builders import Story, story
from isolane.conformance.verdict import Finding, Verdict

MIB = 1024**2
EVERY = ("REB-5", "REB-6", "LIF-1")
BOTH = ["1/0", "2/0"]


def judged(made: Story, folder: Path, requirement: str) -> Finding:
    """The finding on one of them."""
    (found,) = [each for each in stalled.check(made.load(folder)) if each.requirement == requirement]
    return found


def stall(*, late: float = 2.0, unrest: float = 4.0, memory: float = 110.0, backlog: float = 64.0) -> Story:
    """Everything stalls; after thirteen seconds a member is started, joins, and 22 s after its start is killed."""
    made = story(judges=EVERY)
    made.meta["bounds"] |= {"max_poll_interval": 10.0, "in_flight_bytes": MIB, "process_bytes": 4 * MIB}
    made.event(0, "process", "started", member=0)
    made.group(1, {"a": BOTH}, generation=1)
    for tenant in ("sick", "h0", "h1"):
        made.event(10, "fault", "blackhole", tenant=tenant, script={})
        made.event(60, "heal", "blackhole", tenant=tenant)
    waits = made.produce("h0", 11)
    made.attempt("h0", [waits], 12, took=None)
    deep = made.produce("h1", 11)
    made.produced[-1]["bytes"] = round(backlog * MIB)
    made.event(23, "process", "started", member=1)
    made.group(23 + late, {"a": BOTH}, state="PreparingRebalance", generation=1)
    made.group(23 + late + unrest, {"a": ["1/0"], "b": ["2/0"]}, generation=2)
    made.event(45, "process", "killed", member=1)
    made.group(50, {"a": ["1/0"]}, state="PreparingRebalance", generation=2)
    made.group(51, {"a": BOTH}, generation=3)
    for at in range(20, 60):
        level = 100.0 if at < 51 else memory
        made.samples.append({"at": at, "member": "0", "pid": 7, "rss": round(level * MIB), "threads": 1, "fds": 1})
    made.attempt("h0", [waits], 61)
    made.attempt("h1", [deep], 61)
    made.phase("drain", 60)
    made.phase("end", 75)
    return made


@pytest.mark.parametrize("requirement", EVERY)
def test_a_group_that_goes_on_pass(requirement: str, tmp_path: Path) -> None:
    """It stays, lets a member in at once, and holds no more than it is allowed."""
    finding = judged(stall(), tmp_path, requirement)
    assert finding.verdict is Verdict.PASS, finding


def test_a_rebalance_that_waits_for_a_cluster_is_a_violation(tmp_path: Path) -> None:
    """It takes more than eight seconds (FB-35)."""
    finding = judged(stall(unrest=9), tmp_path, "REB-5")
    assert finding.verdict is Verdict.FAIL
    assert "9.0 s" in finding.summary


@pytest.mark.parametrize(("seconds", "verdict"), [(7.0, Verdict.PASS), (9.0, Verdict.FAIL)])
def test_partitions_that_are_nobodys_are_part_of_a_rebalance(seconds: float, verdict: Verdict, tmp_path: Path) -> None:
    """Where they move one by one the group rests in between, however long who gives them back takes for it (FB-35)."""
    made = stall(unrest=seconds)
    made.group(25.2, {"a": ["1/0"], "b": []}, generation=2)
    made.group(23 + 2 + seconds - 0.3, {"a": ["1/0"], "b": []}, state="PreparingRebalance", generation=2)
    made.groups.sort(key=lambda line: line["at"])
    assert judged(made, tmp_path, "REB-5").verdict is verdict


def test_a_member_that_never_gets_in_is_a_violation(tmp_path: Path) -> None:
    """The group is as it was for more than the time of a start and a rebalance."""
    made = stall()
    del made.groups[1:]
    assert judged(made, tmp_path, "REB-5").verdict is Verdict.FAIL


def test_without_a_stall_no_rebalance_is_tried(tmp_path: Path) -> None:
    """One cluster was well."""
    made = stall()
    made.events = [line for line in made.events if line.get("tenant") != "sick"]
    for requirement in EVERY:
        assert judged(made, tmp_path / requirement, requirement).verdict is Verdict.INCONCLUSIVE


@pytest.mark.parametrize(("memory", "verdict"), [(109.9, Verdict.PASS), (110.1, Verdict.FAIL)])
def test_what_is_inherited_and_not_paused_is_a_violation(memory: float, verdict: Verdict, tmp_path: Path) -> None:
    """8 MiB vary, and a partition may hold twice its MiB (FB-25)."""
    assert judged(stall(memory=memory), tmp_path, "REB-6").verdict is verdict


def test_a_shallow_backlog_cannot_be_told_from_what_is_allowed(tmp_path: Path) -> None:
    """What was inherited would have had room."""
    assert judged(stall(backlog=19), tmp_path, "REB-6").verdict is Verdict.INCONCLUSIVE


def test_what_is_inherited_and_never_delivered_is_a_violation(tmp_path: Path) -> None:
    """Its partition was paused for good (FB-32)."""
    made = stall()
    made.attempts = made.attempts[:-3]
    finding = judged(made, tmp_path, "REB-6")
    assert finding.verdict is Verdict.FAIL
    assert "h1/0@0" in finding.summary


@pytest.mark.parametrize(
    ("state", "members", "generation"),
    [("Stable", {"a": BOTH}, 2), ("Empty", {}, 1), ("Stable", {"a2": BOTH}, 1)],
    ids=["formed anew", "expelled", "under another name"],
)
def test_a_group_that_changes_by_itself_is_a_violation(
    state: str, members: dict[str, list[str]], generation: int, tmp_path: Path
) -> None:
    """Nobody polled, or nobody could be told from one who does not (FB-31)."""
    made = stall()
    made.group(21, members, state=state, generation=generation)
    made.groups.sort(key=lambda line: line["at"])
    assert judged(made, tmp_path, "LIF-1").verdict is Verdict.FAIL


def test_an_outage_that_is_short_expels_nobody(tmp_path: Path) -> None:
    """It proves nothing."""
    made = stall()
    made.meta["bounds"]["max_poll_interval"] = 30.0
    assert judged(made, tmp_path, "LIF-1").verdict is Verdict.INCONCLUSIVE


def test_a_member_that_starts_slowly_moves_the_group_late(tmp_path: Path) -> None:
    """Nobody was expelled: who was started is not in the group yet, and joins it when its process is up."""
    made = stall(late=15.0)
    made.meta["bounds"]["max_poll_interval"] = 9.0
    assert judged(made, tmp_path, "LIF-1").verdict is Verdict.PASS


def test_who_is_expelled_after_a_newcomer_got_in_is_seen(tmp_path: Path) -> None:
    """Once as many are in the group as processes run, it has no cause to move before the next one comes or goes."""
    made = stall()
    made.meta["bounds"]["max_poll_interval"] = 4.0
    made.group(42, {"b": BOTH}, generation=3)
    made.groups.sort(key=lambda line: line["at"])
    assert judged(made, tmp_path, "LIF-1").verdict is Verdict.FAIL


@pytest.mark.parametrize("event", ["unreadable", "sampler_gap"])
@pytest.mark.parametrize("requirement", ["LIF-1", "REB-5"])
def test_a_group_that_nobody_saw_may_have_changed(requirement: str, event: str, tmp_path: Path) -> None:
    """Who is expelled and back by then was never away."""
    made = stall()
    made.event(22.5, "harness", event, seconds=2.9, of="group-observer")
    made.event(22.5, "harness", event, seconds=10, of="process-sampler")
    assert judged(made, tmp_path / "hardly", requirement).verdict is Verdict.PASS
    made.event(22.5, "harness", event, seconds=13.5, of="group-observer")
    finding = judged(made, tmp_path, requirement)
    assert finding.verdict is Verdict.INCONCLUSIVE
    assert "nobody saw the group for 12.5 s" in finding.summary


def test_a_change_that_was_seen_is_one_however_little_was(tmp_path: Path) -> None:
    """It is certain."""
    made = stall()
    made.event(20, "harness", "unreadable", seconds=5, of="group-observer")
    made.group(21, {}, state="Empty", generation=1)
    made.groups.sort(key=lambda line: line["at"])
    assert judged(made, tmp_path, "LIF-1").verdict is Verdict.FAIL
