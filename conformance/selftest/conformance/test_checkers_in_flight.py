"""MEM-1, MEM-2, MEM-6: what is in flight of a partition, and of the process."""

from __future__ import annotations

from pathlib import Path

import pytest

from isolane.conformance.checkers import in_flight
from isolane.conformance.selftest.conformance.builders import Story, story
from isolane.conformance.tokens import Token
from isolane.conformance.verdict import Finding, Verdict

IDS = ("MEM-1", "MEM-2", "MEM-6")
P, F, I = Verdict.PASS, Verdict.FAIL, Verdict.INCONCLUSIVE  # noqa: E741 - three letters for three verdicts


def backlog(*judges: str, records: int = 10, size: int = 100) -> tuple[Story, list[Token]]:
    """Records of one partition, all refused from 100 on, and bounds of 4 records, 400 bytes, and 600 in all."""
    made = story(judges=judges)
    made.meta["bounds"] |= {"in_flight_records": 4, "in_flight_bytes": 400, "process_bytes": 600}
    made.event(99, "process", "started", member=0, pid=1, code=None)
    tokens = [made.produce("sick", 100) for _ in range(records)]
    for line in made.produced:
        line["bytes"] = size
    return made, tokens


def refuse(made: Story, tokens: list[Token], at: float, tenant: str = "sick") -> None:
    """A request with these records that is refused."""
    made.attempt(tenant, tokens, at, status=503, items=None)


def judged(made: Story, folder: Path) -> dict[str, Finding]:
    """The findings by requirement."""
    return {finding.requirement: finding for finding in in_flight.check(made.load(folder))}


def test_what_keeps_to_its_bounds_passes(tmp_path: Path) -> None:
    """Retries of the same records count once, and what is finished makes room for others."""
    made, tokens = backlog(*IDS)
    refuse(made, tokens[:4], 101)
    refuse(made, tokens[:4], 102)
    made.attempt("sick", tokens[:2], 103)
    refuse(made, tokens[2:6], 104)
    found = judged(made, tmp_path)
    assert [found[name].verdict for name in IDS] == [P, P, P]
    assert found["MEM-1"].figures["most in flight of a partition"].value == 4
    assert found["MEM-2"].figures["most in flight of a partition"].value == 400
    assert found["MEM-6"].figures["most in flight of the process"].value == 400


def test_one_record_too_many_is_a_violation(tmp_path: Path) -> None:
    """MEM-1, FB-24: while the first ones wait for their retry more are sent; the story is that of the one too many."""
    made, tokens = backlog(*IDS, size=10)
    refuse(made, tokens[:4], 101)
    refuse(made, tokens[4:5], 102)
    finding = judged(made, tmp_path)["MEM-1"]
    assert finding.verdict is F
    assert finding.evidence == (str(tokens[4]),)


def test_too_many_bytes_are_a_violation(tmp_path: Path) -> None:
    """MEM-2: the records are few enough, and too large together."""
    made, tokens = backlog(*IDS, size=150)
    refuse(made, tokens[:3], 101)
    found = judged(made, tmp_path)
    assert (found["MEM-1"].verdict, found["MEM-2"].verdict) == (P, F)


def test_one_record_larger_than_the_bound_may_go_alone(tmp_path: Path) -> None:
    """MEM-3 asks for it; beside another it is a violation of MEM-2."""
    made, tokens = backlog("MEM-2", size=1000)
    refuse(made, tokens[:1], 101)
    assert judged(made, tmp_path / "alone")["MEM-2"].verdict is P
    refuse(made, tokens[1:2], 102)
    assert judged(made, tmp_path / "beside")["MEM-2"].verdict is F


def test_the_process_may_exceed_its_budget_by_one_record(tmp_path: Path) -> None:
    """MEM-6: partitions within their bounds add up; one largest record more than the budget is allowed, two are not."""
    made, tokens = backlog("MEM-6")
    others = [made.produce("h0", 100) for _ in range(8)]
    refuse(made, tokens[:4], 101)
    refuse(made, others[:3], 102, "h0")
    assert judged(made, tmp_path / "one")["MEM-6"].verdict is P
    refuse(made, others[3:4], 103, "h0")
    finding = judged(made, tmp_path / "two")["MEM-6"]
    assert finding.verdict is F
    assert finding.evidence == (str(others[3]),)


def test_a_new_member_begins_with_nothing_in_flight(tmp_path: Path) -> None:
    """What a killed member had sent and not finished is not held against the next one."""
    made, tokens = backlog("MEM-1", size=10)
    refuse(made, tokens[:4], 101)
    made.event(102, "process", "killed", member=0, pid=1, code=-9)
    refuse(made, tokens[4:8], 103)
    assert judged(made, tmp_path)["MEM-1"].verdict is P


def test_a_backlog_within_the_bounds_proves_nothing(tmp_path: Path) -> None:
    """Nothing more was to be delivered than may be in flight."""
    made, tokens = backlog(*IDS, records=3)
    refuse(made, tokens, 101)
    found = judged(made, tmp_path)
    assert [found[name].verdict for name in IDS] == [I, I, I]


@pytest.mark.parametrize(("sent", "verdicts"), [(4, {}), (5, {"MEM-1": F, "MEM-2": F})])
def test_where_nothing_is_declared_only_violations_are_told(
    sent: int, verdicts: dict[str, Verdict], tmp_path: Path
) -> None:
    """Any history may show one."""
    made, tokens = backlog()
    refuse(made, tokens[:sent], 101)
    assert {name: finding.verdict for name, finding in judged(made, tmp_path).items()} == verdicts


def test_what_arrives_at_a_foreign_cluster_is_not_counted(tmp_path: Path) -> None:
    """That is a matter of TEN-2."""
    made, tokens = backlog("MEM-1")
    refuse(made, tokens, 101, "h0")
    assert judged(made, tmp_path)["MEM-1"].verdict is I
