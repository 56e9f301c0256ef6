"""Known-bad implementations whose fault takes one order of threads among many: each is found, and told briefly."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from importlib import resources
from pathlib import Path

import pytest

from isolane.conformance.requests import RUNS
from isolane.conformance.requirements import CATALOGUE as REQUIREMENTS
from isolane.conformance.simulation import failures
from isolane.conformance.simulation.replay import Replay
from isolane.conformance.verdict import ExitCode
from isolane.fixtures.known_bad.catalogue import CATALOGUE, SIMULATED, Simulated

EVERY = list(SIMULATED.items())
NAMES = list(SIMULATED)
RULES = {failures.DEADLOCK, failures.LIVELOCK, failures.HELD, failures.LOCKSET, failures.CRASH}
_AN_EVENT = re.compile(r"^ +[0-9.]+s  ", re.MULTILINE)


@pytest.mark.parametrize(("name", "known"), EVERY, ids=NAMES)
def test_each_declares_what_there_is(name: str, known: Simulated) -> None:
    """Rules that there are; and its module begins with its field bugs and a requirement, as the others do.

    One that is judged from outside, too, is the same there.
    """
    outside = CATALOGUE.get(name)
    assert outside is None or (outside.sentence, outside.fb) == (known.sentence, known.fb)
    assert set(known.breaks) <= set(REQUIREMENTS.requirements) | RULES
    source = (resources.files("isolane.fixtures.known_bad") / f"{name}.py").read_text()
    words, _, _ = (ast.get_docstring(ast.parse(source)) or "").partition(":")
    assert set(known.fb) == set(re.findall(r"FB-\d\d", words))
    assert set(known.breaks) >= set(re.findall(r"[A-Z]{3}-\d+", words)) != set()


@pytest.mark.known_bad
@pytest.mark.parametrize(("name", "known"), EVERY, ids=NAMES)
def test_each_is_found(name: str, known: Simulated, tmp_path: Path) -> None:
    """Within 2,000 schedules, by the rule that it breaks; in at most 30 events, which its file tells again."""
    simulate = [sys.executable, "-c", "from isolane.conformance.cli import main; main()", "simulate"]
    found = subprocess.run(
        [*simulate, "--target", f"known-bad/{name}", "--schedules", "2000", "--seed", "0"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert found.returncode == ExitCode.VIOLATES, found.stdout + found.stderr
    assert 0 < len(_AN_EVENT.findall(found.stdout)) <= 30
    assert f"Reproduce: isolane simulate --target known-bad/{name} --seed 0 --schedules 2000\n" in found.stdout
    (path,) = (tmp_path / RUNS / "simulation").iterdir()
    assert Replay.read(path).rule in known.breaks
    again = subprocess.run(
        [*simulate, "--replay", str(path)], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert again.returncode == ExitCode.VIOLATES
    assert again.stdout.strip() in found.stdout
