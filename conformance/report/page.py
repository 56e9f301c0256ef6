"""Pages: plots and tables as one HTML file that needs no network, and shows nothing but what it was given."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import jinja2
from markupsafe import Markup

from isolane.conformance.report import plots
from isolane.conformance.report.plots import Plot
from isolane.conformance.report.tables import Cell, Table
from isolane.conformance.verdict import Verdict

_TEMPLATE = "page.html.j2"
_WORD = Markup('<span class="word">{}</span>')
_MARKS = {
    Verdict.PASS.name: "✓",
    Verdict.FAIL.name: "✗",
    Verdict.INCONCLUSIVE.name: "?",
    Verdict.NOT_JUDGED.name: "—",
    Verdict.NOT_CLAIMED.name: "—",
}
"""What stands before a verdict, so that it is told by more than its colour."""


@dataclass(frozen=True, slots=True)
class Story:
    """What is told line by line: a title, what it is about in a sentence, the lines, and what to type to go on."""

    title: str
    about: str
    lines: tuple[str, ...]
    commands: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Section:
    """A part of a page.

    Attributes:
        title: Its title.
        says: Its message, a sentence each.
        about: What one should know to read it.
        plots: What shows it.
        tables: What shows it in figures.
        warnings: Sentences that say why to take it with care.
        stories: What is told line by line.
        anchor: Its name within the page, for links; empty: it gets a number.
    """

    title: str
    says: tuple[str, ...] = ()
    about: str = ""
    plots: tuple[Plot, ...] = ()
    tables: tuple[Table, ...] = ()
    warnings: tuple[str, ...] = ()
    stories: tuple[Story, ...] = ()
    anchor: str = ""


@dataclass(frozen=True, slots=True)
class Page:
    """A page.

    Attributes:
        title: Its title.
        lead: What is shown.
        sections: Its parts, in order.
        facts: What it was made from and on, by name.
        commands: Command lines for who wants to go on, each with what it does.
        verdict: What it is all about, to be seen at once; empty: nothing of the kind.
    """

    title: str
    lead: str
    sections: tuple[Section, ...]
    facts: Mapping[str, str] = field(default_factory=dict)
    commands: Mapping[str, str] = field(default_factory=dict)
    verdict: Cell | None = None


def render(page: Page) -> str:
    """Return the page as HTML; whatever text it holds is escaped."""
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(Path(__file__).parent),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["unbroken"] = unbroken
    return environment.get_template(_TEMPLATE).render(page=page, library=plots.library(), marks=_MARKS)


def unbroken(text: str) -> Markup:
    """Return text as HTML in which no line ends at a hyphen: there is no place to break in `--depth` or `ISO-1`."""
    return Markup(" ").join(_WORD.format(word) if "-" in word else word for word in text.split(" "))


def write(page: Page, path: Path) -> None:
    """Write the page.

    Raises:
        OSError: It cannot be written.
    """
    path.write_text(render(page), encoding="utf-8")
