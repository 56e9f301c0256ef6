"""MEM-4, MEM-5, MEM-6: where memory comes to rest while clusters are dead."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from isolane.conformance.checkers import plateau
from isolane.conformance.selftest.conformance.builders import Story, story
from isolane.conformance.verdict import Finding, Verdict

MIB = 1024**2
IDS = ("MEM-4", "MEM-5", "MEM-6")
PHASES = {"dead-few": 100, "dead-many": 200, "dead-again": 300, "dead-packed": 400}
Memory = Callable[[str, float], float]
"""The memory in MiB in a phase, so many seconds after its begin."""


def dead(memory: Memory = lambda _phase, _at: 100.0, *, rate: float = 4.0) -> Story:
    """Four phases of 30 s with a dead cluster, for which `rate` MiB are produced each second."""
    made = story(judges=IDS)
    made.event(99, "process", "started", member=0, pid=1, code=None)
    for name, began in PHASES.items():
        made.fault(name, "sick", began, began + 30)
        made.phase(f"heal:{name}", began + 30)
        tokens = [made.produce("sick", began + at) for at in range(30)]
        for line in made.produced[-30:]:
            line["bytes"] = round(rate * MIB)
        made.attempt("sick", tokens[:2], began + 1, status=503, items=None)
        made.attempt("sick", tokens, began + 31)
        for tenth in range(300):
            rss = round(memory(name, tenth / 10) * MIB)
            sample = {"at": began + tenth / 10, "member": "0", "pid": 1, "rss": rss, "threads": 5, "fds": 5}
            made.samples.append(sample)
    made.phase("drain", 450)
    made.phase("end", 460)
    return made


def judged(made: Story, folder: Path) -> dict[tuple[str, str], Finding]:
    """The findings by requirement and case."""
    return {(finding.requirement, finding.case): finding for finding in plateau.check(made.load(folder))}


def failed(made: Story, folder: Path) -> set[tuple[str, str]]:
    """Which requirements were broken, and in which case; everything else must have passed."""
    found = judged(made, folder)
    assert {finding.verdict for finding in found.values()} <= {Verdict.PASS, Verdict.FAIL}
    return {key for key, finding in found.items() if finding.verdict is Verdict.FAIL}


def test_memory_that_comes_to_rest_passes(tmp_path: Path) -> None:
    """It may rise at the begin of each fault, and be a little higher each time."""
    levels = {"dead-few": 100, "dead-many": 115, "dead-again": 120, "dead-packed": 125}
    found = judged(dead(lambda phase, at: levels[phase] - max(0.0, 5 - at) * 8), tmp_path)
    assert {finding.verdict for finding in found.values()} == {Verdict.PASS}
    figures = found["MEM-4", "the second fault"].figures
    assert figures["fault:dead-again / fault:dead-many"].value == pytest.approx(120 / 115)


def test_memory_that_follows_the_backlog_is_a_violation(tmp_path: Path) -> None:
    """FB-25: a mailbox without a bound; the story is that of a record which waits in it."""
    made = dead(lambda _phase, at: 100 + 4 * at)
    found = judged(made, tmp_path)
    within = {key for key in failed(made, tmp_path / "again") if key[1] == "within each fault"}
    assert within == {("MEM-4", "within each fault"), ("MEM-5", "within each fault")}
    assert "memory grew by 40 MiB in the last third" in found["MEM-4", "within each fault"].summary
    assert found["MEM-4", "within each fault"].story


def test_a_large_process_that_follows_the_backlog_is_a_violation(tmp_path: Path) -> None:
    """Forty mebibytes are little of a gibibyte, and all that was produced meanwhile."""
    assert ("MEM-4", "within each fault") in failed(dead(lambda _phase, at: 1000 + 4 * at), tmp_path)


def test_a_leak_of_each_fault_is_a_violation(tmp_path: Path) -> None:
    """MEM-4: the second fault of the same kind needs a fifth more than the first."""
    levels = {"dead-few": 100, "dead-many": 100, "dead-again": 120, "dead-packed": 120}
    assert failed(dead(lambda phase, _at: levels[phase]), tmp_path) == {("MEM-4", "the second fault")}


def test_a_bound_on_compressed_bytes_is_a_violation(tmp_path: Path) -> None:
    """MEM-5, FB-26: records that inflate fifty-fold need more."""
    levels = {"dead-packed": 150}
    assert failed(dead(lambda phase, _at: levels.get(phase, 100)), tmp_path) == {("MEM-5", "compression")}


def test_a_bound_for_each_partition_only_is_a_violation(tmp_path: Path) -> None:
    """MEM-6, FB-26: many partitions need more than few."""
    levels = {"dead-few": 100}
    assert failed(dead(lambda phase, _at: levels.get(phase, 150)), tmp_path) == {("MEM-6", "many partitions")}


def test_records_that_are_twice_in_a_request_are_a_violation(tmp_path: Path) -> None:
    """MEM-5, FB-24: each retry appends its records to the bulk again."""
    made = dead()
    record = made.produce("sick", 101)
    made.attempt("sick", [record, record], 102, status=503, items=None)
    assert failed(made, tmp_path) == {("MEM-5", "retries")}


def test_a_cluster_that_takes_records_is_not_dead(tmp_path: Path) -> None:
    """The fault did not bite."""
    made = dead()
    made.attempt("sick", [made.produce("sick", 210)], 212)
    found = judged(made, tmp_path)
    assert found["MEM-4", "within each fault"].verdict is Verdict.INCONCLUSIVE
    assert "were not dead" in found["MEM-4", "within each fault"].summary


def test_a_backlog_that_ends_proves_nothing(tmp_path: Path) -> None:
    """Whoever has fetched everything comes to rest, too."""
    found = judged(dead(rate=0.5), tmp_path)
    assert found["MEM-5", "within each fault"].verdict is Verdict.INCONCLUSIVE
    assert "came to an end: 5 MiB" in found["MEM-5", "within each fault"].summary


def test_memory_of_several_lives_is_not_compared(tmp_path: Path) -> None:
    """A member that was started anew begins with little."""
    made = dead()
    made.event(250, "process", "started", member=0, pid=2, code=None)
    assert {finding.verdict for finding in judged(made, tmp_path).values()} == {Verdict.PASS, Verdict.INCONCLUSIVE}


def test_without_samples_nothing_is_judged(tmp_path: Path) -> None:
    """The operating system said nothing."""
    made = dead()
    made.samples = []
    assert judged(made, tmp_path)["MEM-4", "the second fault"].verdict is Verdict.INCONCLUSIVE


def test_where_it_is_not_declared_nothing_is_judged(tmp_path: Path) -> None:
    """Plateaus take phases made for them."""
    made = dead()
    made.meta["judges"] = []
    assert plateau.check(made.load(tmp_path)) == []
