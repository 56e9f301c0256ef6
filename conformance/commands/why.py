"""`isolane why`: what is behind a verdict, told by one record's life."""

from __future__ import annotations

import click

from isolane.conformance.arguments import RUN
from isolane.conformance.report import telling
from isolane.conformance.report.printing import printer
from isolane.conformance.requirements import UnknownRequirementError, requirement
from isolane.conformance.result import RunResult
from isolane.conformance.stored import StoredRun
from isolane.conformance.verdict import Outcome, Verdict


@click.command(name="why")
@click.argument("run", type=RUN)
@click.argument("identifier", metavar="[ID]", required=False)
def command(*, run: StoredRun, identifier: str | None) -> None:
    """Tell what is behind the red verdicts of RUN, or behind that on the requirement ID, whatever it is.

    \b
    Losses (DEL-1) are told first, then what else is done to data, then what delays it and the rest, by profile.
    Each violation opens with one record's life: produced, sent and answered, the commits around it, who had its
    partition, what happened to processes and clusters meanwhile. Then: what all records that were never finished have
    in common, which of them were committed past when a member ended, and what the implementation itself printed. What
    was told is not told again; the phases that are named are explained at the end.
    """
    result = run.found
    outcomes = result.red if identifier is None else (_asked(result, identifier),)
    console = printer(highlight=False)
    if outcomes:
        console.print(telling.why(run, result, outcomes), soft_wrap=True)
        return
    console.print("Nothing is red.")
    for outcome in result.with_verdict(Verdict.INCONCLUSIVE):
        console.print(f"{outcome.requirement.id} is inconclusive: {outcome.reason}", soft_wrap=True, markup=False)


def _asked(result: RunResult, identifier: str) -> Outcome:
    try:
        wanted = requirement(identifier)
    except UnknownRequirementError as error:
        raise click.UsageError(str(error)) from error
    found = next((outcome for outcome in result.outcomes if outcome.requirement == wanted), None)
    if found is None:
        raise click.UsageError(f"{wanted.id} is outside of what this run was asked for: {', '.join(result.scope)}")
    return found
