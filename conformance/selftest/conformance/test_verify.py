"""`isolane verify` with implementations that are no use, and with wrong options: one clear message, an exit code."""

from __future__ import annotations

from pathlib import Path

import psutil
import pytest

from isolane.conformance import cli
from isolane.conformance.report import yaml_report
from isolane.conformance.verdict import ExitCode
from isolane.conformance.world.ground import Ground


def own(folder: Path, start: str) -> str:
    """The path of a descriptor whose command is `start`, a TOML array."""
    (folder / "own.j2").write_text("{{ world.group_id }}\n")
    path = folder / "own.toml"
    path.write_text(
        'schema = 1\nimplementation = {name = "own", version = "1"}\n'
        f'run = {{start = {start}}}\nconfig = {{template = "own.j2", path = "own.conf"}}\nlimits = {{workers = 2}}\n'
        "timing = {metadata_max_age = 1, session_timeout = 1}\n",
    )
    return str(path)


def verify(folder: Path, *arguments: str) -> int:
    """Run `isolane verify` with evidence below `folder`; its exit code. Whatever it started has ended."""
    code = cli.run(["verify", *arguments, "--out", str(folder / "run")])
    assert psutil.Process().children(recursive=True) == []
    return code


def test_an_unknown_name_is_wrong_usage(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A misspelt implementation is told with the nearest name, and nothing is started."""
    assert verify(tmp_path, "refrence") == ExitCode.WRONG_USAGE
    assert "did you mean 'reference'?" in capsys.readouterr().err
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("reference", "--only", "ISO-99"), "--only: no requirement 'ISO-99'"),
        (("reference", "--profile", "speed"), "--profile: no profile 'speed'; the profiles are delivery"),
        (("reference", "--services", "kafka=docker"), "--services: 'kafka=docker': allowed: kafka=native"),
        (("reference", "--services", "redis=native"), "'redis=native': no such service"),
        (("reference", "--scenario", "nodes"), "--services elasticsearch=native can"),
        (("reference", "--scenario", "crash", "--services", "elasticsearch=native"), "elasticsearch=scripted can"),
        (("reference", "--depth", "deep"), "'deep' is not one of 'smoke', 'standard', 'soak'"),
        (("reference", "--scenario", "crush"), "--scenario: 'crush': allowed: isolation, "),
        (("reference", "--scenario", "outcomes"), "(outcomes) is judged at it; --depth standard judges it"),
        (("reference", "--only", "DEL-6"), "(DEL-6) is judged at it; --depth standard judges it"),
        (("reference", "--only", "LIM-8"), "(LIM-8) is judged at it; --depth standard judges it"),
        (("one-at-a-time", "--only", "OPS-2", "--depth", "standard"), "one-at-a-time.toml does not say what it takes"),
        (("one-at-a-time", "--only", "OPS-2", "--scenario", "operation"), "OPS-2: nothing is judged: "),
        (("reference", "--only", ""), "--only: '': names nothing"),
        (("reference", "--profile", " , "), "--profile: ' , ': names nothing"),
        (("reference", "--scenario", ""), "--scenario: '': names nothing"),
        (("reference", "--scenario", "crash,kills"), "(kills) is judged at it; --depth standard judges it"),
        (
            ("reference", "--only", "ISO-2", "--scenario", "crash", "--depth", "standard"),
            "--scenario: crash: nothing of what was asked for (ISO-2) is judged in it; allowed: one_sick",
        ),
        (("one-at-a-time", "--only", "LIM-1,LIM-2"), "LIM-1, LIM-2: nothing is judged: one-at-a-time does not claim"),
        (("reference", "--services", "kafka=external:localhost:65536"), "allowed: kafka=native, kafka=external:"),
        (("", "--only", "ISO-1"), "no implementation ''"),
    ],
)
def test_wrong_options_are_wrong_usage(
    arguments: tuple[str, ...],
    message: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Each wrong option is named with its value and what is allowed."""
    assert verify(tmp_path, *arguments) == ExitCode.WRONG_USAGE
    assert message in capsys.readouterr().err


def test_evidence_of_two_runs_does_not_mix(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A folder that holds something is refused."""
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "old").touch()
    assert verify(tmp_path, "reference") == ExitCode.WRONG_USAGE
    assert "is not empty" in capsys.readouterr().err


@pytest.mark.services
def test_a_command_that_is_not_there(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A command that cannot be run is told by name; nothing was judged."""
    assert verify(tmp_path, own(tmp_path, '["/no/such/command"]')) == ExitCode.WRONG_USAGE
    assert "/no/such/command" in capsys.readouterr().err


@pytest.mark.services
def test_a_command_that_ends_at_once(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """An implementation that ends before it took a record is told with its last words; nothing was judged."""
    start = """["{python}", "-c", "raise SystemExit('no such option: --frobnicate')"]"""
    assert verify(tmp_path, own(tmp_path, start)) == ExitCode.WRONG_USAGE
    message = capsys.readouterr().err
    assert "the command ended before canaries came through" in message
    assert "no such option: --frobnicate" in message


@pytest.mark.services
def test_an_implementation_that_never_consumes(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """One that runs and takes nothing is inconclusive, never green; the report says why, and what was not run."""
    monkeypatch.setattr(Ground, "patience", 2.0)  # however long it is waited
    start = """["{python}", "-c", "import signal; signal.pause()"]"""
    assert verify(tmp_path, own(tmp_path, start), "--only", "DEL-1") == ExitCode.INCONCLUSIVE
    assert "0 of 8 canary records were accepted" in capsys.readouterr().out
    result = yaml_report.read(tmp_path / "run" / yaml_report.NAME)
    assert [bool(scenario.failure) for scenario in result.scenarios] == [True, True]
