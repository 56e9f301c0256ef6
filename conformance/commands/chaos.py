"""`isolane chaos`: live through what goes wrong between real services."""

from __future__ import annotations

import math
from pathlib import Path

import click

from isolane.chaos import running
from isolane.chaos.stage import PLACES, Place
from isolane.chaos.timeline import TimelineError
from isolane.conformance.requests import RUNS, RequestError


@click.command(name="chaos")
@click.option("--implementation", default="reference", show_default=True, help="A name, or the path of a descriptor.")
@click.option("--scenario", "names", multiple=True, metavar="NAME|FILE", help="Live through these only.")
@click.option("--minutes", type=click.FloatRange(0, min_open=True), help="Draw timelines for so long.")
@click.option(
    "--seed",
    type=click.IntRange(0, running.MOST),
    help="What is drawn is drawn from; chosen and reported when not given.",
)
@click.option("--shrink", is_flag=True, help="Find out what it takes for a timeline to fail; many runs of each.")
@click.option("--services", "place", type=click.Choice(PLACES), default="native", show_default=True)
@click.option("--out", type=click.Path(path_type=Path), help=f"Where evidence goes (default: {RUNS}/chaos-NAME-TIME).")
def command(
    *,
    implementation: str,
    names: tuple[str, ...],
    minutes: float | None,
    seed: int | None,
    shrink: bool,
    place: Place,
    out: Path | None,
) -> int:
    """Live through timelines of faults: real Kafka, real Elasticsearch nodes, Toxiproxy between.

    Without a choice that is the fixed set; with --minutes they are drawn at random, from the seed. Each timeline leaves
    its history, the output of every process, and itself, as a file that --scenario takes.

    \b
    Exit codes: 0 conforms, 1 violates, 2 inconclusive or partial,
    3 the harness or a service failed, 4 wrong usage or nothing run.
    """
    if names and minutes is not None:
        raise click.UsageError("--minutes draws timelines, and --scenario names them: give one of the two")
    if minutes is not None and math.isnan(minutes):
        raise click.UsageError("--minutes: nan is not a number of minutes: allowed: more than 0")
    try:
        fixed = running.chosen(names, place) if minutes is None else []
        what = running.asked(implementation, seed=seed, out=out, place=place)
    except (TimelineError, RequestError) as error:
        raise click.UsageError(str(error)) from error
    timelines = fixed if minutes is None else running.drawn_for(what.seed, minutes)
    return running.carry_out(what, timelines, names, shrink=shrink).exit_code
