"""`isolane known-bad`: the proof that the suite sees what it is there to see."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime
from pathlib import Path

import click

from isolane.conformance import engine, matrix, services
from isolane.conformance.clusters import CLUSTER_KINDS
from isolane.conformance.engine import Request
from isolane.conformance.matrix import Row
from isolane.conformance.report import files, matrix_table
from isolane.conformance.requests import RUNS
from isolane.conformance.result import RunResult
from isolane.conformance.ticker import Ticker
from isolane.conformance.verdict import ExitCode
from isolane.fixtures.known_bad.catalogue import CATALOGUE

MATRIX = "known-bad.md"


@click.command(name="known-bad")
@click.argument("names", nargs=-1, metavar="[NAME]…")
@click.option("--full", is_flag=True, help="Run all that each declares, and look at what it must pass, too.")
@click.option("--services", "choices", multiple=True, metavar="SERVICE=PLACE", help="kafka=external:HOST:PORT")
@click.option("--out", type=click.Path(path_type=Path), help=f"Where evidence goes (default: {RUNS}/known-bad-TIME).")
def command(*, names: tuple[str, ...], full: bool, choices: tuple[str, ...], out: Path | None) -> int:
    """Run the implementations that are wrong on purpose (all, or those with NAMEs), and print what the suite saw.

    Each must fail what it declares: by default only that is run, a minute and more each, and one line is printed as
    soon as it is known. The matrix is left as known-bad.md.

    \b
    Exit codes: 0 each was caught, and all is as declared, 1 one survived, or was judged otherwise,
    3 the harness or a service failed, 4 wrong usage.
    """
    unknown = [name for name in names if name not in CATALOGUE]
    if unknown:
        raise click.UsageError(f"NAME: {unknown[0]!r}: there is no such; allowed: {', '.join(CATALOGUE)}")
    try:
        choice = services.ServiceChoice.parse(choices, only_scripted=True)
    except services.ServiceChoiceError as error:
        raise click.UsageError(str(error)) from error
    folder = (out or RUNS / f"known-bad-{datetime.now().astimezone():%Y%m%d-%H%M%S}").absolute()
    runs = {name: matrix.plan(name, CATALOGUE[name], folder, full=full) for name in names or CATALOGUE}
    rows = []
    with Ticker("known-bad") as ticker:
        for row in _rows(runs, choice, ticker, full=full):
            rows.append(row)
            ticker.rest()
            click.echo(matrix_table.line(row))
    (folder / MATRIX).write_text(matrix_table.markdown(rows), encoding="utf-8")
    click.echo(f"\n{matrix_table.summary(rows)}\nMatrix: {folder / MATRIX}")
    good = all(row.as_declared and not row.survived for row in rows)
    return ExitCode.CONFORMS if good else ExitCode.VIOLATES


def _rows(
    runs: dict[str, list[Request]], choice: services.ServiceChoice, ticker: Ticker, *, full: bool
) -> Iterator[Row]:
    """Carry out the runs, those on clusters of one kind after the other; yield each row when its runs are over."""
    results: dict[str, list[RunResult]] = defaultdict(list)
    for kind in CLUSTER_KINDS:
        here = [(name, each) for name, planned in runs.items() for each in planned if each.clusters == kind]
        if not here:
            continue
        folder = here[0][1].folder.parent.parent / f"services-{kind}"
        with services.started(replace(choice, elasticsearch=kind), folder, ticker.say) as running:
            for name, asked in here:
                result = engine.verify(engine.built(asked, ticker.say), running, ticker.tell)
                files.write(result, asked.folder)
                results[name].append(result)
                if len(results[name]) == len(runs[name]):
                    yield matrix.row(name, CATALOGUE[name], results[name], full=full)
