"""Several runs of the same: how many of them said what of each requirement."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from rich import box
from rich.table import Table

from isolane.conformance.result import RunResult
from isolane.conformance.verdict import Verdict

_TOLD = (Verdict.PASS, Verdict.FAIL, Verdict.INCONCLUSIVE)


def counted(results: Sequence[RunResult]) -> dict[str, Counter[Verdict]]:
    """Return how often each requirement that any run has judged was given each verdict, in the catalogue's order."""
    counts: dict[str, Counter[Verdict]] = {}
    for result in results:
        for outcome in result.outcomes:
            counts.setdefault(outcome.requirement.id, Counter())[outcome.verdict] += 1
    return {name: each for name, each in counts.items() if any(each[verdict] for verdict in _TOLD)}


def table(results: Sequence[RunResult]) -> Table:
    """Return the counts as something that rich prints: k of N for each verdict that was given."""
    made = Table(
        box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False, title=f"{len(results)} runs", title_justify="left"
    )
    made.add_column("Requirement", no_wrap=True)
    for verdict in _TOLD:
        made.add_column(verdict.value)
    for name, counts in counted(results).items():
        cells = (f"{counts[verdict]} of {len(results)}" if counts[verdict] else "" for verdict in _TOLD)
        made.add_row(name, *cells)
    return made
