"""``isolane check``: judge a stored run again, from its histories alone."""

from __future__ import annotations

import click

from isolane.conformance.arguments import RUN
from isolane.conformance.report import table
from isolane.conformance.report.printing import printer
from isolane.conformance.stored import StoredRun


@click.command()
@click.argument("run", type=RUN)
@click.pass_context
def command(context: click.Context, run: StoredRun) -> None:
    """Judge a stored run again.

    RUN is the folder that `isolane verify` left, or that of one of its scenarios. Nothing in it is changed. The exit
    code is that of the verdict.
    """
    result = run.judged()
    table.show(result, printer())
    context.exit(result.exit_code)
