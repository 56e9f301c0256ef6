"""Tables of a page: captions, headings, and cells that may be verdicts or links."""

from __future__ import annotations

from dataclasses import dataclass

from isolane.conformance.verdict import Verdict


@dataclass(frozen=True, slots=True)
class Cell:
    """A cell of a table.

    Attributes:
        text: Its text.
        verdict: The verdict that it shows, if any.
        link: Where it leads within the page; empty: nowhere.
        more: What only some will want to read.
    """

    text: str
    verdict: Verdict | None = None
    link: str = ""
    more: str = ""

    @classmethod
    def of(cls, verdict: Verdict) -> Cell:
        """Return the cell that shows a verdict."""
        return cls(verdict.value, verdict)


@dataclass(frozen=True, slots=True)
class Table:
    """A table of a page.

    Attributes:
        caption: What it shows.
        columns: The headings of the columns; an empty one stands over the rows' own headings.
        rows: Cells, or plain text; the first of a row is its heading.
        prose: Whether cells hold sentences, which are broken and begin on the left, and no figures.
    """

    caption: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str | Cell, ...], ...]
    prose: bool = False
