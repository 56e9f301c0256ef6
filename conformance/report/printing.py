"""Where reports are printed to."""

from __future__ import annotations

import os
import sys

from rich.console import Console

WIDE = 120
"""Columns where there is no terminal to say how many: a table with sentences in it needs as many to be read."""


def printer(*, highlight: bool = True) -> Console:
    """Return standard output, as wide as its terminal; where it is none `COLUMNS` says how wide, or it is `WIDE`."""
    return Console(width=width(terminal=sys.stdout.isatty()), highlight=highlight)


def width(*, terminal: bool) -> int | None:
    """Return how wide to print; None for as wide as the terminal, or `COLUMNS`, says."""
    return None if terminal or "COLUMNS" in os.environ else WIDE
