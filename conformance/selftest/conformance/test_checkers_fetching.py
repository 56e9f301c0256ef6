"""MEM-7: what is fetched, and that only the partition concerned is held."""

from __future__ import annotations

from pathlib import Path

from isolane.conformance.checkers import fetching
from isolane.conformance.selftest.conformance.builders import Story, story
from isolane.conformance.verdict import Finding, Verdict

P, F, I = Verdict.PASS, Verdict.FAIL, Verdict.INCONCLUSIVE  # noqa: E741 - three letters for three verdicts


def held(*counts: tuple[float, int]) -> Story:
    """Ten records of 100 bytes, one partition's refused from 100 to 120, another's accepted; and what was fetched."""
    made = story(judges=("MEM-7",))
    made.event(90, "process", "started", member=0, pid=1, code=None)
    made.fault("stuck", "sick", 100, 120)
    made.phase("drain", 120)
    made.phase("end", 130)
    stuck = [made.produce("sick", 101) for _ in range(5)]
    made.attempt("sick", stuck[:1], 102, items=[429])
    for number in range(5):
        made.deliver("sick", 103 + number, partition=1)
    made.attempt("sick", stuck, 121)
    made.fetched = [{"at": at, "bytes": size} for at, size in counts]
    return made


GOOD = ((110.0, 700), (125.0, 1100))


def judged(made: Story, folder: Path) -> dict[str, Finding]:
    """The findings by case."""
    return {finding.case: finding for finding in fetching.check(made.load(folder))}


def test_one_fetch_of_each_record_passes(tmp_path: Path) -> None:
    """With a little more for the protocol; something was left in Kafka meanwhile."""
    found = judged(held(*GOOD), tmp_path)
    assert [finding.verdict for finding in found.values()] == [P, P]
    assert found["bytes fetched"].figures["fetched / produced"].value == 1.1
    assert found["beside stuck"].figures["partitions held"].value == 1


def test_fetching_again_and_again_is_a_violation(tmp_path: Path) -> None:
    """What was fetched for a full partition is discarded, and fetched again."""
    finding = judged(held((110.0, 700), (125.0, 1600)), tmp_path)["bytes fetched"]
    assert finding.verdict is F
    assert finding.story


def test_compressed_records_do_not_count(tmp_path: Path) -> None:
    """From there on fewer bytes are fetched than produced, which would hide what was fetched twice."""
    made = held((110.0, 700), (119.0, 1600), (125.0, 1700))
    made.phase("fault:dead-packed", 122)
    for _ in range(10):
        made.produce("h0", 123)
    assert judged(made, tmp_path)["bytes fetched"].verdict is F


def test_who_fetches_everything_at_once_proves_nothing(tmp_path: Path) -> None:
    """There was no back-pressure."""
    assert judged(held((104.0, 600), (110.0, 1100)), tmp_path)["bytes fetched"].verdict is I


def test_what_was_not_counted_is_not_judged(tmp_path: Path) -> None:
    """A Kafka of somebody else's has no listener for a proxy."""
    finding = judged(held(), tmp_path)["bytes fetched"]
    assert finding.verdict is I
    assert "takes a Kafka that the suite has started" in finding.summary


def test_holding_the_other_partitions_too_is_a_violation(tmp_path: Path) -> None:
    """The whole consumer was paused: the story is that of a record beside the stuck one."""
    made = held(*GOOD)
    for line in made.attempts:
        if line["r"] in range(2, 7):
            line["at"] = 125
    assert judged(made, tmp_path)["beside stuck"].verdict is F


def test_without_anything_beside_it_nothing_is_judged(tmp_path: Path) -> None:
    """One partition alone has no neighbours."""
    made = held(*GOOD)
    made.produced = [line for line in made.produced if line["partition"] == 0]
    assert judged(made, tmp_path)["beside stuck"].verdict is I


def test_a_run_that_ends_while_a_partition_is_held_proves_nothing_of_the_others(tmp_path: Path) -> None:
    """What was not accepted beside it may have been late, or on its way."""
    made = held(*GOOD)
    made.events = [line for line in made.events if line["at"] < 120]
    made.attempts = [line for line in made.attempts if line["at"] < 103]
    finding = judged(made, tmp_path)["beside stuck"]
    assert finding.verdict is I
    assert finding.summary == "the run ended while a partition was held"
