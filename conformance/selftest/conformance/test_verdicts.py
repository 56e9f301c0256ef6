"""Whole runs on known implementations: each says what its expected-verdict file says, no more and no less."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path

import pytest

from isolane.conformance import cli
from isolane.conformance.expectation import FOLDER, Expectation
from isolane.conformance.report import yaml_report
from isolane.conformance.verdict import ExitCode
from isolane.fixtures.processes import Process

EXPECTED = {path.stem: Expectation.load(path) for path in sorted(FOLDER.glob("*.toml"))}


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=pytest.mark.verdicts if expected.depth == "smoke" else pytest.mark.nightly)
        for name, expected in EXPECTED.items()
    ],
)
def test_a_run_says_what_is_expected(name: str, tmp_path: Path) -> None:
    """Verdicts and exit code of a run on the implementation are those of its file, compared both ways."""
    folder = tmp_path / "run"
    code = cli.run(["verify", *EXPECTED[name].arguments, "--out", str(folder)])
    result = yaml_report.read(folder / yaml_report.NAME)
    assert EXPECTED[name].differences(result) == []
    assert code == result.exit_code


@pytest.mark.nightly
def test_two_hundred_kills_lose_nothing(tmp_path: Path) -> None:
    """At random moments under load, while clusters answer in all ways: nothing is lost, and no commit is ahead."""
    code = cli.run(["verify", "reference", "--depth", "soak", "--scenario", "kills", "--out", str(tmp_path / "run")])
    assert code is ExitCode.CONFORMS


@pytest.mark.nightly
@pytest.mark.parametrize("busy", [False, True], ids=["alone", "beside a busy core"])
@pytest.mark.parametrize("repeat", range(10))
def test_smoke_on_the_reference_repeats(*, repeat: int, busy: bool, tmp_path: Path) -> None:
    """Ten runs in a row pass; with one core kept busy by something else a run may be inconclusive, and never fails."""
    allowed = {ExitCode.CONFORMS, ExitCode.INCONCLUSIVE} if busy else {ExitCode.CONFORMS}
    with busy_core(tmp_path) if busy else nullcontext():
        code = cli.run(["verify", "reference", "--seed", str(repeat), "--out", str(tmp_path / "run")])
    assert code in allowed


@contextmanager
def busy_core(folder: Path) -> Iterator[None]:
    """Keep one core busy while the block runs."""
    with Process.start([sys.executable, "-c", "while True: pass"], log=folder / "busy.log", name="busy core"):
        yield
