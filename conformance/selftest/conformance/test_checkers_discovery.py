"""TEN-1: what is created while everything runs is read from its first record, and soon."""

from __future__ import annotations

from pathlib import Path

import pytest

from isolane.conformance.checkers import discovery
from isolane.conformance.selftest.conformance.builders import Story, story
from isolane.conformance.verdict import Finding, Verdict


def discovered() -> Story:
    """A topic of two partitions that is created at 10.0, and one that grows to two; their records come at once."""
    made = story()
    made.meta["bounds"]["metadata_max_age"] = 2
    made.meta["topics"][2]["partitions"] = 1
    made.phase("load", 0)
    made.event(1, "process", "started", member=0)
    made.event(10, "topic", "created", topic=1, partitions=2)
    made.event(10, "topic", "partitions", topic=2, partitions=2)
    for number in range(5):
        for tenant, partition in (("h0", 0), ("h0", 1), ("h1", 1)):
            made.deliver(tenant, 10.1 + number / 10, delay=2, partition=partition)
    made.phase("drain", 20)
    made.phase("end", 21)
    return made


def judged(made: Story, folder: Path) -> Finding:
    """The finding on TEN-1."""
    (finding,) = discovery.check(made.load(folder))
    return finding


def lost(made: Story, request: int) -> None:
    """Let the n-th request never have been made."""
    made.attempts = [line for line in made.attempts if line["r"] != request]


def test_new_partitions_that_are_read_from_their_first_record_pass(tmp_path: Path) -> None:
    """Those of a new topic, and those that were added."""
    finding = judged(discovered(), tmp_path)
    assert finding.verdict is Verdict.PASS
    assert finding.figures["new partitions"].value == 3


def test_a_partition_that_is_begun_at_its_end_is_a_violation(tmp_path: Path) -> None:
    """Its first record is missing, and a later one is there (FB-14)."""
    made = discovered()
    lost(made, 3)
    finding = judged(made, tmp_path)
    assert finding.verdict is Verdict.FAIL
    assert "managed_otlp.logs.h1/1@0, the first record of a partition that was new, was never accepted" in (
        finding.summary
    )
    assert "the one at 1 was: it began there" in finding.summary


def test_a_partition_that_is_never_read_is_a_violation(tmp_path: Path) -> None:
    """Nothing of it came."""
    made = discovered()
    for request in range(2, 16, 3):
        lost(made, request)
    finding = judged(made, tmp_path)
    assert finding.verdict is Verdict.FAIL
    assert "nor anything behind it" in finding.summary


def test_a_partition_may_have_been_about_to_be_read_when_the_run_was_broken_off(tmp_path: Path) -> None:
    """Its first record is missing, and there was no drain in which it could come."""
    made = discovered()
    lost(made, 3)
    del made.events[-2:]
    assert judged(made, tmp_path).verdict is Verdict.INCONCLUSIVE


def test_a_partition_that_is_found_late_is_a_violation(tmp_path: Path) -> None:
    """The age of metadata and a margin bound it."""
    made = discovered()
    made.meta["bounds"]["metadata_max_age"] = -9
    finding = judged(made, tmp_path)
    assert finding.verdict is Verdict.FAIL
    assert "was accepted only 2.0 s later" in finding.summary


@pytest.mark.parametrize(("tenants", "verdict"), [(("h0", "h1"), Verdict.PASS), (("h0",), Verdict.FAIL)])
def test_what_its_own_cluster_refuses_is_not_found_late(
    tenants: tuple[str, ...], verdict: Verdict, tmp_path: Path
) -> None:
    """The time counts from the heal of the last fault of those that kept a new topic's cluster from accepting."""
    made = discovered()
    made.meta["bounds"]["metadata_max_age"] = -9
    for name, began, ended in (("refuse", 9, 11), ("slow", 10.5, 11.5)):
        for tenant in tenants:
            made.event(began, "fault", name, tenant=tenant, script={})
            made.event(ended, "heal", name, tenant=tenant)
    finding = judged(made, tmp_path)
    assert finding.verdict is verdict
    longest = 0.6 if verdict is Verdict.PASS else 2
    assert finding.figures["longest time until the first record was accepted"].value == pytest.approx(longest, abs=0.01)


