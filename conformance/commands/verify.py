"""`isolane verify`: judge one implementation."""

from __future__ import annotations

from pathlib import Path

import click

from isolane.conformance import services
from isolane.conformance.arguments import REPORT
from isolane.conformance.depth import DEPTHS
from isolane.conformance.requests import RUNS, RequestError, request
from isolane.conformance.requirements import CATALOGUE
from isolane.conformance.result import RunResult
from isolane.conformance.running import Options, carry_out, exit_code


@click.command(name="verify")
@click.argument("implementation")
@click.option("--depth", "depth_name", type=click.Choice(DEPTHS), default="smoke", show_default=True)
@click.option(
    "--profile",
    "profiles",
    multiple=True,
    metavar="NAME",
    help=f"Judge these profiles only (comma-separated): {', '.join(CATALOGUE.profiles)}.",
)
@click.option("--only", "ids", multiple=True, metavar="ID", help="Judge these requirements only (comma-separated).")
@click.option("--scenario", "names", multiple=True, metavar="NAME", help="Run these scenarios only (comma-separated).")
@click.option("--seed", type=click.IntRange(0), help="What load is drawn from; chosen and reported when not given.")
@click.option("--services", "choices", multiple=True, metavar="SERVICE=PLACE", help=services.HELP)
@click.option("--out", type=click.Path(path_type=Path), help=f"Where evidence goes (default: {RUNS}/NAME-TIME).")
@click.option("--keep", is_flag=True, help="Keep Kafka, topics, offsets and clusters until Ctrl-C, to look at them.")
@click.option("--repeat", type=click.IntRange(1), default=1, metavar="N", help="Run all N times; the worst run counts.")
@click.option("--events", type=click.Path(dir_okay=False, path_type=Path), help="Append an NDJSON event stream here.")
@click.option(
    "--baseline",
    type=REPORT,
    metavar="REPORT",
    help="Let violations of an earlier report.yaml of the same implementation not count; another's is refused.",
)
@click.option("--allow-known", is_flag=True, help="Let the known deviations of the descriptor not count.")
def command(
    *,
    implementation: str,
    depth_name: str,
    profiles: tuple[str, ...],
    ids: tuple[str, ...],
    names: tuple[str, ...],
    seed: int | None,
    choices: tuple[str, ...],
    out: Path | None,
    keep: bool,
    repeat: int,
    events: Path | None,
    baseline: RunResult | None,
    allow_known: bool,
) -> int:
    """Judge IMPLEMENTATION, the name of one that comes with Isolane or the path of a descriptor.

    \b
    Leaves report.html, report.yaml, junit.xml and a folder for each scenario: its history, output and configuration.
    Exit codes: 0 conforms (at this depth), 1 violates, 2 inconclusive or partial,
    3 the harness or a service failed, 4 wrong usage or nothing run.
    """
    try:
        choice = services.ServiceChoice.parse(choices)
        asked = request(
            implementation,
            depth_name=depth_name,
            seed=seed,
            out=out,
            ids=ids,
            profiles=profiles,
            names=names,
            clusters=choice.elasticsearch,
            baseline=baseline,
        )
    except (RequestError, services.ServiceChoiceError) as error:
        raise click.UsageError(str(error)) from error
    options = Options(keep=keep, events=events, repeat=repeat, allow_known=allow_known, baseline=baseline)
    return exit_code(carry_out(asked, choice, options))
