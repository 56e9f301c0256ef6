"""Runs: timelines lived one after the other, each on a stage of its own, and judged by the suite's own checkers."""

from __future__ import annotations

import random
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path

from rich.console import Console

from isolane.chaos.performing import FILE, scenario
from isolane.chaos.stage import set_up
from isolane.chaos.timeline import Timeline, find, packaged
from isolane.conformance import engine
from isolane.conformance.depth import Depth
from isolane.conformance.engine import Request, Run
from isolane.conformance.report import files, table
from isolane.conformance.requests import RUNS, made_folder
from isolane.conformance.result import CHAOS, RunResult
from isolane.conformance.ticker import Ticker
from isolane.conformance.verdict import Verdict
from isolane.fixtures.implementations import descriptor
from isolane.fixtures.implementations.descriptor import Descriptor

DEPTH = Depth(CHAOS, control=0, slow=0, brief=0, crashes=0, outage=0, moves=0, dead=0)
"""What a history says of how long the run looked: its timeline says that."""

SERVICES = "services"


@dataclass(frozen=True)
class Asked:
    """What is to be run.

    Attributes:
        descriptor: The implementation.
        name: The name or path by which it was asked for.
        seed: What load is drawn from.
        folder: Where evidence goes.
    """

    descriptor: Descriptor
    name: str
    seed: int
    folder: Path


def asked(implementation: str, *, seed: int | None, out: Path | None) -> Asked:
    """What is to be run on the implementation of that name or descriptor path; its folder is made.

    Raises:
        DescriptorError: No such implementation, or its descriptor is wrong.
        RequestError: The folder is of no use.
    """
    known = descriptor.find(implementation)
    chosen = random.SystemRandom().randrange(1 << 32) if seed is None else seed
    folder = out or RUNS / f"{CHAOS}-{known.name}-{datetime.now().astimezone():%Y%m%d-%H%M%S}"
    return Asked(known, implementation, chosen, made_folder(folder.absolute()))


def chosen(names: Sequence[str]) -> list[Timeline]:
    """The timelines of these names or paths; the fixed set when there are none.

    Raises:
        TimelineError: No such timeline, or it is wrong.
    """
    return [find(name) for name in names or packaged()]


def carry_out(what: Asked, timelines: Iterable[Timeline], names: Sequence[str] = ()) -> RunResult:
    """Live through timelines, leave the reports in the folder, and show the table; blocks for a minute each.

    Args:
        what: See above.
        timelines: They are asked for one by one, each when the one before was lived.
        names: The names or paths by which they were asked for; none for the fixed set.

    Raises:
        FixtureError: The build of the implementation failed.
        ImplementationNotStartedError, DescriptorError: The implementation cannot be run.
    """
    console = Console()
    began = time.monotonic()
    with Ticker(what.descriptor.name) as ticker:
        request = Request(what.descriptor, what.name, DEPTH, what.seed, (), what.folder, tuple(names), "native")
        request = engine.built(request, ticker.say)
        result = merged([lived(request, timeline, ticker) for timeline in timelines], time.monotonic() - began)
        files.write(result, what.folder)
        ticker.rest()
    table.show(result, console)
    for line in replays(what, result):
        console.print(line, soft_wrap=True, highlight=False, markup=False)
    console.print(f"Evidence: {what.folder}", soft_wrap=True, highlight=False)
    return result


def lived(request: Request, timeline: Timeline, ticker: Ticker) -> RunResult:
    """What one timeline showed, on a stage of its own; its history stays in the request's folder.

    Raises:
        FixtureError: A service does not start; the message says what to do.
        ImplementationNotStartedError, DescriptorError: The implementation cannot be run.
    """
    with set_up(timeline, request.folder / SERVICES / timeline.name, ticker.say) as stage:
        run = Run(request, stage.services, ticker.tell)
        run.live(scenario(timeline, stage, request.folder / timeline.name))
    return run.result()


def merged(results: Sequence[RunResult], seconds: float) -> RunResult:
    """One result of several, of the same implementation."""
    return replace(
        results[0],
        seconds=round(seconds, 1),
        scenarios=tuple(run for result in results for run in result.scenarios),
        findings=tuple(finding for result in results for finding in result.findings),
    )


def replays(what: Asked, result: RunResult) -> list[str]:
    """A line for each timeline that did not pass, which runs exactly that again."""
    broken = {finding.scenario for finding in result.findings if finding.verdict is Verdict.FAIL}
    broken |= {run.name for run in result.scenarios if run.failure}
    return [
        f"replay: isolane chaos --implementation {what.name} --seed {what.seed} --scenario {what.folder / name / FILE}"
        for name in sorted(broken)
    ]
