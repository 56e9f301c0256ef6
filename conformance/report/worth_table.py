"""What each change is worth, as a table: a row for each trouble, a column for each mode, all from what was measured."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from rich import box
from rich.table import Table

from isolane.conformance.checkers import comparison, harness
from isolane.conformance.checkers.comparison import CannotJudgeError
from isolane.conformance.checkers.faults import PREFIX
from isolane.conformance.demo import Lived
from isolane.conformance.history import History
from isolane.conformance.history_values import Phase
from isolane.conformance.report.demo_account import percent, seconds
from isolane.conformance.report.effect import effect
from isolane.conformance.worth import TROUBLES, Trouble

LEGEND = (
    "In each cell: the part of its rate that the healthy tenant kept during the trouble, the longest that it had "
    "nothing accepted, and how long after the trouble's end nothing was left behind of anybody's."
)
"""What the cells say."""


@dataclass(frozen=True, slots=True)
class Worth:
    """What one mode made of one trouble.

    Attributes:
        kept: The part of its calm rate that the healthy tenant kept.
        stall: The longest time in seconds in which its records waited and none was accepted.
        recovery: Seconds from the end of the trouble until nothing was left behind of any tenant's; infinity: never.
        doubt: Why that says little; empty when it does not.
    """

    kept: float
    stall: float
    recovery: float
    doubt: str

    def __str__(self) -> str:
        """Return the cell."""
        if self.doubt:
            return "not to be told: the machine was busy"
        return f"{percent(self.kept)}, {seconds(self.stall)}, {_short(self.recovery)}"


def worth(history: History, trouble: Trouble) -> Worth:
    """Return what a mode made of a trouble.

    Raises:
        NothingToMeasureError: The history lacks what it takes.
        StopIteration: The history does not have the trouble.
    """
    fault = next(fault for fault in history.faults if fault.name == trouble.name)
    healthy = next(tenant.name for tenant in history.meta.tenants if tenant.role == "healthy")
    felt = effect(history, healthy, fault)
    recovery = max(effect(history, tenant.name, fault).recovery for tenant in history.meta.tenants)
    return Worth(felt.kept, felt.stall, recovery, _doubt(history, history.phase(PREFIX + trouble.name)))


def table(modes: Sequence[Lived], troubles: Iterable[Trouble] = TROUBLES) -> Table:
    """Return the table as something that rich prints, and that is Markdown, too."""
    columns = Table(box=box.MARKDOWN, show_edge=True)
    columns.add_column("trouble of one tenant", no_wrap=True)
    for lived in modes:
        columns.add_column(lived.mode.name.lower(), no_wrap=True)
    for trouble in troubles:
        columns.add_row(trouble.about, *(str(worth(lived.history, trouble)) for lived in modes))
    return columns


def _short(recovery: float) -> str:
    return "never" if recovery == math.inf else f"after {seconds(recovery)}"


def _doubt(history: History, phase: Phase | None) -> str:
    try:
        stretches = (comparison.control_of(history), phase)
    except CannotJudgeError as reason:
        return str(reason)
    reasons = (harness.starved(history, stretch) for stretch in stretches if stretch is not None)
    return next((reason for reason in reasons if reason is not None), "")
