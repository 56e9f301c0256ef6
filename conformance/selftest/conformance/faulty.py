"""Handmade histories of a tenant whose cluster is wrong for ten seconds, to be broken in one way a test."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from isolane.conformance.history import History
from isolane.conformance.selftest.conformance.builders import Story, story
from isolane.conformance.verdict import Finding

BEGAN, ENDED, DRAIN, END = 10.0, 20.0, 30.0, 40.0


def faulty(name: str, **script: object) -> Story:
    """A history with a fault at the tenant `sick` from 10 to 20, and a drain from 30 to 40."""
    made = story()
    made.meta["bounds"] |= {"session_timeout": 1.0, "request_timeout": 5.0}
    made.meta["dead_letter"] = {"kind": "kafka", "undecodable": "dead_letter"}
    made.phase("outcomes", 1)
    made.event(BEGAN, "fault", name, tenant="sick", script=script)
    made.event(ENDED, "heal", name, tenant="sick")
    made.phase("drain", DRAIN)
    made.phase("end", END)
    return made


def cut_short(made: Story) -> None:
    """End the history before its drain was over."""
    made.events = [event for event in made.events if event["name"] != "end"]


def judged(made: Story, folder: Path, check: Callable[[History], list[Finding]]) -> Finding:
    """The one finding of a checker."""
    (finding,) = check(made.load(folder))
    return finding
