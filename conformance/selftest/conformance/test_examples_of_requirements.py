"""The histories on the pages of the requirements are what they say: each is put before its checker."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from pathlib import Path

import pytest

from isolane.conformance.checkers import judge
from isolane.conformance.examples import EXAMPLES
from isolane.conformance.history_values import Kind
from isolane.conformance.report import requirement_page
from isolane.conformance.requirements import requirement
from isolane.conformance.selftest.conformance.builders import Story, story
from isolane.conformance.tokens import Token
from isolane.conformance.verdict import Finding, Verdict

TENANTS = {"a": "h0", "b": "h1"}
PLACE = re.compile(r"(\w)/(\d)@(\d)")


def told(lines: Iterable[str], identifier: str) -> Story:
    """The history that lines of an example tell."""
    made = story(judges=(identifier,))
    made.meta["features"] = {"ordered": True}
    made.meta["dead_letter"] = {"kind": "kafka", "undecodable": "dead_letter"}
    records: dict[str, Token] = {}
    for line in lines:
        at, what = line.split(" ", 1)
        _happens(made, float(at), what, records)
    return made


def _happens(made: Story, at: float, what: str, records: dict[str, Token]) -> None:
    places = PLACE.findall(what)
    named = ["{}/{}@{}".format(*place) for place in places]
    if what.startswith("produced "):
        ((tenant, partition, offset),) = places
        kind: Kind = "poison" if what.endswith(", which nobody can decode") else "data"
        token = made.produce(TENANTS[tenant], at, partition=int(partition), kind=kind)
        assert made.produced[-1]["offset"] == int(offset), what
        records[named[0]] = token
    elif answer := re.match(r"(\w)'s cluster answers (\d+) to ", what):
        status = int(answer[2])
        whole = {"status": 200, "items": status} if status < 300 else {"status": status, "items": None}
        made.attempt(TENANTS[answer[1]], [records[each] for each in named], at, **whole)
    elif read := re.fullmatch(r"read (\w)/(\d) = (\d)", what):
        made.commit(at, {f"{made.topic(TENANTS[read[1]])}/{read[2]}": int(read[3])})
    elif letter := re.fullmatch(r"\S+ is a dead letter: (.*)", what):
        made.put_aside(records[named[0]], at, reason=letter[1])
    elif what == "member killed":
        made.event(at, "process", "killed", member=0)
    else:
        made.phase(what.removeprefix("phase "), at)
        assert what.startswith("phase "), what


def findings(lines: Iterable[str], identifier: str, folder: Path) -> Mapping[str, Finding]:
    """What checkers find in an example on its requirement."""
    found = judge(told(lines, identifier).load(folder))
    return {finding.requirement: finding for finding in found if finding.requirement == identifier}


@pytest.mark.parametrize("identifier", EXAMPLES)
def test_an_example_is_judged_as_its_page_says(identifier: str, tmp_path: Path) -> None:
    """One passes, and the other fails."""
    example = EXAMPLES[identifier]
    passed = findings(example.passes, identifier, tmp_path / "passes")[identifier]
    failed = findings(example.fails, identifier, tmp_path / "fails")[identifier]
    assert (passed.verdict, failed.verdict) == (Verdict.PASS, Verdict.FAIL), (passed.summary, failed.summary)


@pytest.mark.parametrize("identifier", EXAMPLES)
def test_an_example_stands_on_its_page(identifier: str) -> None:
    """Line by line."""
    page = requirement_page.page(requirement(identifier))
    for lines in (EXAMPLES[identifier].passes, EXAMPLES[identifier].fails):
        assert "\n".join(["```text", *lines, "```"]) in page
