"""The event stream tells a program what a person sees: phases, findings, outcomes, and how it ended."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from isolane.conformance.engine import Progress
from isolane.conformance.report.events import EventStream
from isolane.conformance.requests import request
from isolane.conformance.selftest.conformance.results import FAILED, result


def told(path: Path) -> list[dict[str, Any]]:
    """The lines of a stream, each of which is JSON as the standard has it."""

    def refuse(constant: str) -> None:
        raise AssertionError(f"{constant} is no JSON")

    return [json.loads(line, parse_constant=refuse) for line in path.read_text().splitlines()]


def test_a_run_is_told_from_its_begin_to_its_end(tmp_path: Path) -> None:
    """Each line says what it tells of, and when; figures that have no end are there as text."""
    found = result(FAILED)
    with EventStream(tmp_path / "events.ndjson") as events:
        events.began(request("reference", seed=7, out=tmp_path / "run"))
        events.progress(Progress("isolation", "control"))
        events.judged(found.scenarios[0], (FAILED,))
        events.ended(found)
    lines = told(tmp_path / "events.ndjson")
    assert [line["event"] for line in lines[:4]] == ["run_began", "phase_began", "finding", "scenario_ended"]
    assert {line["event"] for line in lines[4:-1]} == {"outcome"}
    assert all(line["at"].endswith("+00:00") for line in lines)
    assert (lines[0]["implementation"], lines[0]["seed"]) == ("reference", 7)
    assert (lines[2]["requirement"], lines[2]["verdict"]) == ("ISO-1", "fail")
    endless = {"value": None, "unit": "s", "bound": "≤ 0.6", "text": "endless (≤ 0.6)"}
    assert lines[2]["figures"]["p99 delay"] == endless
    assert (lines[-1]["event"], lines[-1]["exit_code"]) == ("run_ended", 1)


def test_what_is_known_is_in_the_file_at_once(tmp_path: Path) -> None:
    """Whoever follows it does not wait for the end."""
    with EventStream(tmp_path / "events.ndjson") as events:
        events.progress(Progress("isolation", "control"))
        assert len(told(tmp_path / "events.ndjson")) == 1


def test_without_a_file_nothing_is_written(tmp_path: Path) -> None:
    """Nobody asked for it."""
    with EventStream(None) as events:
        events.ended(result())
    assert list(tmp_path.iterdir()) == []
