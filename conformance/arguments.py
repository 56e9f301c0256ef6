"""Arguments that several commands take, read once and refused in the same words."""

from __future__ import annotations

from pathlib import Path

import click

from isolane.conformance.history_files import HistoryError
from isolane.conformance.report import yaml_report
from isolane.conformance.report.yaml_report import ReportError
from isolane.conformance.result import RunResult
from isolane.conformance.stored import StoredRun


class RunFolder(click.ParamType[StoredRun]):
    """The folder of a run that `isolane verify` left, or that of one of its scenarios."""

    name = "run"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> StoredRun:
        """Open the run; a folder that holds none is wrong usage."""
        folder = Path(str(value))
        if not folder.is_dir():
            self.fail(f"{folder} is no folder", param, ctx)
        try:
            return StoredRun.open(folder)
        except ReportError as error:
            self.fail(f"{error}; a scenario's folder in it can be given by itself", param, ctx)
        except HistoryError as error:
            self.fail(str(error), param, ctx)


class ReportFile(click.ParamType[RunResult]):
    """A ``report.yaml``, or the folder of a run that has one."""

    name = "report"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> RunResult:
        """Read the report; one that cannot be read, or was cut short, is wrong usage."""
        path = Path(str(value))
        try:
            return yaml_report.read(path / yaml_report.NAME if path.is_dir() else path)
        except yaml_report.ReportError as error:
            self.fail(str(error), param, ctx)


RUN = RunFolder()
REPORT = ReportFile()
"""The one instance of each."""
