"""The histories on the pages of the requirements are what they say: each is put before its checker."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import pytest

from isolane.conformance.checkers import judge
from isolane.conformance.examples import EXAMPLES
from isolane.conformance.report import requirement_page
from isolane.conformance.requirements import CATALOGUE, requirement
from isolane.conformance.selftest.conformance.telling import told
from isolane.conformance.verdict import Finding, Verdict

LONGEST = 15
"""Lines of an example: with more it is no example."""


def test_every_requirement_has_an_example() -> None:
    """In the order of the catalogue."""
    assert list(EXAMPLES) == list(CATALOGUE.requirements)


def findings(lines: Iterable[str], identifier: str, folder: Path) -> list[Finding]:
    """What checkers find in an example of a requirement, on any."""
    return judge(told(lines, identifier).load(folder))


@pytest.mark.parametrize("identifier", EXAMPLES)
def test_an_example_is_judged_as_its_page_says(identifier: str, tmp_path: Path) -> None:
    """One passes in each case, and breaks nothing else; the other fails in one at least; nothing is left in doubt."""
    example = EXAMPLES[identifier]
    everything = findings(example.passes, identifier, tmp_path / "passes")
    passed = [each for each in everything if each.requirement == identifier]
    failed = [
        each for each in findings(example.fails, identifier, tmp_path / "fails") if each.requirement == identifier
    ]
    assert {each.verdict for each in passed} == {Verdict.PASS}, passed
    assert [each for each in everything if each.verdict is Verdict.FAIL] == []
    assert {Verdict.FAIL} <= {each.verdict for each in failed} <= {Verdict.FAIL, Verdict.PASS}, failed


@pytest.mark.parametrize("identifier", EXAMPLES)
def test_an_example_is_short_and_in_order(identifier: str) -> None:
    """The lines are in order of the times that they begin with."""
    for lines in (EXAMPLES[identifier].passes, EXAMPLES[identifier].fails):
        times = [float(line.split(" ")[0]) for line in lines]
        assert times == sorted(times)
        assert len(lines) <= LONGEST


@pytest.mark.parametrize("identifier", EXAMPLES)
def test_an_example_stands_on_its_page(identifier: str) -> None:
    """Line by line."""
    page = requirement_page.page(requirement(identifier))
    for lines in (EXAMPLES[identifier].passes, EXAMPLES[identifier].fails):
        assert "\n".join(["```text", *lines, "```"]) in page
