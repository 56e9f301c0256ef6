"""`isolane page`: the HTML page of a stored run."""

from __future__ import annotations

from pathlib import Path

import click

from isolane.conformance.arguments import RUN
from isolane.conformance.report import page, run_page
from isolane.conformance.stored import StoredRun


@click.command(name="page")
@click.argument("run", type=RUN)
@click.option("--out", type=click.Path(dir_okay=False, path_type=Path), help="Where to write it (default: in RUN).")
def command(*, run: StoredRun, out: Path | None) -> None:
    """Write the page of RUN again, or that of one of its scenarios: one HTML file that needs no network."""
    path = out or run.folder / run_page.NAME
    page.write(run_page.make(run.found, run.folder), path)
    click.echo(f"wrote {path}")
