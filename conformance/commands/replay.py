"""`isolane replay`: run again what a stored run has run, and say what is different."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import click

from isolane.conformance import services
from isolane.conformance.arguments import RUN
from isolane.conformance.report import differing
from isolane.conformance.report.printing import printer
from isolane.conformance.requests import RUNS, RequestError, request
from isolane.conformance.running import Options, carry_out
from isolane.conformance.stored import StoredRun


@click.command(name="replay")
@click.argument("run", type=RUN)
@click.option("--services", "choices", multiple=True, metavar="SERVICE=PLACE", help="kafka=external:HOST:PORT")
@click.option("--out", type=click.Path(path_type=Path), help=f"Where evidence goes (default: {RUNS}/NAME-TIME).")
@click.option("--keep", is_flag=True, help="Keep Kafka, topics, offsets and clusters until Ctrl-C, to look at them.")
def command(*, run: StoredRun, choices: tuple[str, ...], out: Path | None, keep: bool) -> int:
    """Run again what RUN has run: the same implementation, depth, requirements, scenarios and seed.

    Load and faults are drawn again as they were; what threads and processes make of it is never quite the same. What
    has changed is told: verdicts, and the descriptor. The exit code is that of the new run.
    """
    then = run.result
    try:
        choice = replace(services.ServiceChoice.parse(choices, only_scripted=True), elasticsearch=then.clusters)
        asked = request(
            then.implementation.descriptor,
            depth_name=then.depth,
            seed=then.seed,
            out=out,
            ids=then.scope,
            names=run.names,
            clusters=then.clusters,
        )
    except (RequestError, services.ServiceChoiceError) as error:
        raise click.UsageError(str(error)) from error
    (now,) = carry_out(asked, choice, Options(keep=keep))
    console = printer(highlight=False)
    for line in differing.lines(run.found, now):
        console.print(line, soft_wrap=True, markup=False)
    return now.exit_code
