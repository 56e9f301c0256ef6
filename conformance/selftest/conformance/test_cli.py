"""Whatever fails, the command ends with the exit code that says so, and with one line: 1 is for violations alone."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import NoReturn

import pytest

from isolane.conformance import cli, stored


def test_a_folder_that_cannot_be_made_is_wrong_usage(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """With its name, and why."""
    file = tmp_path / "file"
    file.touch()
    for arguments in (["explain", "--pages", str(file / "x")], ["init", "mine", "--dir", str(file / "x")]):
        assert cli.run(arguments) == 4
        said = capsys.readouterr().err
        assert said == f"isolane: {file / 'x'}: Not a directory\n"


def test_what_nobody_thought_of_is_no_violation(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The harness failed, at the place that is named."""

    def failing(*_: object) -> NoReturn:
        raise ZeroDivisionError("a checker's own")

    monkeypatch.setattr(stored.StoredRun, "open", failing)
    assert cli.run(["check", str(tmp_path)]) == 3
    said = capsys.readouterr().err
    assert "isolane: a fault of Isolane's own: ZeroDivisionError: a checker's own (test_cli.py, line " in said
    assert "Traceback" not in said


@pytest.mark.parametrize("arguments", [["report-schema"], ["explain", "ISO-1"]], ids=["by click", "by rich"])
def test_output_that_nobody_reads_is_no_violation(arguments: list[str]) -> None:
    """As in `isolane check RUN | head -1`, in a shell with `pipefail`."""
    reader, writer = os.pipe()
    os.close(reader)
    command = [sys.executable, "-c", "from isolane.conformance.cli import main; main()", *arguments]
    ended = subprocess.run(command, stdout=writer, stderr=subprocess.PIPE, text=True, check=False)
    os.close(writer)
    assert (ended.returncode, ended.stderr) == (141, "")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="the system has no /dev/full")
def test_a_full_disk_is_no_violation() -> None:
    """It is named, and the harness failed."""
    command = [sys.executable, "-c", "from isolane.conformance.cli import main; main()", "report-schema"]
    with Path("/dev/full").open("w", encoding="ascii") as full:
        ended = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert (ended.returncode, ended.stderr) == (3, "isolane: No space left on device\n")
