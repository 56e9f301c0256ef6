"""REB-1, REB-2 and REB-4: members come and go under load; whoever keeps or gets back a partition goes on with it."""

from __future__ import annotations

from pathlib import Path

import pytest

from isolane.conformance.checkers import joining, membership
from isolane.conformance.selftest.conformance.builders import Story, story
from isolane.conformance.verdict import Finding, Verdict

A, B = ["1/0", "1/1"], ["2/0"]


def judged(made: Story, folder: Path, requirement: str) -> Finding:
    """The finding on one of them."""
    (found,) = [each for each in joining.check(made.load(folder)) if each.requirement == requirement]
    return found


def churned() -> Story:
    """One member; another comes, leaves, comes and is killed; in each calm every partition goes on."""
    made = story(judges=("REB-1", "REB-2", "REB-4"))
    made.phase("load", 0)
    made.event(0, "process", "started", member=0)
    made.group(2, {"a": [*A, *B]})
    for at, name, member, has in (
        (10, "started", 1, {"a": ["1/0", "2/0"], "b": ["1/1"]}),
        (20, "stopped", 1, {"a": [*A, *B]}),
        (30, "started", 2, {"a": ["1/0"], "c": ["1/1", "2/0"]}),
        (40, "killed", 2, {"a": [*A, *B]}),
    ):
        made.event(at, "process", name, member=member)
        made.group(at + 0.5, {"a": []}, state="PreparingRebalance")
        made.group(at + 1, has)
    done = {"1/0": 0, "1/1": 0, "2/0": 0}
    for second in range(60):
        for tenant, partition in (("h0", 0), ("h0", 1), ("h1", 0)):
            token = made.produce(tenant, second, partition=partition)
            made.attempt(tenant, [token], second + 0.3, took=0.9)  # so that every change finds something under way
            done[f"{made.topic(tenant)}/{partition}"] += 1
        made.commit(second + 1.5, dict(done))
    made.phase("drain", 60)
    made.phase("end", 62)
    return made


def without_commits(made: Story, place: str, since: float) -> None:
    """Let the committed offset of a partition stay as it was then, and let nothing of it be accepted from then on."""
    stays = 0
    for line in made.commits:
        stays = line["offsets"][place] if line["ended"] < since else stays
        if line["ended"] >= since:
            line["offsets"][place] = stays
    topic, partition = map(int, place.split("/"))
    late = {line["token"] for line in made.produced if (line["topic"], line["partition"]) == (topic, partition)}
    made.attempts = [
        line
        for line in made.attempts
        if line["at"] < since or not (line["e"] == "arrived" and line["tokens"][0] in late)
    ]
    kept = {line["r"] for line in made.attempts if line["e"] == "arrived"}
    made.attempts = [line for line in made.attempts if line["r"] in kept]


@pytest.mark.parametrize("requirement", ["REB-1", "REB-2", "REB-4"])
def test_members_that_come_and_go_without_harm_pass(requirement: str, tmp_path: Path) -> None:
    """They joined, left and were killed under load, and everything was delivered."""
    finding = judged(churned(), tmp_path, requirement)
    assert finding.verdict is Verdict.PASS, finding


def test_a_loss_is_a_violation_of_each_that_it_concerns(tmp_path: Path) -> None:
    """A record that was committed past and never delivered; its partition had come back."""
    made = churned()
    lost = next(line for line in made.produced if (line["topic"], line["partition"], line["scheduled"]) == (1, 1, 35))
    made.attempts = [line for line in made.attempts if line["e"] != "arrived" or line["tokens"] != [lost["token"]]]
    kept = {line["r"] for line in made.attempts if line["e"] == "arrived"}
    made.attempts = [line for line in made.attempts if line["r"] in kept]
    for requirement in ("REB-1", "REB-4"):
        finding = judged(made, tmp_path / requirement, requirement)
        assert finding.verdict is Verdict.FAIL
        assert finding.evidence == (lost["token"],)


def test_members_that_only_joined_do_not_try_reb_1(tmp_path: Path) -> None:
    """Nobody left, and nobody was killed."""
    made = churned()
    made.events = [line for line in made.events if line["name"] not in {"killed", "stopped"}]
    assert judged(made, tmp_path, "REB-1").verdict is Verdict.INCONCLUSIVE


@pytest.mark.parametrize(("place", "how"), [("1/0", "kept"), ("1/1", "got back")])
def test_a_partition_that_stands_still_is_a_violation(place: str, how: str, tmp_path: Path) -> None:
    """Its first record waits, and no commit comes in a calm (FB-33, FB-32)."""
    made = churned()
    without_commits(made, place, 20.5)
    finding = judged(made, tmp_path, "REB-2")
    assert finding.verdict is Verdict.FAIL, how
    assert f"h0/{place[-1]}@" in finding.summary


def test_a_partition_whose_cluster_is_sick_may_stand_still(tmp_path: Path) -> None:
    """That is for others to say; so it is with one that nobody kept."""
    made = churned()
    without_commits(made, "1/0", 20.5)
    made.event(20.5, "fault", "slow", tenant="h0", script={})
    assert judged(made, tmp_path, "REB-2").verdict is Verdict.PASS


def test_nobody_can_go_on_where_nothing_was_calm(tmp_path: Path) -> None:
    """Or where nobody may see the group."""
    made = churned()
    made.groups = []
    assert judged(made, tmp_path, "REB-2").verdict is Verdict.INCONCLUSIVE
    assert judged(made, tmp_path / "4", "REB-4").verdict is Verdict.INCONCLUSIVE


def test_when_a_partition_was_back_is_known(tmp_path: Path) -> None:
    """When it was first seen away from its member, and when with the same one again."""
    history = churned().load(tmp_path)
    assert membership.returns(history) == {(1, 1): [(11, 21), (31, 41)], (2, 0): [(31, 41)]}
    assert membership.unrest(history)[0] == (10.5, 11)


def test_what_moved_before_anything_was_told_of_members_crossed_nothing(tmp_path: Path) -> None:
    """A history may be broken off before its events were written, and tell of the group nevertheless."""
    made = churned()
    made.events = []
    assert judged(made, tmp_path, "REB-4").verdict is Verdict.INCONCLUSIVE
