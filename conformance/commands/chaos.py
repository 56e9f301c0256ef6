"""`isolane chaos`: live through what goes wrong between real services."""

from __future__ import annotations

from pathlib import Path

import click

from isolane.chaos import running
from isolane.chaos.timeline import TimelineError
from isolane.conformance.requests import RUNS, RequestError


@click.command(name="chaos")
@click.option("--implementation", default="reference", show_default=True, help="A name, or the path of a descriptor.")
@click.option("--scenario", "names", multiple=True, metavar="NAME|FILE", help="Live through these only.")
@click.option("--seed", type=click.IntRange(0), help="What load is drawn from; chosen and reported when not given.")
@click.option("--out", type=click.Path(path_type=Path), help=f"Where evidence goes (default: {RUNS}/chaos-NAME-TIME).")
def command(*, implementation: str, names: tuple[str, ...], seed: int | None, out: Path | None) -> int:
    """Live through timelines of faults: real Kafka, real Elasticsearch nodes, Toxiproxy between.

    Without a choice that is the fixed set. Each timeline leaves its history, the output of every process, and itself,
    as a file that `--scenario` takes.

    \b
    Exit codes: 0 conforms, 1 violates, 2 inconclusive or partial,
    3 the harness or a service failed, 4 wrong usage or nothing run.
    """
    try:
        timelines = running.chosen(names)
        what = running.asked(implementation, seed=seed, out=out)
    except (TimelineError, RequestError) as error:
        raise click.UsageError(str(error)) from error
    return running.carry_out(what, timelines, names).exit_code
