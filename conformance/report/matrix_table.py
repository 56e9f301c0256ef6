"""The known-bad matrix as a table: for people in the terminal, and as Markdown for the documentation."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from isolane.conformance.matrix import Row
from isolane.conformance.verdict import Verdict

HEAD = ("known bad", "what is wrong", "failed, as it must", "not failed", "passed, as it must", "not passed")


def line(row: Row) -> str:
    """Return a row for the terminal, one line."""
    if row.survived:
        return (
            f"SURVIVED {row.name}: {_told(row.missed) or 'nothing that it must fail was tried'} ({row.seconds:.0f} s)"
        )
    odd = "".join(
        f"; {what}: {_told(ids)}" for what, ids in (("not failed", row.missed), ("not passed", row.accused)) if ids
    )
    passed = f"; {len(row.passed)} passed, as they must" if row.passed else ""
    return f"caught   {row.name}: failed {', '.join(row.caught)}{passed}{odd} ({row.seconds:.0f} s)"


def markdown(rows: Sequence[Row]) -> str:
    """Return the whole matrix, headed by what it says in one sentence."""
    cells = [
        (
            f"`{row.name}`",
            row.sentence,
            ", ".join(row.caught),
            _told(row.missed),
            ", ".join(row.passed),
            _told(row.accused),
        )
        for row in rows
    ]
    table = "".join(f"| {' | '.join(each)} |\n" for each in (HEAD, ("---",) * len(HEAD), *cells))
    return f"{summary(rows)}\n\n{table}"


def summary(rows: Sequence[Row]) -> str:
    """Return the matrix in one sentence."""
    survivors = [row.name for row in rows if row.survived]
    odd = [row.name for row in rows if not row.survived and not row.as_declared]
    left = f"survivors: {', '.join(survivors)}" if survivors else "no survivor"
    rest = f"; not all as declared: {', '.join(odd)}" if odd else ""
    return f"{len(rows) - len(survivors)} of {len(rows)} known-bad implementations were caught; {left}{rest}."


def _told(ids: Mapping[str, Verdict]) -> str:
    return ", ".join(f"{identifier} ({verdict.value})" for identifier, verdict in ids.items())
