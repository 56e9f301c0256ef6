"""`isolane compare`: several runs side by side."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path

import click

from isolane.conformance.arguments import RUN
from isolane.conformance.report import comparing, page
from isolane.conformance.requests import RUNS
from isolane.conformance.stored import StoredRun


@click.command(name="compare")
@click.argument("runs", type=RUN, nargs=-1, required=True, metavar="RUN RUN …")
@click.option("--out", type=click.Path(path_type=Path), help=f"Where pages go (default: {RUNS}/compare-TIME).")
def command(*, runs: tuple[StoredRun, ...], out: Path | None) -> None:
    """Compare RUNs of several implementations, or of one at several times: a page, and a Markdown table.

    The table is printed, and left as compare.md beside compare.html. What was not the same in all runs is said first.
    """
    if len(runs) < 2:
        raise click.UsageError("RUN RUN …: there is nothing to compare one run with; name two or more")
    folder = out or RUNS / f"compare-{datetime.now().astimezone():%Y%m%d-%H%M%S}"
    folder.mkdir(parents=True, exist_ok=True)
    table = comparing.markdown([run.found for run in runs])
    (folder / "compare.md").write_text(table, encoding="utf-8")
    page.write(comparing.page(runs), folder / "compare.html")
    click.echo(table)
    click.echo(f"wrote {folder / 'compare.html'} and compare.md", err=True)
