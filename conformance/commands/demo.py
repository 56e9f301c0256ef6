"""`isolane demo`: what a slow tenant does to another, in three ways to deliver."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path

import click

from isolane.conformance import demo, services
from isolane.conformance.report import demo_page, page
from isolane.conformance.report.demo_account import accounts
from isolane.conformance.report.printing import printer
from isolane.conformance.requests import RUNS, RequestError, request
from isolane.conformance.ticker import Ticker

PAGE = "demo.html"


@click.command(name="demo")
@click.option("--seed", type=click.IntRange(0), help="What load is drawn from; chosen and reported when not given.")
@click.option("--services", "choices", multiple=True, metavar="SERVICE=PLACE", help="kafka=external:HOST:PORT")
@click.option("--out", type=click.Path(path_type=Path), help=f"Where evidence goes (default: {RUNS}/demo-TIME).")
def command(*, seed: int | None, choices: tuple[str, ...], out: Path | None) -> None:
    """Show what a slow tenant does to another, in two minutes.

    The reference delivers in three modes, one after the other, the same load on a real Kafka: with one shared loop,
    with a worker for each partition, and with the limiter. Leaves a page with plots, and a folder for each mode.

    \b
    Exit codes: 0 the demo ran, whatever it shows, 2 a mode delivered nothing,
    3 the harness or a service failed, 4 wrong usage.
    """
    try:
        choice = services.ServiceChoice.parse(choices, only_scripted=True)
        folder = out or RUNS / f"demo-{datetime.now().astimezone():%Y%m%d-%H%M%S}"
        asked = request(demo.MODES[-1].implementation, seed=seed, out=folder)
    except (RequestError, services.ServiceChoiceError) as error:
        raise click.UsageError(str(error)) from error
    with Ticker("demo") as ticker, services.started(choice, asked.folder, ticker.say) as running:
        lived = list(demo.run(asked, running, ticker.tell))
    told = accounts(lived)
    commands = {
        "Run it again": f"isolane demo --seed {asked.seed}",
        "Judge a mode again, in the folder of this page": (
            f"isolane check {lived[-1].history.folder.relative_to(asked.folder).as_posix()}"
        ),
    }
    page.write(demo_page.page(told, lived[-1].result, commands), asked.folder / PAGE)
    console = printer()
    for account in told:
        for line in (*account.sentences, *(f"Take with care: {warning}" for warning in account.warnings)):
            console.print(line, soft_wrap=True, highlight=False, markup=False)
        console.print()
    console.print(f"Page: {asked.folder / PAGE}", soft_wrap=True, highlight=False, markup=False)
