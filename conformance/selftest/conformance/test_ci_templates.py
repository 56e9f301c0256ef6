"""The templates for other people's CI do what their documentation says, as a runner would execute them."""

from __future__ import annotations

import os
import re
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml

from isolane.conformance.commands import verify

TEMPLATES = Path(__file__).parents[3] / "docs" / "ci"
README = (TEMPLATES / "README.md").read_text()
ACTION: dict[str, Any] = yaml.safe_load((TEMPLATES / "action.yml").read_text())
JOB: dict[str, Any] = yaml.safe_load((TEMPLATES / "gitlab.yml").read_text())[".isolane"]
STEPS = {step.get("id") or step["uses"].partition("@")[0]: step for step in ACTION["runs"]["steps"]}
ELSEWHERE = {"--quiet", "--implementation"}
"""Options of others: pip's and pytest's."""

PYTHON = r"""#!/bin/sh
if [ "$1 $2" = "-m venv" ]; then
  mkdir -p "$3/bin"
  cp "$0" "$3/bin/python"
  printf '#!/bin/sh\nprintf "%%s\\n" "$@" > "$SAID/pip"\n' > "$3/bin/pip"
  printf '#!/bin/sh\nprintf "%%s\\n" "$@" > "$SAID/isolane"\nenv > "$SAID/env"\n' > "$3/bin/isolane"
  printf 'echo ISO-1 fail; exit "$CODE"\n' >> "$3/bin/isolane"
  chmod +x "$3/bin/pip" "$3/bin/isolane"
else
  echo version=1.2.3
fi
"""
"""A stand-in for Python, whose environments have stand-ins for pip and Isolane; these write down what they are told."""


@dataclass
class Runner:
    """A machine that runs a project's CI.

    Attributes:
        home: Where its files are; stand-ins tell in `home/said` what they were told.
        project: The project's folder, empty but for a file that a * would name.
    """

    home: Path

    def __post_init__(self) -> None:
        """Lay out the machine."""
        for name in ("bin", "said", "temp", "project", "tmp"):
            (self.home / name).mkdir()
        self.project = self.home / "project"
        (self.project / "TEN-2").touch()
        python = self.home / "bin" / "python"
        python.write_text(PYTHON)
        python.chmod(0o755)

    def run(self, text: str, variables: dict[str, str], code: int) -> subprocess.CompletedProcess[str]:
        """Execute a step; the stand-in for Isolane ends with a code."""
        environment = {
            "PATH": f"{self.home / 'bin'}:{os.environ['PATH']}",
            "HOME": str(self.home),
            "TMPDIR": str(self.home / "tmp"),
            "SAID": str(self.home / "said"),
            "CODE": str(code),
            "RUNNER_TEMP": str(self.home / "temp"),
            "GITHUB_OUTPUT": str(self.home / "output"),
            "GITHUB_STEP_SUMMARY": str(self.home / "summary"),
            **variables,
        }
        step = self.home / "step.sh"
        step.write_text(text)
        command = ["bash", "--noprofile", "--norc", "-e", str(step)]
        return subprocess.run(command, cwd=self.project, env=environment, capture_output=True, text=True, check=False)

    def github(self, identifier: str, inputs: dict[str, str], code: int = 0) -> subprocess.CompletedProcess[str]:
        """Execute a step of the action with what it was given; the rest is as the action has it."""
        defaults = {name: str(given.get("default", "")) for name, given in ACTION["inputs"].items()}
        step = STEPS[identifier]
        variables = {
            name: re.sub(r"\$\{\{ inputs\.(\w+) \}\}", lambda found: (defaults | inputs)[found[1]], value)
            for name, value in step["env"].items()
        }
        return self.run(step["run"], variables, code)

    def gitlab(self, variables: dict[str, str], code: int = 0) -> subprocess.CompletedProcess[str]:
        """Execute the job's script with what it was given; the rest is as the template has it."""
        given = {name: str(value) for name, value in JOB["variables"].items()} | variables
        project = {name: value.replace("$CI_PROJECT_DIR", str(self.project)) for name, value in given.items()}
        return self.run("\n".join(JOB["script"]), project, code)

    def told(self, program: str) -> list[str]:
        """What a stand-in was told."""
        return (self.home / "said" / program).read_text().splitlines()


