"""The histories on the pages of the requirements are what they say: each is put before its checker."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import pytest

from isolane.conformance.checkers import judge
from isolane.conformance.examples import EXAMPLES
from isolane.conformance.report import requirement_page
from isolane.conformance.requirements import requirement
from isolane.conformance.selftest.conformance.telling import told
from isolane.conformance.verdict import Finding, Verdict


def findings(lines: Iterable[str], identifier: str, folder: Path) -> list[Finding]:
    """What checkers find in an example on its requirement; there may be several cases of it."""
    found = judge(told(lines, identifier).load(folder))
    return [finding for finding in found if finding.requirement == identifier]


@pytest.mark.parametrize("identifier", EXAMPLES)
def test_an_example_is_judged_as_its_page_says(identifier: str, tmp_path: Path) -> None:
    """One passes in each case, and the other fails in one at least; nothing is left in doubt."""
    example = EXAMPLES[identifier]
    passed = findings(example.passes, identifier, tmp_path / "passes")
    failed = findings(example.fails, identifier, tmp_path / "fails")
    assert {each.verdict for each in passed} == {Verdict.PASS}, passed
    assert {Verdict.FAIL} <= {each.verdict for each in failed} <= {Verdict.FAIL, Verdict.PASS}, failed


@pytest.mark.parametrize("identifier", EXAMPLES)
def test_an_example_stands_on_its_page(identifier: str) -> None:
    """Line by line."""
    page = requirement_page.page(requirement(identifier))
    for lines in (EXAMPLES[identifier].passes, EXAMPLES[identifier].fails):
        assert "\n".join(["```text", *lines, "```"]) in page
