"""`isolane trace`: the whole life of one record."""

from __future__ import annotations

import click

from isolane.conformance.arguments import RUN
from isolane.conformance.report import telling
from isolane.conformance.report.printing import printer
from isolane.conformance.stored import NoSuchRecordError, StoredRun


@click.command(name="trace")
@click.argument("run", type=RUN)
@click.argument("record", metavar="TOKEN|TOPIC/PARTITION@OFFSET")
def command(*, run: StoredRun, record: str) -> None:
    """Tell the whole life of one record of RUN: every attempt, commit, owner and fault, and how its neighbours fared.

    Tokens and places are in the stories of `isolane why RUN`.
    """
    try:
        history, found = run.find(record)
    except NoSuchRecordError as error:
        raise click.UsageError(str(error)) from error
    printer(highlight=False).print(telling.trace(run, history, found), soft_wrap=True)
