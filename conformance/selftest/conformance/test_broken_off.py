"""A run that is broken off leaves no process; one whose implementation crashes leaves its evidence."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import psutil
import pytest

from isolane.conformance import cli
from isolane.conformance.history import History
from isolane.conformance.selftest.conformance.test_verify import own
from isolane.conformance.verdict import ExitCode

pytestmark = pytest.mark.services

ENDLESS = """["{python}", "-c", "import signal; signal.pause()"]"""
# What a shell starts in the background ignores SIGINT, and so would all that the tests start from there.
COMMAND = """
import signal
from isolane.conformance.cli import main
signal.signal(signal.SIGINT, signal.default_int_handler)
main()
"""


@contextmanager
def waiting(folder: Path) -> Iterator[tuple[subprocess.Popen[str], list[psutil.Process]]]:
    """A runner in a process of its own, whose member runs and takes nothing; with every process that it has started."""
    arguments = ["verify", own(folder, ENDLESS), "--only", "DEL-1", "--out", str(folder / "run")]
    command = [sys.executable, "-c", COMMAND, *arguments]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, cwd=folder, env={**os.environ}) as runner:
        assert runner.stderr is not None
        told = []
        for line in runner.stderr:
            told.append(line)
            if ", ready" in line:
                break
        assert ", ready" in told[-1], "".join(told)
        started = psutil.Process(runner.pid).children(recursive=True)
        try:
            yield runner, started
        finally:
            for process in psutil.wait_procs(started, timeout=0)[1]:
                with suppress(psutil.NoSuchProcess):  # it may have ended just now
                    process.kill()
            runner.kill()


@pytest.mark.parametrize(
    ("how", "code"), [(signal.SIGINT, 130), (signal.SIGKILL, -signal.SIGKILL)], ids=["Ctrl-C", "kill -9"]
)
def test_a_runner_that_is_broken_off_leaves_no_process(how: signal.Signals, code: int, tmp_path: Path) -> None:
    """Kafka, clusters, observers and members end, and so do their ports: also when nobody could tell them to."""
    with waiting(tmp_path) as (runner, started):
        assert len(started) >= 3, "Kafka, the clusters and a member"
        runner.send_signal(how)
        assert runner.wait(60) == code
        left = psutil.wait_procs(started, timeout=30)[1]
        assert left == []


def test_what_was_seen_until_then_is_on_disk(tmp_path: Path) -> None:
    """A run that was killed can still be looked at: its history loads, and knows of the member that ran."""
    with waiting(tmp_path) as (runner, _):
        runner.kill()
        runner.wait()
    (folder,) = (path.parent for path in (tmp_path / "run").glob("*/meta.json"))
    history = History.load(folder)
    assert [event.name for event in history.events if event.kind == "process"] == ["started"]
    assert history.phases[0].name == "ready"


def test_an_implementation_that_crashes_leaves_its_evidence(tmp_path: Path) -> None:
    """What it said, its configuration, and in the history when it ended, and how."""
    crash = """["{python}", "-c", "import sys; sys.exit('segmentation fault, as it were')"]"""
    code = cli.run(["verify", own(tmp_path, crash), "--only", "DEL-1", "--out", str(tmp_path / "run")])
    assert code == ExitCode.WRONG_USAGE
    folder = tmp_path / "run" / "isolation"
    assert (folder / "member-0.log").read_text() == "segmentation fault, as it were\n"
    assert (folder / "member-0" / "own.conf").exists()
    exits = [event.detail["code"] for event in History.load(folder).events if event.name == "exited"]
    assert exits == [1]
