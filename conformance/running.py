"""Runs from the command line: services up, everything judged, reports written, and the table shown."""

from __future__ import annotations

import threading
from contextlib import suppress
from pathlib import Path

from rich.console import Console

from isolane.conformance import engine, services
from isolane.conformance.engine import Request
from isolane.conformance.history_files import META
from isolane.conformance.history_values import Meta
from isolane.conformance.opening import Services
from isolane.conformance.report import files, table
from isolane.conformance.result import RunResult
from isolane.conformance.ticker import Ticker


def carry_out(asked: Request, choice: services.ServiceChoice, *, keep: bool = False) -> RunResult:
    """Judge what is asked for, leave the reports in its folder, and show the table; blocks for minutes.

    Args:
        asked: See above.
        choice: Where services come from.
        keep: Whether Kafka and the clusters stay as they are when everything is judged, until Ctrl-C.

    Raises:
        FixtureError, HarnessError: A service, or the build of the implementation, failed.
        ImplementationNotStartedError, DescriptorError: The implementation cannot be run.
    """
    console = Console()
    with Ticker(asked.descriptor.name) as ticker:
        ready = engine.built(asked, ticker.say)
        with services.started(choice, asked.folder, ticker.say, keep=keep) as running:
            result = engine.verify(ready, running, ticker.tell)
            files.write(result, asked.folder)
            ticker.rest()
            table.show(result, console)
            console.print(f"Evidence: {asked.folder}", soft_wrap=True, highlight=False)
            if keep:
                _stay(running, asked.folder, console)
    return result


def _stay(running: Services, folder: Path, console: Console) -> None:
    """Say what is there to be looked at, and wait for Ctrl-C."""
    console.print(f"Kept until Ctrl-C: Kafka at {running.bootstrap}", soft_wrap=True, highlight=False)
    for path in sorted(folder.glob(f"*/{META}")):
        meta = Meta.model_validate_json(path.read_bytes())
        topics = ", ".join(topic.name for topic in meta.topics)
        console.print(f"  {meta.scenario}: group {meta.group}, topics {topics}", soft_wrap=True, highlight=False)
    with suppress(KeyboardInterrupt):
        threading.Event().wait()
