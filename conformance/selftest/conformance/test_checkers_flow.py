"""ISO-1 and ISO-2 on real clusters: a healthy tenant's records are found meanwhile, or were late for certain."""

from __future__ import annotations

from pathlib import Path

import pytest

from isolane.conformance.checkers import flow
from isolane.conformance.selftest.conformance.builders import Story, story
from isolane.conformance.verdict import Verdict


def lived(*, delay: float, fault: str = "black_hole-0", seconds: float = 20) -> Story:
    """A fault at one tenant while a healthy one gets a record a second, found with that delay."""
    made = story(healthy=1, judges=("ISO-1", "ISO-2"))
    made.event(100, "fault", fault, tenant="sick")
    made.event(100 + seconds, "heal", fault, tenant="sick")
    for number in range(round(seconds)):
        token = made.produce("h0", 100 + number)
        made.find("h0", [token], at=100 + number + delay, seen=100 + number + delay + 2)
        made.search("h0", 100 + number)
    return made


@pytest.mark.parametrize(("fault", "requirement"), [("latency-3", "ISO-1"), ("node", "ISO-2"), ("refuse-0", "ISO-2")])
def test_what_is_found_soon_passes(fault: str, requirement: str, tmp_path: Path) -> None:
    """Each kind of fault tries its requirement."""
    (found,) = flow.check(lived(delay=1, fault=fault).load(tmp_path))
    assert (found.requirement, found.verdict) == (requirement, Verdict.PASS)


def test_what_a_search_did_not_find_in_time_fails(tmp_path: Path) -> None:
    """The earliest that it can have been accepted is too late; its story is told."""
    (found,) = flow.check(lived(delay=6).load(tmp_path))
    assert (found.requirement, found.verdict) == ("ISO-2", Verdict.FAIL)
    assert found.story


@pytest.mark.parametrize(("found", "verdict"), [(10, Verdict.INCONCLUSIVE), (4, Verdict.FAIL)])
def test_what_was_not_searched_since_may_have_been_accepted(found: int, verdict: Verdict, tmp_path: Path) -> None:
    """Searches fail from the tenth second on; what one of those before should have found was late all the same."""
    made = lived(delay=1)
    made.found = [
        line if line["e"] == "found" or line["began"] < 110 else {**line, "error": "timed out"}
        for line in made.found
        if line["e"] == "searched" or line["at"] < 100 + found
    ]
    (finding,) = flow.check(made.load(tmp_path))
    assert finding.verdict is verdict
    assert verdict is Verdict.FAIL or finding.summary.endswith(
        "but h0's cluster could not be searched since: timed out"
    )


def test_what_is_sent_at_the_end_may_come_after_it(tmp_path: Path) -> None:
    """Only records count that could have been late during the fault."""
    made = lived(delay=1)
    made.produce("h0", 118)
    (found,) = flow.check(made.load(tmp_path))
    assert found.verdict is Verdict.PASS


def test_without_healthy_records_nothing_is_said(tmp_path: Path) -> None:
    """No load is no proof."""
    made = lived(delay=1)
    made.produced.clear()
    (found,) = flow.check(made.load(tmp_path))
    assert found.verdict is Verdict.INCONCLUSIVE


def test_what_is_short_or_not_declared_is_passed_over(tmp_path: Path) -> None:
    """A fault of seconds makes nobody late, and who does not declare it is not judged by it."""
    assert flow.check(lived(delay=1, seconds=3).load(tmp_path / "short")) == []
    made = lived(delay=9)
    made.meta["judges"] = ["DEL-1"]
    assert flow.check(made.load(tmp_path / "undeclared")) == []
