"""OFF-2, OFF-3, OFF-4: committed offsets neither fall nor exceed, pass every gap, and follow by themselves."""

from __future__ import annotations

from pathlib import Path

import pytest

from isolane.conformance.checkers import commits
from isolane.conformance.selftest.conformance.builders import Story, story
from isolane.conformance.verdict import Finding, Verdict


def judged(made: Story, folder: Path, requirement: str) -> Finding:
    """The finding on one of them."""
    (finding,) = [each for each in commits.check(made.load(folder)) if each.requirement == requirement]
    return finding


def at_rest(*, tenants: int = 2) -> Story:
    """Records of two partitions a tenant until 5.0, all accepted; commits that are a second behind, until the end."""
    made = story(healthy=tenants)
    made.phase("load", 0)
    made.event(0, "process", "started", member=0)
    for tenant in range(tenants):
        for partition in range(2):
            for number in range(50):
                made.deliver(f"h{tenant}", number / 10, partition=partition)
    for at in range(1, 15):
        offset = min(50, 10 * (at - 1))
        ends = min(50, 10 * at)
        places = [f"{1 + tenant}/{partition}" for tenant in range(tenants) for partition in range(2)]
        made.commit(at + 0.2, dict.fromkeys(places, offset), dict.fromkeys(places, ends))
    made.phase("end", 16)
    return made


def test_commits_that_only_grow_pass(tmp_path: Path) -> None:
    """And stay below the ends of their logs."""
    finding = judged(at_rest(), tmp_path, "OFF-2")
    assert finding.verdict is Verdict.PASS
    assert finding.figures["falls"].value == 0


def test_a_commit_that_falls_is_a_violation(tmp_path: Path) -> None:
    """It names the partition, both offsets, and the first record that is read again."""
    made = at_rest()
    made.commit(16, {"1/0": 43})
    finding = judged(made, tmp_path, "OFF-2")
    assert finding.verdict is Verdict.FAIL
    assert finding.summary.startswith("the committed offset of managed_otlp.logs.h0/0, 43, fell from 50, ")
    assert "h0/0@43" in finding.story[0]


def test_a_commit_beyond_the_end_of_the_log_is_a_violation(tmp_path: Path) -> None:
    """The end is read after the offset, so there is no false alarm; the last record is told of."""
    made = at_rest()
    made.commit(16, {"1/0": 51}, {"1/0": 50})
    finding = judged(made, tmp_path, "OFF-2")
    assert finding.verdict is Verdict.FAIL
    assert "51, is above the end of the log, 50" in finding.summary
    assert "h0/0@49" in finding.story[0]


def test_a_commit_without_a_known_end_is_not_beyond_it(tmp_path: Path) -> None:
    """The end may not have been read that time."""
    made = at_rest()
    made.commit(16, {"1/0": 51})
    assert judged(made, tmp_path, "OFF-2").verdict is Verdict.PASS


def test_a_group_that_commits_nothing_proves_nothing(tmp_path: Path) -> None:
    """What never moves cannot fall."""
    made = at_rest()
    made.commits = [{**line, "offsets": {}} for line in made.commits]
    assert judged(made, tmp_path, "OFF-2").verdict is Verdict.INCONCLUSIVE


def test_what_is_not_read_for_seconds_proves_nothing(tmp_path: Path) -> None:
    """It may have fallen, and grown again."""
    made = at_rest()
    made.commits = [line for line in made.commits if not 2 < line["ended"] < 5]
    finding = judged(made, tmp_path, "OFF-2")
    assert finding.verdict is Verdict.INCONCLUSIVE
    assert finding.summary == "committed offsets could not be read for 4.0 s of load (allowed 3 s)"


def test_without_any_reading_there_is_no_finding(tmp_path: Path) -> None:
    """The history does not have what it takes."""
    assert commits.check(story().load(tmp_path)) == []


def with_gaps() -> Story:
    """A partition of which every other offset is a marker, an aborted record or a key that was superseded."""
    made = at_rest(tenants=1)
    for number, kind in enumerate(("aborted", "superseded", "aborted")):
        made.produce("h0", 5 + number, kind="aborted" if kind == "aborted" else "superseded")
        made.offsets[1, 0] += 1
        made.deliver("h0", 5.5 + number)
    made.produce("h0", 9, kind="aborted")
    made.commit(16, {"1/0": 59, "1/1": 50})
    return made


def test_a_commit_that_passes_the_last_record_behind_gaps_passes(tmp_path: Path) -> None:
    """It need not pass what is aborted behind that."""
    finding = judged(with_gaps(), tmp_path, "OFF-3")
    assert finding.verdict is Verdict.PASS
    assert finding.figures["offsets without a record to deliver"].value == 6
    assert finding.figures["partitions with gaps"].value == 1


