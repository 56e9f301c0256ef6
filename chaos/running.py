"""Runs: timelines lived one after the other, each on a stage of its own, and judged by the suite's own checkers."""

from __future__ import annotations

import random
import re
import shlex
import shutil
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path

from isolane.chaos.performing import FILE, scenario
from isolane.chaos.shrinking import Confirmation, shrunk
from isolane.chaos.stage import Place, set_up
from isolane.chaos.tally import tallied
from isolane.chaos.timeline import Timeline, TimelineError, find, packaged
from isolane.conformance import engine
from isolane.conformance.depth import Depth
from isolane.conformance.engine import Request, Run
from isolane.conformance.errors import ImplementationNotStartedError
from isolane.conformance.history_files import META
from isolane.conformance.report import files, table
from isolane.conformance.report.printing import printer
from isolane.conformance.requests import RUNS, made_folder
from isolane.conformance.result import CHAOS, RunResult, ScenarioRun
from isolane.conformance.ticker import Ticker
from isolane.conformance.verdict import HARNESS, ExitCode, Verdict
from isolane.fixtures.errors import FixtureError
from isolane.fixtures.implementations import descriptor
from isolane.fixtures.implementations.descriptor import Descriptor

DEPTH = Depth(CHAOS, control=0, slow=0, brief=0, crashes=0, outage=0, moves=0, dead=0)
"""What a history says of how long the run looked: its timeline says that."""

SERVICES = "services"
SHRUNK = "shrunk.toml"
"""The file in a failed timeline's folder that has what is left of it when it was shrunk."""

MOST = 10**18
"""The largest seed: so many digits a name of a folder may have."""

_DRAWN = re.compile(r"drawn-([0-9]{1,19})")


@dataclass(frozen=True)
class Asked:
    """What is to be run.

    Attributes:
        descriptor: The implementation.
        name: The name or path by which it was asked for.
        seed: What load is drawn from, and timelines where they are drawn.
        folder: Where evidence goes.
        place: Where services come from.
    """

    descriptor: Descriptor
    name: str
    seed: int
    folder: Path
    place: Place = "native"


def asked(implementation: str, *, seed: int | None, out: Path | None, place: Place = "native") -> Asked:
    """What is to be run on the implementation of that name or descriptor path; its folder is made.

    Raises:
        DescriptorError: No such implementation, or its descriptor is wrong.
        RequestError: The folder is of no use.
    """
    known = descriptor.find(implementation)
    chosen = random.SystemRandom().randrange(1 << 32) if seed is None else seed
    folder = out or RUNS / f"{CHAOS}-{known.name}-{datetime.now().astimezone():%Y%m%d-%H%M%S}"
    return Asked(known, implementation, chosen, made_folder(folder.absolute()), place)


def chosen(names: Sequence[str], place: Place = "native") -> list[Timeline]:
    """The timelines of these names or paths, `drawn-SEED` among them, each once.

    When there are none it is the fixed set, as far as the place has services for it.

    Raises:
        TimelineError: No such timeline, it is wrong, the place has no services for it, or two have the same name.
    """
    found: dict[str, Timeline] = {}
    asked_for: dict[str, str] = {}
    for name in dict.fromkeys(names or packaged()):
        timeline = _found(name)
        if timeline.name == SERVICES:
            raise TimelineError(
                f"{name}: name: {SERVICES!r}: allowed: any other; services have the folder of that name"
            )
        if timeline.name in found:
            both = f"{asked_for[timeline.name]} and {name}"
            raise TimelineError(f"two timelines are named {timeline.name!r} ({both}): their evidence would mix")
        if place != "native" and timeline.brokers > 1:
            if not names:
                continue
            raise TimelineError(f"{name}: brokers: {timeline.brokers}: allowed with --services {place}: 1")
        found[timeline.name], asked_for[timeline.name] = timeline, name
    return list(found.values())


def drawn_for(seed: int, minutes: float) -> Iterator[Timeline]:
    """Timelines drawn from one seed after the other, until so many minutes have passed; one at least."""
    deadline = time.monotonic() + 60 * minutes
    while True:
        yield _found(f"drawn-{seed}")
        seed += 1
        if time.monotonic() > deadline:
            return


def carry_out(
    what: Asked, timelines: Iterable[Timeline], names: Sequence[str] = (), *, shrink: bool = False
) -> RunResult:
    """Live through timelines, leave the reports in the folder, and show the table; blocks for a minute each.

    The reports are written after each: broken off, there are those on what was lived to its end.

    Args:
        what: See above.
        timelines: One at least; they are asked for one by one, each when the one before was lived.
        names: The names or paths by which they were asked for; none for the fixed set, and for those that are drawn.
        shrink: Whether each that fails is lived again and again with less in it, until all that is left matters.

    Raises:
        FixtureError: The build of the implementation failed, or a service does not start for the first timeline. For a
            later one it ends the run, and what was seen before is kept.
        ImplementationNotStartedError, DescriptorError: The implementation cannot be run in the first timeline; in a
            later one that is how the timeline failed.
    """
    began = time.monotonic()
    results: list[tuple[Timeline, RunResult]] = []
    with Ticker(what.descriptor.name) as ticker:
        request = Request(what.descriptor, what.name, DEPTH, what.seed, (), what.folder, tuple(names), "native")
        request = engine.built(request, ticker.say)
        for timeline in timelines:
            gone: Exception | None = None
            try:
                found = lived(request, timeline, ticker, what.place)
            except (FixtureError, ImplementationNotStartedError) as error:
                if not results:
                    raise
                found, gone = _not_lived(results[0][1], timeline, error), error
            results.append((timeline, found))
            files.write(merged([each for _, each in results], time.monotonic() - began), what.folder)
            if isinstance(gone, FixtureError):
                break
        failed = [(timeline, ids) for timeline, each in results if (ids := violated(each))] if shrink else []
        told = [_shrink(what, request, timeline, ids, ticker) for timeline, ids in failed]
        ticker.rest()
    result = merged([each for _, each in results], time.monotonic() - began)
    _show(what, result, told)
    return result


