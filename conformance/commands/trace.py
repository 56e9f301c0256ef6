"""`isolane trace`: the whole life of one record."""

from __future__ import annotations

import click

from isolane.conformance.arguments import RUN
from isolane.conformance.report import telling
from isolane.conformance.report.printing import printer
from isolane.conformance.stored import NoSuchRecordError, StoredRun


@click.command(name="trace")
@click.argument("run", type=RUN)
@click.argument("record", metavar="[TOKEN|TOPIC/PARTITION@OFFSET]", required=False)
def command(*, run: StoredRun, record: str | None) -> None:
    """Tell the whole life of one record of RUN: every attempt, commit, owner and fault, and how its neighbours fared.

    Without a record it names those that were never finished. Tokens and places are in the stories of `isolane why RUN`,
    too.
    """
    console = printer(highlight=False)
    if record is None:
        console.print(telling.traceable(run), soft_wrap=True)
        return
    try:
        history, found = run.find(record)
    except NoSuchRecordError as error:
        raise click.UsageError(str(error)) from error
    console.print(telling.trace(run, history, found), soft_wrap=True)
