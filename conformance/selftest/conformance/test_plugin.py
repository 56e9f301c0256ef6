"""The pytest plugin: harmless without `--implementation`, and clear about wrong options with it."""

from __future__ import annotations

from pathlib import Path

import pytest

from isolane.conformance.verdict import ExitCode
from isolane.fixtures.cache import cache_folder

pytest_plugins = ["pytester"]


@pytest.fixture
def cache() -> Path:
    """Where Kafka is kept, before `pytester` gives tests a home of their own, where none is."""
    return cache_folder()


@pytest.fixture
def folder(cache: Path, pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> pytest.Pytester:
    """An empty folder in which pytest runs with the plugin, whether Isolane is installed or not."""
    monkeypatch.setenv("ISOLANE_CACHE", str(cache))
    monkeypatch.delenv("PYTHONWARNINGS", raising=False)
    return pytester


def run(folder: pytest.Pytester, *arguments: str) -> pytest.RunResult:
    """Run pytest in a process of its own."""
    return folder.runpytest_subprocess("-p", "no:isolane", "-p", "isolane.conformance.plugin", *arguments)


def test_without_the_option_nothing_is_added(folder: pytest.Pytester) -> None:
    """Other people's tests run as if Isolane were not there."""
    folder.makepyfile("def test_own(): pass")
    run(folder).assert_outcomes(passed=1)


def test_with_it_there_is_a_test_for_each_requirement_and_scenario(folder: pytest.Pytester) -> None:
    """The conformance tests are found from any folder, named by scenario and requirement."""
    result = run(folder, "--implementation", "reference", "--collect-only", "-q")
    assert "Warning" not in f"{result.stdout}{result.stderr}", "what libraries warn of is not for who uses the plugin"
    result.stdout.fnmatch_lines_random(["*isolation-ISO-1*", "*isolation-ISO-3*", "*crash-DEL-1*"])
    assert not (folder.path / "isolane-runs").exists(), "nothing was run"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("refrence",), "*did you mean 'reference'?*"),
        (("",), "*no implementation ''; known are *"),
        (("reference", "--depth", "deep"), "*--depth: 'deep': allowed: smoke, standard, soak*"),
        (("reference", "--services", "redis=native"), "*--services: 'redis=native': no such service*"),
    ],
)
def test_wrong_options_are_wrong_usage(folder: pytest.Pytester, arguments: tuple[str, ...], message: str) -> None:
    """Each wrong option ends pytest with its usage exit code and a line that says what is allowed."""
    result = run(folder, "--implementation", *arguments)
    assert result.ret == ExitCode.WRONG_USAGE
    result.stderr.fnmatch_lines([message])


@pytest.mark.services
def test_an_implementation_that_does_not_start_ends_the_session(folder: pytest.Pytester) -> None:
    """The session ends with the exit code of wrong usage and one line that names the command."""
    folder.makefile(".j2", own="x")
    descriptor = folder.makefile(
        ".toml",
        own='schema = 1\nimplementation = {name = "own", version = "1"}\nrun = {start = ["/no/such/command"]}\n'
        'config = {template = "own.j2", path = "own.conf"}\nlimits = {workers = 2}\n',
    )
    result = run(folder, "--implementation", str(descriptor))
    assert result.ret == ExitCode.WRONG_USAGE
    result.stdout.fnmatch_lines(["*isolane: */own.toml: run.start: cannot start own member 0: */no/such/command*"])


STANDS_IN = """
import os
from pathlib import Path
import pytest
from isolane.conformance import pytest_live

def outcome(run, declared):
    with Path(os.environ["ASKED"]).open("a") as asked:
        print(declared.scenario.name, declared.requirement, run.worker, file=asked)
    pytest.skip("not judged here")

pytest_live.LiveRun.outcome = outcome
"""


def test_with_workers_each_scenario_stays_with_one(
    folder: pytest.Pytester, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without being told: a scenario is lived once, and nothing but `-n 2` was asked for."""
    folder.makepyfile(stands_in=STANDS_IN)
    monkeypatch.setenv("PYTHONPATH", str(folder.path))
    monkeypatch.setenv("ASKED", str(tmp_path / "asked"))
    run(folder, "-p", "stands_in", "--implementation", "reference", "-n", "2").assert_outcomes(skipped=8)
    asked = [line.split() for line in (tmp_path / "asked").read_text().splitlines()]
    workers = {name: {worker for scenario, _, worker in asked if scenario == name} for name, _, _ in asked}
    assert workers.keys() == {"isolation", "crash"}
    assert all(len(each) == 1 for each in workers.values())


TELLS = """
import pytest
from isolane.conformance import pytest_live
from isolane.conformance.selftest.conformance.results import FAILED, result

pytest_live.LiveRun.outcome = lambda run, declared: pytest.skip("not judged here")
pytest_live.LiveRun.result = property(lambda run: result(FAILED))
"""


def test_the_report_is_wide_where_there_is_no_terminal(
    folder: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As other commands print it, into a file or a CI's log."""
    folder.makepyfile(tells=TELLS)
    monkeypatch.setenv("PYTHONPATH", str(folder.path))
    monkeypatch.delenv("COLUMNS", raising=False)
    printed = run(folder, "-p", "tells", "--implementation", "reference")
    rows = [line for line in printed.outlines if line.startswith(("ISO-", "DEL-"))]
    assert 100 < max(map(len, rows)) <= 120
