"""``isolane services``: a Kafka that stays between runs, so that each does not start its own."""

from __future__ import annotations

import click

from isolane.conformance.verdict import ExitCode
from isolane.fixtures.services import background


@click.group()
def command() -> None:
    """Keep a Kafka running between runs.

    `isolane verify` starts its own and needs none of this; one that runs already is passed by its address.

    \b
    isolane verify reference --services kafka=external:$(isolane services up)
    """


@command.command()
@click.option("--kafka", "port", metavar="PORT", type=click.IntRange(1, 65_535), help="The port to use.")
def up(port: int | None) -> None:
    """Start Kafka, or find the one that runs, and print its address.

    It stays until `isolane services down`. The address is all that goes to standard output.
    """
    running = background.up(lambda line: click.echo(line, err=True), port=port)
    click.echo(running.bootstrap)


@command.command()
def down() -> None:
    """End Kafka and delete its data."""
    ended = background.down()
    click.echo("Kafka ended" if ended else "nothing runs")


@command.command()
@click.pass_context
def status(context: click.Context) -> None:
    """Say what runs.

    Exit codes: 0 Kafka runs and answers, 3 nothing runs, or what was started has ended or does not answer.
    """
    running = background.status()
    if running is None:
        click.echo("nothing runs: `isolane services up` starts Kafka")
        context.exit(ExitCode.HARNESS_FAILED)
    click.echo(f"Kafka runs at {running.bootstrap} (keeper's pid {running.pid}, log {running.log})")
