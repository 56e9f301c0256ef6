"""What is installed works by itself: in an empty folder, from the wheel alone, without the repository."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import venv
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
COMMAND = "from isolane.conformance.cli import main; main()"

pytestmark = pytest.mark.skipif(not (ROOT / "pyproject.toml").exists(), reason="there is nothing to build a wheel of")


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel, built of a copy of the repository: a build leaves things behind."""
    folder = tmp_path_factory.mktemp("wheel")
    source = folder / "source"
    shutil.copytree(ROOT, source, ignore=shutil.ignore_patterns(".*", "build", "*.egg-info", "__pycache__", "docs"))
    options = ["--verbose", "--no-deps", "--no-build-isolation", "--wheel-dir", str(folder)]
    said = run([sys.executable, "-m", "pip", "wheel", *options, str(source)], folder)
    assert "Warning" not in said
    (built,) = folder.glob("isolane-*.whl")
    return built


def run(command: list[str], cwd: Path, **env: str) -> str:
    """Run a command; what it printed. The test fails with that when the command does."""
    done = subprocess.run(
        command,
        cwd=cwd,
        env={**os.environ, **env},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout
    return done.stdout


def test_everything_that_commands_need_is_in_the_wheel(wheel: Path, tmp_path: Path) -> None:
    """Catalogue, descriptors, templates, known-bad and the page; the repository is not on the path."""
    installed, empty = tmp_path / "installed", tmp_path / "empty"
    empty.mkdir()
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--target", str(installed), str(wheel)]
    run(pip, empty)

    def isolane(*arguments: str) -> str:
        return run([sys.executable, "-c", COMMAND, *arguments], empty, PYTHONPATH=str(installed))

    assert "isolation holds" in isolane("explain", "ISO-1")
    assert "otelcol-defaults" in isolane("implementations")
    assert "isolane conformance report" in isolane("report-schema")
    assert "wrote mine.toml" in isolane("init")
    assert "pages to pages" in isolane("explain", "--pages", "pages")
    module = "import isolane.conformance.report.page as page"
    shown = f"{module}; print(page.__file__, len(page.render(page.Page('', '', ()))))"
    file, size = run([sys.executable, "-c", shown], empty, PYTHONPATH=str(installed)).split()
    assert Path(file).is_relative_to(installed)
    assert int(size) > 1_000_000


@pytest.mark.nightly
def test_a_fresh_environment_verifies(wheel: Path, tmp_path: Path) -> None:
    """Installed with all that it depends on, it judges the reference at smoke depth, and as a pytest plugin."""
    venv.create(tmp_path / "venv", with_pip=True)
    binaries = tmp_path / "venv" / "bin"
    run([str(binaries / "pip"), "install", "--quiet", str(wheel)], tmp_path)
    said = run([str(binaries / "isolane"), "verify", "reference", "--profile", "delivery", "--out", "run"], tmp_path)
    assert "conforms at depth smoke" in said
    assert (tmp_path / "run" / "report.html").exists()
    collected = run([str(binaries / "pytest"), "--implementation", "reference", "--collect-only", "-q"], tmp_path)
    assert "isolation-ISO-1" in collected
