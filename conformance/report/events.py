"""The event stream of a run: NDJSON, a line as soon as something is known, for those who follow it by program.

Every line has ``event``, what it tells of, and ``at``, the time in UTC. The last one is ``run_ended``: a stream
without it belongs to a run that was broken off.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from isolane.conformance.engine import Progress, Request
from isolane.conformance.history_files import HistoryWriter
from isolane.conformance.result import RunResult, ScenarioRun, suite_version
from isolane.conformance.verdict import Figure, Finding


class EventStream:
    """Writes the events of a run to a file, or nowhere; a context manager. Any thread may call it."""

    def __init__(self, path: Path | None) -> None:
        """Append to the file at `path`, which is made; None: write nowhere.

        Raises:
            OSError: It cannot be opened.
        """
        self._file = HistoryWriter(path) if path is not None else None

    def began(self, request: Request) -> None:
        """Tell who is to be judged, and in which scenarios."""
        self._tell(
            "run_began",
            implementation=request.descriptor.name,
            depth=request.depth.name,
            seed=request.seed,
            suite=suite_version(),
            folder=str(request.folder),
            scenarios=[scenario.name for scenario in request.scenarios],
        )

    def progress(self, progress: Progress) -> None:
        """Tell that a phase begins."""
        self._tell("phase_began", scenario=progress.scenario, phase=progress.phase)

    def judged(self, run: ScenarioRun, findings: tuple[Finding, ...]) -> None:
        """Tell what was found in a scenario that is over: a line for each finding, then one for the scenario."""
        for finding in findings:
            self._tell("finding", **_plain(finding))
        self._tell("scenario_ended", **{key: value for key, value in asdict(run).items() if key != "folder"})

    def ended(self, result: RunResult) -> None:
        """Tell what the run says of each requirement, and how it ended."""
        for outcome in result.outcomes:
            self._tell(
                "outcome", requirement=outcome.requirement.id, verdict=outcome.verdict.value, reason=outcome.reason
            )
        self._tell("run_ended", headline=result.headline, exit_code=int(result.exit_code))

    def __enter__(self) -> Self:
        """Return the stream itself."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close the file."""
        if self._file is not None:
            self._file.close()

    def _tell(self, event: str, **detail: Any) -> None:  # noqa: ANN401 - what JSON can say
        if self._file is not None:
            self._file.write({"event": event, "at": datetime.now(UTC).isoformat(timespec="milliseconds"), **detail})


def _plain(finding: Finding) -> Mapping[str, Any]:
    figures = {name: _figure(figure) for name, figure in finding.figures.items()}
    return {**asdict(finding), "verdict": finding.verdict.value, "figures": figures}


def _figure(figure: Figure) -> dict[str, Any]:
    """Return a figure as JSON can say it: JSON has no infinity, so an endless value is null beside its text."""
    return {**asdict(figure), "text": str(figure)}
