"""`isolane doctor`: one record through an implementation, step by step."""

from __future__ import annotations

from pathlib import Path

import click
from rich.console import Console

from isolane.conformance import doctor, engine, services
from isolane.conformance.report.printing import printer
from isolane.conformance.requests import RequestError, request
from isolane.conformance.ticker import Ticker
from isolane.conformance.verdict import ExitCode


@click.command(name="doctor")
@click.argument("implementation")
@click.option("--services", "choices", multiple=True, metavar="SERVICE=PLACE", help="kafka=external:HOST:PORT")
@click.option("--out", type=click.Path(path_type=Path), help="Where evidence goes.")
def command(*, implementation: str, choices: tuple[str, ...], out: Path | None) -> int:
    """Start IMPLEMENTATION, send one record, see it accepted and committed, stop it; say what was seen.

    \b
    Exit codes: 0 every step went well, 2 one did not, 3 a service failed, 4 wrong usage, or it does not run.
    """
    try:
        choice = services.ServiceChoice.parse(choices, only_scripted=True)
        asked = request(implementation, out=out)
    except (RequestError, services.ServiceChoiceError) as error:
        raise click.UsageError(str(error)) from error
    console = printer()
    code = ExitCode.CONFORMS
    with Ticker(asked.descriptor.name) as ticker:
        asked = engine.built(asked, ticker.say)
        with services.started(choice, asked.folder, ticker.say) as running:
            for step in doctor.examine(asked, running, ticker.say):
                code = ExitCode.CONFORMS if step.well else step.code
                _tell(console, step)
    if code is ExitCode.CONFORMS:
        console.print(f"{asked.descriptor.name} is ready: isolane verify {implementation}", soft_wrap=True)
    console.print(f"Evidence: {asked.folder}", soft_wrap=True, highlight=False)
    return code


def _tell(console: Console, step: doctor.Step) -> None:
    mark = "[green]✓[/]" if step.well else "[red]✗[/]"
    console.print(mark, step.what, style=None if step.well else "bold", highlight=False)
    for line in step.seen.splitlines():
        console.print(f"    {line}", soft_wrap=True, highlight=False, markup=False)
