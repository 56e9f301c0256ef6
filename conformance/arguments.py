"""Arguments that several commands take, read once and refused in the same words."""

from __future__ import annotations

from pathlib import Path

import click

from isolane.conformance.history_files import HistoryError
from isolane.conformance.report.yaml_report import ReportError
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


RUN = RunFolder()
"""The one instance."""
