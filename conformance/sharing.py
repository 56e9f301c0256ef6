"""One run shared by several processes of pytest-xdist: who lives which scenario, when, and what all found together.

What measures time is lived by one worker, and by nobody else meanwhile; other scenarios may be lived side by side.
"""

from __future__ import annotations

import fcntl
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter

from isolane.conformance.result import RunResult
from isolane.conformance.scenarios.model import Scenario

TIMED = "isolane-timed"
"""The group of tests that stay with one worker since they measure time."""

_MEASURING = {"isolation", "memory"}
"""The profiles whose verdicts depend on how fast something is."""

_RESULT = TypeAdapter(RunResult)


def group_of(scenario: Scenario) -> str:
    """Return the name of the group whose tests stay with one worker: a scenario is lived once."""
    return TIMED if is_timed(scenario) else f"isolane-{scenario.name}"


def is_timed(scenario: Scenario) -> bool:
    """Return whether verdicts of a scenario depend on how busy the machine is."""
    return bool(scenario.profiles & _MEASURING)


@contextmanager
def turn(folder: Path, scenario: Scenario) -> Iterator[None]:
    """Wait until a scenario may be lived: alone, where it is timed; among others that are not, where it is not.

    Args:
        folder: Of the run, which all of its processes share.
        scenario: The scenario.
    """
    with (folder / ".turn").open("ab") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX if is_timed(scenario) else fcntl.LOCK_SH)
        yield


def packed(result: RunResult) -> dict[str, Any]:
    """Return a result as plain values, to be sent to another process."""
    plain: dict[str, Any] = _RESULT.dump_python(result, mode="json")
    return plain


def merged(results: Sequence[dict[str, Any]]) -> RunResult | None:
    """Return what all processes of a run found together; None where none has begun."""
    parts = [_RESULT.validate_python(each) for each in results]
    if not parts:
        return None
    return replace(
        parts[0],
        started=min(part.started for part in parts),
        seconds=max(part.seconds for part in parts),
        scenarios=tuple(scenario for part in parts for scenario in part.scenarios),
        findings=tuple(finding for part in parts for finding in part.findings),
    )
