"""`isolane verify`: judge one implementation."""

from __future__ import annotations

import random
from dataclasses import replace
from datetime import datetime
from pathlib import Path

import click
from rich.console import Console

from isolane.conformance import engine, services
from isolane.conformance.depth import DEPTHS, DepthName, depth
from isolane.conformance.report import junit, table, yaml_report
from isolane.conformance.requirements import CATALOGUE, UnknownRequirementError, requirement
from isolane.conformance.result import RunResult
from isolane.conformance.ticker import Ticker
from isolane.fixtures.implementations import descriptor

RUNS = Path("isolane-runs")


@click.command(name="verify")
@click.argument("implementation")
@click.option("--depth", "depth_name", type=click.Choice(DEPTHS), default="smoke", show_default=True)
@click.option("--profile", "profiles", multiple=True, help="Judge a profile's requirements only (comma-separated).")
@click.option("--only", "ids", multiple=True, metavar="ID", help="Judge these requirements only (comma-separated).")
@click.option("--seed", type=click.IntRange(0), help="What load is drawn from; chosen and printed when not given.")
@click.option("--services", "choices", multiple=True, metavar="SERVICE=PLACE", help="kafka=external:HOST:PORT")
@click.option("--out", type=click.Path(path_type=Path), help=f"Where evidence goes; {RUNS}/NAME-TIME when not given.")
def command(
    *,
    implementation: str,
    depth_name: DepthName,
    profiles: tuple[str, ...],
    ids: tuple[str, ...],
    seed: int | None,
    choices: tuple[str, ...],
    out: Path | None,
) -> int:
    """Judge IMPLEMENTATION, the name of one that comes with Isolane or the path of a descriptor.

    \b
    Leaves report.yaml, junit.xml and a folder for each scenario: its history, output and configuration.
    Exit codes: 0 conforms (at this depth), 1 violates, 2 inconclusive or partial,
    3 the harness or a service failed, 4 wrong usage or nothing run.
    """
    known = descriptor.find(implementation)
    scope = _scope(profiles, ids)
    chosen = _services(choices)
    folder = _folder(out or RUNS / f"{known.name}-{datetime.now().astimezone():%Y%m%d-%H%M%S}")
    request = engine.Request(
        descriptor=known,
        asked=implementation,
        depth=depth(depth_name),
        seed=random.SystemRandom().randrange(1 << 32) if seed is None else seed,
        scope=scope,
        folder=folder,
    )
    if not request.scenarios:
        raise click.UsageError(f"no scenario judges {', '.join(scope)} yet, so nothing was run")
    console = Console()
    result = run(request, chosen)
    table.show(result, console)
    console.print(f"Evidence: {folder}", soft_wrap=True, highlight=False)
    return result.exit_code


def run(request: engine.Request, chosen: services.ServiceChoice) -> RunResult:
    """Start services, run the request with its progress on standard error, write the reports."""
    with Ticker(request.descriptor.name) as ticker, services.started(chosen, request.folder, ticker.say) as running:
        result = engine.verify(request, running, ticker.tell)
    result = replace(result, services=chosen.described)
    yaml_report.write(result, request.folder / yaml_report.NAME)
    junit.write(result, request.folder / junit.NAME)
    return result


def _scope(profiles: tuple[str, ...], ids: tuple[str, ...]) -> tuple[str, ...]:
    try:
        asked = [requirement(identifier).id for identifier in _split(ids)]
        for profile in _split(profiles):
            asked += [each.id for each in CATALOGUE.of_profile(profile)]
    except UnknownRequirementError as error:
        raise click.UsageError(f"--only: {error}") from error
    except LookupError as error:
        raise click.UsageError(f"--profile: {error}") from error
    return tuple(dict.fromkeys(asked))


def _split(values: tuple[str, ...]) -> list[str]:
    return [part.strip() for value in values for part in value.split(",") if part.strip()]


def _services(choices: tuple[str, ...]) -> services.ServiceChoice:
    try:
        return services.ServiceChoice.parse(choices)
    except services.ServiceChoiceError as error:
        raise click.UsageError(f"--services {error}") from error


def _folder(path: Path) -> Path:
    try:
        path.mkdir(parents=True, exist_ok=True)
        occupied = any(path.iterdir())
    except OSError as error:
        raise click.UsageError(f"--out {path}: {error.strerror}") from error
    if occupied:
        raise click.UsageError(f"--out {path}: not empty; evidence of two runs must not mix")
    return path.absolute()
