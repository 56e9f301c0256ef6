"""`isolane implementations`: what can be verified by name."""

from __future__ import annotations

import click
from rich.table import Table

from isolane.conformance.report.printing import printer
from isolane.fixtures.implementations import descriptor


@click.command(name="implementations")
def command() -> None:
    """List the implementations that come with Isolane."""
    table = Table(box=None, pad_edge=False)
    for heading in ("name", "version", "language", "claims"):
        table.add_column(heading)
    for name in sorted(descriptor.packaged()):
        known = descriptor.find(name)
        claims = ", ".join(feature for feature, claimed in known.features.items() if claimed)
        version = known.implementation.version or " ".join(known.implementation.version_command or ())
        table.add_row(name, version, known.implementation.language or "", claims)
    console = printer()
    console.print(table)
    console.print("\nYour own: [bold]isolane verify PATH[/bold] of a descriptor file.", highlight=False)
