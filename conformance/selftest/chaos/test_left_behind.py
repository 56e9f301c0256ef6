"""What a run leaves behind: its evidence, and no process, port or toxic, however it ends."""

from __future__ import annotations

import signal
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import psutil
import pytest

from isolane.chaos.performing import FILE
from isolane.conformance.history_files import EVENTS, META
from isolane.conformance.report import yaml_report
from isolane.fixtures.processes import Process

pytestmark = pytest.mark.chaos

TIMELINE = """
name = "brief"
judges = ["DEL-1", "OFF-1"]
tenant = [{ name = "a" }]
fault = [
  { kind = "latency", target = "a", at = 0, seconds = SECONDS },
  { kind = "freeze", at = 1, seconds = 2 },
]
"""
UNDER_WAY = b'"freeze","number":1,"part":"ended"'
WITHIN = 180.0
SOON = 30.0


@contextmanager
def running(folder: Path, seconds: float, *arguments: str) -> Iterator[Process]:
    """A run of the timeline, with a fault that lasts so long, as a process of its own."""
    path = folder / "brief.toml"
    path.write_text(TIMELINE.replace("SECONDS", str(seconds)))
    command = [sys.executable, "-c", "from isolane.conformance.cli import main; main()", "chaos"]
    options = ["--scenario", str(path), "--out", str(folder / "run"), *arguments]
    with Process.start([*command, *options], log=folder / "log", name="chaos") as process:
        yield process


def await_faults(folder: Path, process: Process) -> tuple[list[psutil.Process], set[int]]:
    """Wait until the faults are under way; every process of the run, and the ports that they listen on."""
    events = folder / "run" / "brief" / EVENTS
    deadline = time.monotonic() + WITHIN
    while not (events.exists() and UNDER_WAY in events.read_bytes()):
        assert process.alive, "\n".join(process.tail(5))
        assert time.monotonic() < deadline, "\n".join(process.tail(5))
        time.sleep(0.1)
    family = [psutil.Process(process.pid), *psutil.Process(process.pid).children(recursive=True)]
    return family, {port for each in family for port in ports(each)}


def ports(process: psutil.Process) -> Iterator[int]:
    """The ports that a process listens on."""
    with suppress(psutil.Error):
        for connection in process.net_connections("tcp"):
            if connection.status == psutil.CONN_LISTEN:
                yield connection.laddr.port


def assert_gone(family: list[psutil.Process], listening: set[int]) -> None:
    """Every process has ended, and nobody listens on any of the ports."""
    _, alive = psutil.wait_procs(family, SOON)
    assert alive == []
    left = {port for each in psutil.process_iter() for port in ports(each)}
    assert left & listening == set()


def test_a_run_that_passes(tmp_path: Path) -> None:
    """Its folder has the history, the timeline and the reports, and no data of services."""
    with running(tmp_path, 5) as process:
        family, listening = await_faults(tmp_path, process)
        assert len(family) > 8
        assert len(listening) > 4
        assert process.wait(WITHIN) == 0
    assert_gone(family, listening)
    reports = {"report.yaml", "report.html", "junit.xml"}
    assert {path.name for path in (tmp_path / "run").iterdir()} == {"brief", "services", *reports}
    assert not list((tmp_path / "run" / "services").iterdir())
    assert {META, EVENTS, FILE, "member-0.log"} <= {path.name for path in (tmp_path / "run" / "brief").iterdir()}
    assert yaml_report.read(tmp_path / "run" / yaml_report.NAME).exit_code == 0


def test_a_run_that_fails_keeps_everything(tmp_path: Path) -> None:
    """The line that lives it again is printed, and names a file that is there; so is what services wrote."""
    with running(tmp_path, 5, "--implementation", "known-bad/commit_on_read") as process:
        family, listening = await_faults(tmp_path, process)
        assert process.wait(WITHIN) == 1
        (replay,) = [line for line in process.tail(20) if line.startswith("replay: ")]
    assert_gone(family, listening)
    assert Path(replay.split()[-1]).is_file()
    assert list((tmp_path / "run" / "services" / "brief").glob("**/*.log"))


@pytest.mark.parametrize(("ending", "code"), [(signal.SIGINT, 130), (signal.SIGKILL, -signal.SIGKILL)])
def test_a_run_that_is_broken_off(ending: signal.Signals, code: int, tmp_path: Path) -> None:
    """Ctrl-C, and `kill -9` of the runner alone, end everything; the history stays as far as it came."""
    with running(tmp_path, 600) as process:
        family, listening = await_faults(tmp_path, process)
        family[0].send_signal(ending)
        assert process.wait(SOON) == code
    assert_gone(family, listening)
    assert (tmp_path / "run" / "brief" / META).is_file()
    assert (tmp_path / "run" / "brief" / FILE).is_file()
