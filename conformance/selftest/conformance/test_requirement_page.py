"""The pages of the requirements are made from the catalogue, and are those of this version of it."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest
from click.testing import CliRunner

from isolane.conformance.commands import explain, verify
from isolane.conformance.report import requirement_page
from isolane.conformance.requests import request
from isolane.conformance.requirements import CATALOGUE, requirement
from isolane.conformance.services import ServiceChoice

PAGES = Path(__file__).parents[3] / "docs" / "requirements"


@pytest.mark.skipif(not PAGES.parent.exists(), reason="documentation is not part of an installation")
def test_the_pages_in_the_documentation_are_fresh() -> None:
    """After a change of the catalogue, scenarios or known-bad: `isolane explain --pages docs/requirements`."""
    stored = {path.name: path.read_text() for path in PAGES.iterdir()}
    made = requirement_page.pages()
    assert set(stored) == set(made)
    stale = [name for name, text in made.items() if stored[name] != text]
    assert stale == [], "write them again: isolane explain --pages docs/requirements"


def test_a_page_says_what_why_and_how() -> None:
    """With the public reports, the known-bad implementations, and what to type to see it broken."""
    text = requirement_page.page(requirement("DEL-3"))
    for said in ("# DEL-3", requirement("DEL-3").statement, "## Why", "## How it is judged", "`trust_200`: A request"):
        assert said in text
    assert "isolane verify known-bad/trust_200 --depth standard --scenario outcomes --only DEL-3 --out broken" in text


def test_a_page_says_how_the_lines_of_its_example_are_to_be_read() -> None:
    """Only of what is in them: ranges of times where there are any, and several statuses where they stand in a row."""
    ranges, statuses = "* `0.0 to 5.0 every 0.1: …` happened at each of these times", "* several statuses are one for"
    pages = [requirement_page.page(requirement(each)) for each in ("ISO-1", "DEL-3", "OPS-2")]
    assert [ranges in page for page in pages] == [True, False, False]
    assert [statuses in page for page in pages] == [False, True, False]
    assert "Seconds, and what happened.\n\n```text" in pages[2]


@pytest.mark.parametrize("identifier", CATALOGUE.requirements)
def test_what_a_page_tells_to_type_would_run(identifier: str, tmp_path: Path) -> None:
    """Implementation, depth, scope and services fit each other, and judge the requirement."""
    text = requirement_page.page(requirement(identifier))
    for number, line in enumerate(re.findall(r"^isolane verify (.*)$", text, flags=re.MULTILINE)):
        given = verify.command.make_context("verify", shlex.split(line)).params
        asked = request(
            given["implementation"],
            depth_name=given["depth_name"],
            ids=given["ids"],
            names=given["names"],
            out=tmp_path / str(number),
            clusters=ServiceChoice.parse(given["choices"]).elasticsearch,
        )
        assert any(identifier in each.judged(asked.descriptor) for each in asked.scenarios), line


def test_the_index_leads_to_every_page() -> None:
    """Each id once."""
    for identifier in CATALOGUE.requirements:
        assert requirement_page.index().count(f"({identifier}.md)") == 1


def test_the_command_writes_them(tmp_path: Path) -> None:
    """All of them, into any folder; without an id and without that it says which ids there are."""
    outcome = CliRunner().invoke(explain.command, ["--pages", str(tmp_path / "pages")])
    assert outcome.exit_code == 0
    assert {path.name for path in (tmp_path / "pages").iterdir()} == set(requirement_page.pages())
    assert "ID: one of TEN-1, TEN-2" in CliRunner().invoke(explain.command, []).output
