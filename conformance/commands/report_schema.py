"""`isolane report-schema`: the JSON Schema of report.yaml."""

from __future__ import annotations

import click
import orjson

from isolane.conformance.report import contents


@click.command(name="report-schema")
def command() -> None:
    """Print the JSON Schema of report.yaml, for tools that read it."""
    click.echo(orjson.dumps(contents.schema(), option=orjson.OPT_INDENT_2).decode())
