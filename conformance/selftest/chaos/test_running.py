"""Runs: what is asked for wrongly is refused before anything starts; a run that fails says how to live it again."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from isolane.chaos import running
from isolane.chaos.timeline import TimelineError
from isolane.conformance import cli
from isolane.conformance.selftest.conformance.results import FAILED, result
from isolane.conformance.verdict import ExitCode
from isolane.fixtures.processes import free_ports

REFUSED = [
    (["--scenario", "networks"], "no timeline 'networks'; known are network, nodes"),
    (["--scenario", "network", "--minutes", "3"], "--minutes draws timelines, and --scenario names them"),
    (["--minutes", "0"], "0.0 is not in the range x>0"),
    (["--implementation", "referense"], "did you mean 'reference'?"),
]


@pytest.mark.parametrize(("arguments", "message"), REFUSED)
def test_wrong_usage(arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Each says which option is wrong and what is allowed; nothing is started."""
    assert cli.run(["chaos", *arguments]) == ExitCode.WRONG_USAGE
    assert message in " ".join(capsys.readouterr().err.split())


def test_a_folder_that_is_not_empty(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Evidence of two runs does not mix."""
    (tmp_path / "old").touch()
    assert cli.run(["chaos", "--out", str(tmp_path)]) == ExitCode.WRONG_USAGE
    assert "is not empty" in capsys.readouterr().err


def test_containers_without_an_engine(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Where no container engine answers, that is told with the ways out; nothing was judged."""
    monkeypatch.setenv("DOCKER_HOST", f"tcp://127.0.0.1:{free_ports(1)[0]}")
    arguments = ["--services", "containers", "--scenario", "operator", "--out", str(tmp_path / "run")]
    assert cli.run(["chaos", *arguments]) == ExitCode.HARNESS_FAILED
    assert "needs a container engine" in capsys.readouterr().err


def test_drawn_timelines_have_names_that_draw_them_again() -> None:
    """So one that failed can be named on the command line."""
    (named,) = running.chosen(["drawn-3"])
    assert next(running.drawn_for(3, minutes=1)) == named
    with pytest.raises(TimelineError):
        running.chosen(["drawn-"])


def test_time_is_up_after_the_first() -> None:
    """However little time there is, one timeline is drawn, and no more than there is time for."""
    assert [timeline.name for timeline in running.drawn_for(3, minutes=1e-9)] == ["drawn-3"]


def test_what_was_seen_to_fail_is_lived_again() -> None:
    """The line that a red verdict ends with names the timelines in which it was seen."""
    lived = replace(result(replace(FAILED, requirement="DEL-1", scenario="network")), depth="chaos")
    assert lived.reproduce("DEL-1").endswith("--scenario network")
    assert lived.reproduce("DEL-1").startswith("isolane chaos --implementation ")
    assert "--scenario" not in lived.reproduce()