def lived(request: Request, timeline: Timeline, ticker: Ticker, place: Place = "native") -> RunResult:
    """What one timeline showed, on a stage of its own; its history stays in the request's folder.

    Raises:
        FixtureError: A service does not start; the message says what to do.
        ImplementationNotStartedError, DescriptorError: The implementation cannot be run.
    """
    services = request.folder / SERVICES / timeline.name
    with set_up(timeline, services, ticker.say, place) as stage:
        run = Run(request, stage.services, ticker.tell)
        run.live(scenario(timeline, stage, request.folder / timeline.name))
    result = run.result()
    if result.exit_code is ExitCode.CONFORMS:
        shutil.rmtree(services)  # the data of services that nobody has to look into: megabytes for each timeline
    return result


def merged(results: Sequence[RunResult], seconds: float) -> RunResult:
    """One result of several, of the same implementation; what was drawn is asked for again by its names."""
    drawn = tuple(run.name for result in results for run in result.scenarios if _DRAWN.fullmatch(run.name))
    return replace(
        results[0],
        names=results[0].names or drawn,
        seconds=round(seconds, 1),
        scenarios=tuple(run for result in results for run in result.scenarios),
        findings=tuple(finding for result in results for finding in result.findings),
    )


def violated(result: RunResult) -> frozenset[str]:
    """The requirements that a result shows to be violated."""
    return frozenset(
        finding.requirement
        for finding in result.findings
        if finding.verdict is Verdict.FAIL and finding.requirement != HARNESS
    )


def _found(name: str) -> Timeline:
    match = _DRAWN.fullmatch(name)
    if match is None:
        return find(name)
    from isolane.chaos.generating import drawn  # noqa: PLC0415 - Hypothesis takes a second to import

    return drawn(int(match[1]))


def _not_lived(first: RunResult, timeline: Timeline, error: Exception) -> RunResult:
    """Return the result of a timeline that was not lived for this error, beside that of the first one."""
    run = ScenarioRun(
        timeline.name,
        timeline.name,
        timeline.judges,
        failure=str(error),
        harness_failed=isinstance(error, FixtureError),
        title=timeline.title,
    )
    return replace(first, scenarios=(run,), findings=())


def _broken(result: RunResult) -> list[str]:
    """The timelines that failed, or were not lived to their end."""
    failed = {finding.scenario for finding in result.findings if finding.verdict is Verdict.FAIL}
    return sorted(failed | {run.name for run in result.scenarios if run.failure})


def _show(what: Asked, result: RunResult, told: Sequence[str] = ()) -> None:
    console = printer(highlight=False)
    table.show(result, console)
    histories = (what.folder / run.folder for run in result.scenarios)
    lines = list(tallied(folder for folder in histories if (folder / META).exists()).lines())
    again = ["isolane", "chaos", "--implementation", what.name, "--seed", str(what.seed)]
    if what.place != "native":
        again += ["--services", what.place]
    for name in _broken(result):
        there = [path for file in (FILE, SHRUNK) if (path := what.folder / name / file).exists()]
        lines += [f"replay: {shlex.join([*again, '--scenario', str(path)])}" for path in there]
    for line in [*lines, *told, f"Evidence: {what.folder}"]:
        console.print(line, soft_wrap=True, markup=False)


def _shrink(what: Asked, request: Request, timeline: Timeline, failed: frozenset[str], ticker: Ticker) -> str:
    """Shrink a timeline that failed, into a file of its folder; what it came to, in a line."""
    folder = request.folder / timeline.name
    tries, left = 0, timeline

    def fails(tried: Timeline) -> bool:
        nonlocal tries
        tries += 1
        ticker.say(f"shrinking {timeline.name}, try {tries}: {len(tried.faults)} of {len(timeline.faults)} left")
        own = replace(request, folder=made_folder(folder / "shrinking" / str(tries)))
        return bool(violated(lived(own, tried, ticker, what.place)) & failed)

    def keep(smaller: Timeline) -> None:
        nonlocal left
        left = smaller
        (folder / SHRUNK).write_text(left.toml(), "utf-8")

    try:
        shrunk(timeline, fails, Confirmation(), keep)
    except FixtureError as error:
        end = f": broken off: {error}"
    else:
        end = ": nothing less failed again" if left is timeline else ""
    are = "is" if len(left.faults) == 1 else "are"
    return f"shrunk: {timeline.name}: {len(left.faults)} of {len(timeline.faults)} {are} left after {tries} runs{end}"
