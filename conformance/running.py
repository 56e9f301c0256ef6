"""Runs from the command line: services up, everything judged, reports written, and the table shown."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

from rich.console import Console

from isolane.conformance import engine, regressions, services
from isolane.conformance.engine import Progress, Request
from isolane.conformance.history_files import META
from isolane.conformance.history_values import Meta
from isolane.conformance.opening import Services
from isolane.conformance.report import files, repeats, run_page, table
from isolane.conformance.report.events import EventStream
from isolane.conformance.report.printing import printer
from isolane.conformance.result import RunResult
from isolane.conformance.ticker import Ticker
from isolane.conformance.verdict import ExitCode


@dataclass(frozen=True, slots=True)
class Options:
    """How a run is carried out and reported.

    Attributes:
        keep: Whether Kafka and the clusters stay as they are when everything is judged, until Ctrl-C.
        events: Where the event stream goes; None: nowhere.
        repeat: How often everything is run.
        allow_known: Whether the known deviations of the descriptor do not count.
        baseline: An earlier result, whose violations do not count.
    """

    keep: bool = False
    events: Path | None = None
    repeat: int = 1
    allow_known: bool = False
    baseline: RunResult | None = None


def carry_out(asked: Request, choice: services.ServiceChoice, options: Options) -> tuple[RunResult, ...]:
    """Judge what is asked for as often as is asked for, leave the reports in its folder, and show them.

    Blocks for minutes. Of several runs each has a folder of its own below that of the request, and the seed after the
    one before.

    Raises:
        FixtureError, HarnessError: A service, or the build of the implementation, failed.
        ImplementationNotStartedError, DescriptorError: The implementation cannot be run.
    """
    console = printer()
    results = []
    with EventStream(options.events) as events, Ticker(asked.descriptor.name) as ticker:
        ready = engine.built(asked, ticker.say)
        with services.started(choice, asked.folder, ticker.say, keep=options.keep) as running:
            for each in _repeated(ready, options.repeat):
                results.append(_carried(each, running, options, events, ticker))
                ticker.rest()
                _show(results[-1], each.folder, options, console)
            if options.repeat > 1:
                console.print(repeats.table(results))
            if options.keep:
                _stay(running, asked.folder, console)
    return tuple(results)


def exit_code(results: tuple[RunResult, ...]) -> ExitCode:
    """Return how several runs of the same end together: as the worst of them, so that no repetition makes red green."""
    codes = {result.exit_code for result in results}
    return next(code for code in _WORST_FIRST if code in codes)


_WORST_FIRST = (
    ExitCode.VIOLATES,
    ExitCode.HARNESS_FAILED,
    ExitCode.WRONG_USAGE,
    ExitCode.INCONCLUSIVE,
    ExitCode.CONFORMS,
)


def _repeated(asked: Request, times: int) -> Iterator[Request]:
    if times == 1:
        yield asked
        return
    for number in range(times):
        folder = asked.folder / f"{number + 1:0{len(str(times))}}"
        folder.mkdir()
        yield replace(asked, folder=folder, seed=asked.seed + number)


def _carried(asked: Request, running: Services, options: Options, events: EventStream, ticker: Ticker) -> RunResult:
    def told(progress: Progress) -> None:
        ticker.tell(progress)
        events.progress(progress)

    events.began(asked)
    found = engine.verify(asked, running, told, events.judged)
    result = regressions.excused(found, allow_known=options.allow_known, baseline=options.baseline)
    files.write(result, asked.folder)
    events.ended(result)
    return result


def _show(result: RunResult, folder: Path, options: Options, console: Console) -> None:
    table.show(result, console)
    for line in regressions.lines(result, options.baseline):
        console.print(line, soft_wrap=True, highlight=False, markup=False)
    console.print(f"Page: {folder / run_page.NAME}", soft_wrap=True, highlight=False, markup=False)
    console.print(f"Evidence: {folder}", soft_wrap=True, highlight=False, markup=False)


def _stay(running: Services, folder: Path, console: Console) -> None:
    """Say what is there to be looked at, and wait for Ctrl-C."""
    console.print(f"Kept until Ctrl-C: Kafka at {running.bootstrap}", soft_wrap=True, highlight=False)
    for path in sorted(folder.glob(f"**/{META}")):
        meta = Meta.model_validate_json(path.read_bytes())
        topics = ", ".join(topic.name for topic in meta.topics)
        console.print(f"  {meta.scenario}: group {meta.group}, topics {topics}", soft_wrap=True, highlight=False)
    with suppress(KeyboardInterrupt):
        threading.Event().wait()