@pytest.fixture
def runner(tmp_path: Path) -> Runner:
    """A machine that runs a project's CI."""
    return Runner(tmp_path)


ASKED = {"implementation": "deploy/my own.toml", "options": "--only TEN-* --allow-known\n--repeat 3", "version": "a==1"}
EXPECTED = ["verify", "deploy/my own.toml", "--depth", "smoke", "--out", "isolane-run"]
EXPECTED += ["--only", "TEN-*", "--allow-known", "--repeat", "3"]


@pytest.mark.parametrize("code", [0, 1, 2])
def test_github_runs_what_it_is_asked_and_ends_with_its_code(code: int, runner: Runner) -> None:
    """Names with spaces stay whole, options are split and no more; the verdict is in the summary."""
    assert runner.github("suite", ASKED).returncode == 0
    assert runner.told("pip") == ["install", "--quiet", "a==1"]
    ran = runner.github("verify", ASKED, code)
    assert (ran.returncode, ran.stdout) == (code, "ISO-1 fail\n")
    assert runner.told("isolane") == EXPECTED
    assert "ISOLANE_CACHE=~/.cache/isolane" in runner.told("env")
    assert (runner.home / "output").read_text() == f"version=1.2.3\nexit-code={code}\n"
    assert (runner.home / "summary").read_text() == "```text\nISO-1 fail\n```\n"


@pytest.mark.parametrize("code", [0, 1, 2])
def test_gitlab_runs_what_it_is_asked_and_ends_with_its_code(code: int, runner: Runner) -> None:
    """As on GitHub."""
    variables = {f"ISOLANE_{name.upper()}": value for name, value in ASKED.items()}
    ran = runner.gitlab(variables, code)
    assert (ran.returncode, ran.stdout) == (code, "ISO-1 fail\n")
    assert runner.told("pip") == ["install", "--quiet", "a==1"]
    assert runner.told("isolane") == EXPECTED
    assert f"ISOLANE_CACHE={runner.project}/.cache/isolane" in runner.told("env")


def test_github_keeps_the_run_and_what_was_fetched_also_when_it_is_red() -> None:
    """What stands after the verdict is done always; the cache is one for each version of the suite."""
    after = ACTION["runs"]["steps"][list(STEPS).index("verify") + 1 :]
    assert [step["uses"].partition("@")[0] for step in after] == ["actions/cache/save", "actions/upload-artifact"]
    assert all(step["if"].startswith("always()") for step in after)
    assert after[1]["with"]["path"].splitlines()[0] == "${{ inputs.out }}"
    assert "${{ steps.suite.outputs.version }}" in STEPS["cache"]["with"]["key"]
    paths = {STEPS[name]["with"]["path"] for name in ("cache", "actions/cache/save")}
    assert paths == {STEPS["verify"]["env"]["ISOLANE_CACHE"]}


def test_gitlab_keeps_the_run_and_what_was_fetched_also_when_it_is_red() -> None:
    """The cache is within the project, where GitLab looks for it; its key holds no slash, with which there is none."""
    assert (JOB["artifacts"]["when"], JOB["artifacts"]["paths"]) == ("always", ["isolane-run"])
    assert JOB["cache"] == {"key": "isolane", "paths": [".cache/isolane"], "when": "always"}
    assert JOB["variables"]["ISOLANE_CACHE"] == "$CI_PROJECT_DIR/.cache/isolane"


def test_no_input_is_pasted_into_a_script() -> None:
    """It would be executed: an input comes by the environment, and is named in the documentation."""
    assert [step["run"] for step in STEPS.values() if "${{" in step.get("run", "")] == []
    assert [name for name in ACTION["inputs"] if f"| `{name}` |" not in README] == []
    assert [name for name in JOB["variables"] if f"| `{name}` |" not in README] == []
    assert [name for name, given in ACTION["inputs"].items() if not given["description"]] == []


@pytest.mark.parametrize("name", ["README.md", "action.yml", "gitlab.yml"])
def test_every_option_exists(name: str) -> None:
    """What is told to be typed can be typed."""
    known = {option for parameter in verify.command.params for option in parameter.opts}
    text = (TEMPLATES / name).read_text()
    told = set(re.findall(r"(?<![\w-])--[a-z][a-z-]+", text))
    assert told
    assert told - known - ELSEWHERE == set()
