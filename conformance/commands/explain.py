"""``isolane explain``: what a requirement says, why it is there, and how it is judged."""

from __future__ import annotations

from pathlib import Path

import click
from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.text import Text

from isolane.conformance.report import requirement_page
from isolane.conformance.report.printing import printer
from isolane.conformance.requirements import CATALOGUE, Requirement, UnknownRequirementError, requirement
from isolane.conformance.scenarios.catalogue import judging
from isolane.conformance.scenarios.model import Scenario


@click.command()
@click.argument("identifier", metavar="ID", required=False)
@click.option("--pages", type=click.Path(file_okay=False, path_type=Path), help="Write a page of each here.")
def command(identifier: str | None, pages: Path | None) -> None:
    """Say what the requirement ID means, why it is there, and how it is judged."""
    if pages is not None:
        requirement_page.write(pages)
        click.echo(f"wrote {len(CATALOGUE.requirements)} pages to {pages}")
        return
    if identifier is None:
        raise click.UsageError(f"ID: one of {', '.join(CATALOGUE.requirements)}")
    try:
        found = requirement(identifier)
    except UnknownRequirementError as error:
        raise click.UsageError(str(error)) from error
    scenarios = [f"{each.name} ({_when(each)}): {each.title}" for each in judging((found.id,))]
    printer(highlight=False).print(_page(found, scenarios))


def _when(scenario: Scenario) -> str:
    depths = ", ".join(scenario.depths)
    return depths if scenario.clusters == "scripted" else f"{depths}; --services elasticsearch={scenario.clusters}"


def _page(found: Requirement, scenarios: list[str]) -> RenderableType:
    family = CATALOGUE.families[found.family]
    seen = ", ".join(way.words for way in found.seen)
    level = f"{found.level.words}: {found.feature}" if found.feature else found.level.words
    parts = [
        Text.assemble((found.id, "bold"), f"  {family.title}, profile {family.profile}"),
        Text(f"{level}; seen by {seen}; catalogue {CATALOGUE.version}", style="dim"),
        *_section("Requirement", [found.statement, family.note]),
        *_section("Why", [found.why]),
        *(_section("Reported of others", links) if (links := [_link(each) for each in found.reports]) else ()),
        *_section("How it is judged", [found.how]),
        *_section("Scenarios that judge it", scenarios),
    ]
    return Group(*parts)


def _link(report: str) -> str:
    repository, _, number = report.partition("#")
    return f"https://github.com/{repository}/issues/{number}"


def _section(title: str, paragraphs: list[str]) -> list[RenderableType]:
    return [
        Text(f"\n{title}", style="bold"),
        *(Padding(Text(paragraph), (0, 0, 0, 2), expand=False) for paragraph in paragraphs if paragraph),
    ]