def test_a_starved_harness_excuses_what_is_late(tmp_path: Path) -> None:
    """Nothing ran as it should."""
    made = discovered()
    made.meta["bounds"]["metadata_max_age"] = -9
    made.event(11, "harness", "sampler_gap", seconds=2)
    assert judged(made, tmp_path).verdict is Verdict.INCONCLUSIVE


def test_a_member_that_starts_meanwhile_proves_nothing_of_discovery(tmp_path: Path) -> None:
    """It reads what there is."""
    made = discovered()
    made.event(11, "process", "started", member=1)
    finding = judged(made, tmp_path)
    assert finding.verdict is Verdict.INCONCLUSIVE
    assert "a member was started before" in finding.summary


@pytest.mark.parametrize(("started", "verdict"), [(10.5, Verdict.INCONCLUSIVE), (11.5, Verdict.FAIL)])
def test_a_start_excuses_what_is_late_only_while_there_was_time(
    started: float, verdict: Verdict, tmp_path: Path
) -> None:
    """Whose member was replaced within the bound may read late; a start after it changes nothing."""
    made = discovered()
    made.meta["bounds"]["metadata_max_age"] = -9
    made.event(started, "process", "started", member=1)
    assert judged(made, tmp_path).verdict is verdict


def test_nothing_new_tries_nothing(tmp_path: Path) -> None:
    """Neither do partitions that get no record, nor topics that nobody owns."""
    made = discovered()
    made.events = [line for line in made.events if line["kind"] != "topic"]
    assert discovery.check(made.load(tmp_path / "none")) == []
    made.event(20, "topic", "partitions", topic=1, partitions=4)
    assert discovery.check(made.load(tmp_path / "empty")) == []
    made = discovered()
    made.meta["topics"] = [{**topic, "tenant": None} for topic in made.meta["topics"]]
    assert discovery.check(made.load(tmp_path / "unowned")) == []


@pytest.mark.parametrize(
    ("name", "what", "verdict"),
    [
        ("broker_kill", {}, Verdict.INCONCLUSIVE),
        ("freeze", {"member": 1}, Verdict.INCONCLUSIVE),
        ("black_hole", {"target": "kafka:coordinator"}, Verdict.INCONCLUSIVE),
        ("black_hole", {"target": "h0"}, Verdict.FAIL),
        ("burst", {"tenant": "h0"}, Verdict.FAIL),
    ],
)
def test_what_is_late_while_a_timeline_keeps_members_from_kafka_is_in_doubt(
    name: str, what: dict[str, object], verdict: Verdict, tmp_path: Path
) -> None:
    """Nobody can read what is new then; when only others' clusters were away, that excuses nothing."""
    made = discovered()
    made.meta["bounds"]["metadata_max_age"] = -9
    made.event(10.5, "chaos", name, number=0, part="begins", what=what)
    made.event(11.5, "chaos", name, number=0, part="over")
    finding = judged(made, tmp_path)
    assert finding.verdict is verdict
    assert (f"{name}-0 was under way before that" in finding.summary) is (verdict is Verdict.INCONCLUSIVE)


def test_what_is_skipped_is_a_violation_whatever_was_under_way(tmp_path: Path) -> None:
    """A partition that is begun behind its first record never gets it."""
    made = discovered()
    lost(made, 3)
    made.event(10.5, "chaos", "broker_kill", number=0, part="begins")
    made.event(11.5, "chaos", "broker_kill", number=0, part="over")
    assert judged(made, tmp_path).verdict is Verdict.FAIL
