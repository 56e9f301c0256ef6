"""The fixed set: the reference passes every timeline, and each is failed by who lacks what it asserts."""

from __future__ import annotations

from pathlib import Path

import pytest

from isolane.chaos.timeline import Caught, find, packaged
from isolane.conformance import cli
from isolane.conformance.report import yaml_report
from isolane.conformance.verdict import ExitCode, Verdict

pytestmark = pytest.mark.usefixtures("refused_connections")

CAUGHT = [(name, each) for name in packaged() for each in find(name).caught]


@pytest.mark.chaos
@pytest.mark.parametrize("name", packaged())
def test_the_reference_lives_through_it(name: str, tmp_path: Path) -> None:
    """Everything bites, nothing is violated, and nothing is in doubt."""
    assert cli.run(["chaos", "--scenario", name, "--seed", "1", "--out", str(tmp_path / "run")]) == ExitCode.CONFORMS


@pytest.mark.nightly
@pytest.mark.parametrize(("name", "caught"), CAUGHT, ids=[f"{name}-{each.implementation}" for name, each in CAUGHT])
def test_who_is_wrong_is_caught(name: str, caught: Caught, tmp_path: Path) -> None:
    """The implementation fails what the timeline says that it must."""
    folder = tmp_path / "run"
    arguments = ["--scenario", name, "--implementation", caught.implementation, "--seed", "1", "--out", str(folder)]
    assert cli.run(["chaos", *arguments]) == ExitCode.VIOLATES
    failed = yaml_report.read(folder / yaml_report.NAME).with_verdict(Verdict.FAIL)
    assert set(caught.fails) <= {outcome.requirement.id for outcome in failed}


@pytest.mark.nightly
@pytest.mark.parametrize("repeat", range(10))
def test_the_fixed_set_repeats(repeat: int, tmp_path: Path) -> None:
    """Ten runs of all of it in a row pass, each with load of its own."""
    assert cli.run(["chaos", "--seed", str(repeat), "--out", str(tmp_path / "run")]) == ExitCode.CONFORMS
