"""REB-8: cycles of joining and leaving at saturation leak nothing."""

from __future__ import annotations

from pathlib import Path

import pytest

from isolane.conformance.checkers import cycles
from isolane.conformance.selftest.conformance.builders import Story, story
from isolane.conformance.verdict import Finding, Verdict

MIB = 1024**2
CASES = ("throughput", "the process", "slots")


def judged(made: Story, folder: Path, case: str) -> Finding:
    """The finding on one case."""
    (found,) = [each for each in cycles.check(made.load(folder)) if each.case == case]
    return found


def cycled(*, after: float = 1.0, rounds: int = 10, memory: float = 100.0, threads: int = 20, fds: int = 30) -> Story:
    """Ten items a second with a backlog behind them, before ten cycles, and so many times that afterwards."""
    made = story(judges=("REB-8",))
    made.meta["bounds"]["cap_ceiling"] = 2
    made.event(0, "process", "started", member=0)
    backlog = [made.produce("h0", 1) for _ in range(1000)]
    for name, at, factor in (("before", 10, 1.0), ("after", 90, after)):
        made.phase(name, at)
        for turn in range(round(50 * factor)):
            made.attempt("h0", [backlog.pop(0)], at + turn / (10 * factor))
        made.phase(f"then:{name}", at + 5)
        lived = (100.0, 20, 30) if name == "before" else (memory, threads, fds)
        for turn in range(10):
            sample = {"at": at + turn / 2, "member": "0", "pid": 7, "rss": round(lived[0] * MIB)}
            made.samples.append({**sample, "threads": lived[1], "fds": lived[2]})
    made.phase("cycles", 20)
    for turn in range(rounds):
        made.event(20 + turn, "process", "started", member=1)
        made.event(20.5 + turn, "process", "stopped", member=1)
    made.phase("end", 200)
    return made


@pytest.mark.parametrize("case", CASES)
def test_cycles_that_leave_everything_as_it_was_pass(case: str, tmp_path: Path) -> None:
    """Throughput, what the process needs, and what is open at a cluster."""
    assert judged(cycled(), tmp_path, case).verdict is Verdict.PASS


@pytest.mark.parametrize(("after", "verdict"), [(0.9, Verdict.PASS), (0.86, Verdict.FAIL)])
def test_throughput_that_falls_is_a_violation(after: float, verdict: Verdict, tmp_path: Path) -> None:
    """By more than a tenth, with records waiting: a slot or a part of an allowance is gone (FB-28)."""
    assert judged(cycled(after=after), tmp_path, "throughput").verdict is verdict


@pytest.mark.parametrize(("fresh", "verdict"), [(55, Verdict.PASS), (60, Verdict.FAIL)])
def test_throughput_that_the_first_cycle_took_is_missed(fresh: int, verdict: Verdict, tmp_path: Path) -> None:
    """What was delivered before anybody had come counts, too: a leak may be complete with the first who goes."""
    made = cycled()
    made.phase("fresh", 2)
    made.phase("then:fresh", 7)
    for turn in range(fresh):
        made.deliver("h0", 2 + turn / 13)
    assert judged(made, tmp_path, "throughput").verdict is verdict


@pytest.mark.parametrize(
    ("grown", "name"),
    [
        (cycled(memory=111), "memory"),
        (cycled(threads=23), "threads"),
        (cycled(fds=39), "descriptors"),
    ],
    ids=["memory", "threads", "descriptors"],
)
def test_a_process_that_grows_is_a_violation(grown: Story, name: str, tmp_path: Path) -> None:
    """By more than a tenth and a little."""
    finding = judged(grown, tmp_path, "the process")
    assert finding.verdict is Verdict.FAIL
    assert name in finding.summary


def test_a_slot_that_was_returned_twice_is_a_violation(tmp_path: Path) -> None:
    """More requests are open at one cluster than the ceiling."""
    made = cycled()
    made.attempts[-3]["open"] = 3
    assert judged(made, tmp_path, "slots").verdict is Verdict.FAIL


@pytest.mark.parametrize("case", CASES)
def test_too_few_cycles_prove_nothing(case: str, tmp_path: Path) -> None:
    """A leak may be small."""
    assert judged(cycled(rounds=9), tmp_path, case).verdict is Verdict.INCONCLUSIVE


def test_a_load_that_is_not_enough_proves_nothing_of_throughput(tmp_path: Path) -> None:
    """It was bounded by what came."""
    made = cycled()
    made.produced = made.produced[:75]
    assert judged(made, tmp_path, "throughput").verdict is Verdict.INCONCLUSIVE


def test_a_member_that_was_replaced_proves_nothing_of_the_process(tmp_path: Path) -> None:
    """It began anew."""
    made = cycled()
    made.samples = [{**line, "pid": 8} if line["at"] > 50 else line for line in made.samples]
    assert judged(made, tmp_path, "the process").verdict is Verdict.INCONCLUSIVE
