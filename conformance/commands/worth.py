"""`isolane worth`: what each change of the reference is worth, by kind of trouble."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path

import click
from rich.console import Console

from isolane.conformance import demo, services
from isolane.conformance.report import worth_table
from isolane.conformance.report.printing import printer
from isolane.conformance.requests import RUNS, RequestError, request
from isolane.conformance.ticker import Ticker
from isolane.conformance.worth import SCENARIO

TABLE = "worth.md"
WIDTH = 200
"""Columns of the table: no cell of a Markdown table may be broken."""


@click.command(name="worth")
@click.option("--seed", type=click.IntRange(0), help="What load is drawn from; chosen and reported when not given.")
@click.option("--services", "choices", multiple=True, metavar="SERVICE=PLACE", help="kafka=external:HOST:PORT")
@click.option("--out", type=click.Path(path_type=Path), help=f"Where evidence goes (default: {RUNS}/worth-TIME).")
def command(*, seed: int | None, choices: tuple[str, ...], out: Path | None) -> None:
    """Show what each change is worth by kind of trouble, in six minutes.

    The reference delivers in three modes, one after the other: with one shared loop, with a worker for each partition,
    and with the limiter. In each, one tenant's cluster is in one kind of trouble after the other. The table says what
    a healthy tenant kept of its rate, and how long everybody took to recover; it is Markdown, and is left in a file.

    \b
    Exit codes: 0 all modes ran, whatever the table shows, 2 a mode delivered nothing,
    3 the harness or a service failed, 4 wrong usage.
    """
    try:
        choice = services.ServiceChoice.parse(choices, only_scripted=True)
        folder = out or RUNS / f"worth-{datetime.now().astimezone():%Y%m%d-%H%M%S}"
        asked = request(demo.MODES[-1].implementation, seed=seed, out=folder)
    except (RequestError, services.ServiceChoiceError) as error:
        raise click.UsageError(str(error)) from error
    with Ticker("worth") as ticker, services.started(choice, asked.folder, ticker.say) as running:
        lived = list(demo.run(asked, running, ticker.tell, SCENARIO))
    table = worth_table.table(lived)
    with (asked.folder / TABLE).open("w") as file:
        Console(file=file, width=WIDTH).print(table)
    console = printer()
    Console(width=WIDTH).print(table, soft_wrap=True)
    console.print(worth_table.LEGEND, highlight=False)
    console.print(f"Run it again: isolane worth --seed {asked.seed}", highlight=False)
    console.print(f"Evidence: {asked.folder}", soft_wrap=True, highlight=False, markup=False)
