"""`isolane simulate`: the reference under a deterministic scheduler."""

from __future__ import annotations

import secrets
from pathlib import Path

import click
from rich.console import Console

from isolane.conformance.report.printing import printer
from isolane.conformance.requests import RUNS
from isolane.conformance.simulation import exploration, targets
from isolane.conformance.simulation.reduction import reduced
from isolane.conformance.simulation.replay import Replay, ReplayError
from isolane.conformance.simulation.schedule import Outcome, Schedule, prepared, told
from isolane.conformance.ticker import Ticker
from isolane.conformance.verdict import ExitCode

_SEEDS = 10**9


@click.command(name="simulate")
@click.option("--schedules", type=click.IntRange(1), default=2000, show_default=True, help="How many to run.")
@click.option("--seed", type=click.IntRange(0), help="Of the first one; chosen and told when not given.")
@click.option("--target", default=targets.REFERENCE, show_default=True, help="The reference, or known-bad/NAME.")
@click.option("--replay", type=click.Path(path_type=Path), help="Run the schedule in this file instead.")
def command(*, schedules: int, seed: int | None, target: str, replay: Path | None) -> int:
    """Run the whole threaded reference in virtual time, in many orders, with faults.

    \b
    Each schedule has a seed: what is done, and who goes on at each point. The first that fails
    is made as small as it will go, told as a story, and written to a file for --replay.
    Exit codes: 0 no schedule failed, 1 one did, 2 there was no load or no fault, 4 wrong usage.
    """
    console = printer()
    try:
        again = None if replay is None else Replay.read(replay)
        targets.load(target if again is None else again.target)
    except (ReplayError, targets.UnknownTargetError) as error:
        raise click.UsageError(str(error)) from error
    if again is not None:
        with prepared():
            return _tell(console, told(again.schedule))
    first = secrets.randbelow(_SEEDS) if seed is None else seed
    with Ticker(target) as ticker:
        coverage, failed, outcome = exploration.explore(
            range(first, first + schedules), lambda sofar: ticker.say(str(sofar))
        )
        console.print(f"{target}: {coverage}", soft_wrap=True, highlight=False)
        again_with = f"isolane simulate --target {target} --seed {first} --schedules {schedules}"
        console.print(f"Reproduce: {again_with}", soft_wrap=True, highlight=False)
        if failed is None or outcome is None or outcome.failure is None:
            return ExitCode.CONFORMS if coverage.records and coverage.faults else ExitCode.INCONCLUSIVE
        ticker.say("making the schedule small")
        with prepared():
            small = reduced(failed, outcome.failure.rule)
    return _show(console, target, failed, small)


def _show(console: Console, target: str, failed: Schedule, small: Schedule) -> int:
    """Tell of a schedule that fails, and keep it."""
    with prepared():
        outcome = told(small)
    assert outcome.failure is not None
    path = RUNS / "simulation" / f"{target.replace('/', '-')}-{failed.seed}.json"
    Replay(target=target, rule=outcome.failure.rule, plan=small.plan, deviations=small.deviations or ()).write(path)
    console.print(f"The schedule of seed {failed.seed} fails; its smallest relative:")
    code = _tell(console, outcome)
    console.print(f"Replay: isolane simulate --replay {path}", soft_wrap=True, highlight=False)
    return code


def _tell(console: Console, outcome: Outcome) -> int:
    for event in outcome.story:
        console.print(str(event), soft_wrap=True, highlight=False, markup=False)
    if outcome.failure is None:
        console.print("nothing failed")
        return ExitCode.CONFORMS
    console.print(f"[red]{outcome.failure.rule}[/]: {outcome.failure.sentence}", soft_wrap=True, highlight=False)
    for line in outcome.failure.details:
        console.print(line, soft_wrap=True, highlight=False, markup=False)
    return ExitCode.VIOLATES
