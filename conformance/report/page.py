"""Pages: plots and tables as one HTML file that needs no network, and shows nothing but what it was given."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import jinja2

from isolane.conformance.report import plots
from isolane.conformance.report.plots import Plot

_TEMPLATE = "page.html.j2"


@dataclass(frozen=True, slots=True)
class Table:
    """Figures as text: a caption, the headings of the columns, and rows that begin with their own heading."""

    caption: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


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
    """

    title: str
    says: tuple[str, ...] = ()
    about: str = ""
    plots: tuple[Plot, ...] = ()
    tables: tuple[Table, ...] = ()
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Page:
    """A page.

    Attributes:
        title: Its title.
        lead: What is shown.
        sections: Its parts, in order.
        facts: What it was made from and on, by name.
        commands: Command lines for who wants to go on, each with what it does.
    """

    title: str
    lead: str
    sections: tuple[Section, ...]
    facts: Mapping[str, str] = field(default_factory=dict)
    commands: Mapping[str, str] = field(default_factory=dict)


def render(page: Page) -> str:
    """Return the page as HTML; whatever text it holds is escaped."""
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(Path(__file__).parent),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    return environment.get_template(_TEMPLATE).render(page=page, library=plots.library())


def write(page: Page, path: Path) -> None:
    """Write the page.

    Raises:
        OSError: It cannot be written.
    """
    path.write_text(render(page), encoding="utf-8")
