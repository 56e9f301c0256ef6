"""The files that every run leaves in its folder."""

from __future__ import annotations

from pathlib import Path

from isolane.conformance.report import junit, run_page, yaml_report
from isolane.conformance.result import RunResult


def write(result: RunResult, folder: Path) -> None:
    """Write ``report.yaml``, ``junit.xml`` and the page; blocks for seconds.

    Raises:
        OSError: They cannot be written.
    """
    junit.write(result, folder / junit.NAME)
    yaml_report.write(result, folder / yaml_report.NAME)
    run_page.write(result, folder)