def test_a_commit_that_waits_for_what_does_not_come_is_a_violation(tmp_path: Path) -> None:
    """Everything was delivered, and the commit stopped at the first gap."""
    made = with_gaps()
    made.commits.pop()
    finding = judged(made, tmp_path, "OFF-3")
    assert finding.verdict is Verdict.FAIL
    assert "no commit passed managed_otlp.logs.h0/0@58" in finding.summary


@pytest.mark.parametrize(("until", "verdict"), [(6.0, Verdict.INCONCLUSIVE), (16.0, Verdict.FAIL)])
def test_a_commit_may_have_been_about_to_pass_gaps_when_the_run_was_broken_off(
    until: float, verdict: Verdict, tmp_path: Path
) -> None:
    """Without a drain it is missed once it was due."""
    made = with_gaps()
    made.events = []
    made.commits = []
    made.commit(until, {"1/0": 40})
    finding = judged(made, tmp_path, "OFF-3")
    assert finding.verdict is verdict
    assert ("is not committed yet, and the run ended before its drain" in finding.summary) is (until == 6.0)


def test_a_commit_that_has_to_wait_behind_gaps_proves_nothing(tmp_path: Path) -> None:
    """Where a record is not finished the commit must not pass it."""
    made = with_gaps()
    made.produce("h0", 10)
    assert judged(made, tmp_path, "OFF-3").verdict is Verdict.INCONCLUSIVE


def test_without_gaps_nothing_is_tried(tmp_path: Path) -> None:
    """Aborted records behind the last one are no gap that the commit has to cross."""
    made = at_rest(tenants=1)
    made.produce("h0", 6, kind="aborted")
    assert [each.requirement for each in commits.check(made.load(tmp_path))] == ["OFF-2", "OFF-4"]


def test_a_commit_that_follows_within_the_interval_and_a_margin_passes(tmp_path: Path) -> None:
    """With the longest time that it took."""
    finding = judged(at_rest(), tmp_path, "OFF-4")
    assert finding.verdict is Verdict.PASS
    assert finding.figures["partitions that came to rest"].value == 4
    assert finding.figures["longest time until the commit"].value < 2


def test_a_commit_that_does_not_follow_is_a_violation(tmp_path: Path) -> None:
    """No new record comes to carry it along."""
    made = at_rest()
    for line in made.commits:
        line["offsets"]["2/1"] = min(line["offsets"]["2/1"], 40)
    finding = judged(made, tmp_path, "OFF-4")
    assert finding.verdict is Verdict.FAIL
    assert "managed_otlp.logs.h1/1@49 was the last record of its partition to be finished; no commit followed" in (
        finding.summary
    )


def test_a_commit_that_follows_late_is_a_violation(tmp_path: Path) -> None:
    """Within several intervals is not within one."""
    made = at_rest()
    for line in made.commits:
        if line["ended"] < 10:
            line["offsets"]["2/1"] = min(line["offsets"]["2/1"], 40)
    finding = judged(made, tmp_path, "OFF-4")
    assert finding.verdict is Verdict.FAIL
    assert "the commit followed only 5." in finding.summary


def test_a_late_commit_of_a_starved_harness_proves_nothing(tmp_path: Path) -> None:
    """Unless it is later than any starvation explains."""
    made = at_rest()
    made.event(7, "harness", "sampler_gap", seconds=2)
    for line in made.commits:
        if line["ended"] < 10:
            line["offsets"]["2/1"] = min(line["offsets"]["2/1"], 40)
    assert judged(made, tmp_path / "late", "OFF-4").verdict is Verdict.INCONCLUSIVE
    for line in made.commits:
        line["offsets"]["2/1"] = min(line["offsets"]["2/1"], 40)
    assert judged(made, tmp_path / "never", "OFF-4").verdict is Verdict.FAIL


def test_a_change_of_members_excuses_a_late_commit(tmp_path: Path) -> None:
    """The partition had no owner for a while; what is committed in time all the same counts."""
    made = at_rest()
    made.event(4.9, "process", "killed", member=0)
    for line in made.commits:
        line["offsets"]["2/1"] = min(line["offsets"]["2/1"], 40)
    finding = judged(made, tmp_path, "OFF-4")
    assert finding.verdict is Verdict.PASS
    assert finding.figures["partitions that came to rest"].value == 3


def test_too_few_partitions_at_rest_prove_nothing(tmp_path: Path) -> None:
    """One that is in time may be luck."""
    assert judged(at_rest(tenants=1), tmp_path, "OFF-4").verdict is Verdict.INCONCLUSIVE


def test_a_run_that_ends_before_the_commit_is_due_proves_nothing(tmp_path: Path) -> None:
    """Nobody looked any more when it was; one that came before that counts."""
    made = at_rest()
    made.commits = [line for line in made.commits if line["ended"] < 6]
    assert [each.requirement for each in commits.check(made.load(tmp_path / "before"))] == ["OFF-2"]
    made = at_rest()
    made.commits = [line for line in made.commits if line["ended"] < 7]
    assert judged(made, tmp_path / "in time", "OFF-4").verdict is Verdict.PASS
