"""The files that every run leaves in its folder."""

from __future__ import annotations

from pathlib import Path

from isolane.conformance.report import junit, yaml_report
from isolane.conformance.result import RunResult


def write(result: RunResult, folder: Path) -> None:
    """Write ``report.yaml`` and ``junit.xml``.

    Raises:
        OSError: They cannot be written.
    """
    junit.write(result, folder / junit.NAME)
    yaml_report.write(result, folder / yaml_report.NAME)
