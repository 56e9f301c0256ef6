"""A history that was damaged after its run is refused: what is missing in it must make no verdict."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from typing import cast

import pytest

from isolane.conformance import engine, history_seal
from isolane.conformance.cli import run
from isolane.conformance.history import History
from isolane.conformance.history_files import DamagedHistoryError
from isolane.conformance.opening import Services
from isolane.conformance.recording import Clusters
from isolane.conformance.requests import request
from isolane.conformance.selftest.conformance.builders import isolated


def sealed(folder: Path) -> Path:
    """A sane history, sealed."""
    made = isolated()
    made.output.append("ready")
    made.write(folder)
    history_seal.write(folder)
    return folder


def unlink(path: Path) -> None:
    """Lose a file."""
    path.unlink()


def halve(path: Path) -> None:
    """Lose the second half of a file, between two lines."""
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join(lines[: len(lines) // 2]))


def garble(path: Path) -> None:
    """Keep its length, and nothing else."""
    path.write_bytes(path.read_bytes()[::-1])


def test_a_whole_history_is_read(tmp_path: Path) -> None:
    """The seal is no obstacle to it."""
    assert History.load(sealed(tmp_path / "h")).produced


@pytest.mark.parametrize("name", ["produced", "attempts", "commits", "events"])
@pytest.mark.parametrize(
    ("damage", "said"),
    [(unlink, "No such file"), (halve, "when the run ended"), (garble, "its content has changed since the run ended")],
)
def test_a_damaged_file_is_named(tmp_path: Path, name: str, damage: Callable[[Path], None], said: str) -> None:
    """Lost, cut short, or of the same length with something else in it."""
    folder = sealed(tmp_path / "h")
    damage(folder / f"{name}.ndjson")
    with pytest.raises(DamagedHistoryError, match=rf"{name}\.ndjson: .*{said}"):
        History.load(folder)


def test_the_members_output_is_sealed_too(tmp_path: Path) -> None:
    """Credentials are looked for in it, and names of topics that nobody owns."""
    folder = sealed(tmp_path / "h")
    next(folder.glob("member-*.log")).unlink()
    with pytest.raises(DamagedHistoryError, match=r"member-.*\.log"):
        History.load(folder)


def test_a_file_that_came_later_is_named(tmp_path: Path) -> None:
    """Nobody knows whose it is."""
    folder = sealed(tmp_path / "h")
    (folder / "member-9.log").write_text("hello\n")
    with pytest.raises(DamagedHistoryError, match=r"member-9\.log: it was not there when the run ended"):
        History.load(folder)


@pytest.mark.parametrize("content", [b"", b"\xff\xfe", b"[]", b'{"schema": 2, "files": {}}'])
def test_a_seal_that_is_none_is_refused(tmp_path: Path, content: bytes) -> None:
    """It may have been damaged with the rest."""
    folder = sealed(tmp_path / "h")
    (folder / "seal.json").write_bytes(content)
    with pytest.raises(DamagedHistoryError, match=r"seal\.json: no seal of a history"):
        History.load(folder)


def test_damage_is_wrong_usage_and_no_violation(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Without the clusters' ledger all that was committed would look lost."""
    folder = sealed(tmp_path / "h")
    (folder / "attempts.ndjson").write_bytes(b"")
    assert run(["check", str(folder)]) == 4
    assert "attempts.ndjson: it has 0 bytes; it had" in capsys.readouterr().err


def test_a_run_seals_what_it_leaves(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """When nothing is written to it any more."""

    def opened(_plan: object, _descriptor: object, _services: object, folder: Path, _: object) -> nullcontext[None]:
        isolated().write(folder)
        return nullcontext()

    monkeypatch.setattr(engine, "opened", opened)
    asked = request("reference", out=tmp_path / "run")
    scenario = replace(asked.scenarios[0], story=lambda _world, _depth: None)
    engine.Run(asked, Services("", cast("Clusters", None)), lambda _: None).live(scenario)
    assert (asked.folder / scenario.name / "seal.json").exists()
