"""`isolane replay` runs again what a stored run has run, and says what is different."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from isolane.conformance.commands import replay
from isolane.conformance.engine import Request
from isolane.conformance.report import differing, yaml_report
from isolane.conformance.result import RunResult
from isolane.conformance.running import Options
from isolane.conformance.selftest.conformance.builders import isolated
from isolane.conformance.selftest.conformance.results import DOUBTED, FAILED, result
from isolane.conformance.services import ServiceChoice


class Carried:
    """Stands in for the run itself: remembers what was asked for, and has the result ready."""

    def __init__(self, found: RunResult) -> None:
        """Have this result."""
        self.found = found
        self.asked: Request
        self.choice: ServiceChoice

    def __call__(self, asked: Request, choice: ServiceChoice, options: Options) -> tuple[RunResult, ...]:
        """Take the request."""
        assert options == Options()
        self.asked, self.choice = asked, choice
        return (self.found,)


def replayed(folder: Path, carried: Carried, monkeypatch: pytest.MonkeyPatch) -> Result:
    """Run the command."""
    monkeypatch.setattr(replay, "carry_out", carried)
    arguments = [str(folder), "--out", str(folder / "again")]
    return CliRunner().invoke(replay.command, arguments, standalone_mode=False)


def test_the_same_is_asked_for_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Implementation, depth, requirements, scenarios and seed; the exit code is that of the new run."""
    then = replace(result(FAILED), scope=("ISO-1", "DEL-1"), names=("isolation",))
    yaml_report.write(then, tmp_path / "report.yaml")
    carried = Carried(replace(then, findings=result().findings))
    outcome = replayed(tmp_path, carried, monkeypatch)
    assert outcome.exception is None, outcome.output
    asked = carried.asked
    assert (asked.asked, asked.depth.name, asked.seed) == ("reference", "smoke", 7)
    assert (asked.scope, asked.names) == (("ISO-1", "DEL-1"), ("isolation",))
    assert outcome.return_value == 0
    assert "ISO-1: fail then, pass now" in outcome.output


def test_a_run_on_real_nodes_is_replayed_on_real_nodes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What the clusters were belongs to what was run."""
    yaml_report.write(replace(result(), clusters="native"), tmp_path / "report.yaml")
    carried = Carried(result())
    replayed(tmp_path, carried, monkeypatch)
    assert (carried.choice.elasticsearch, carried.asked.clusters) == ("native", "native")


def test_an_implementation_that_is_gone_is_wrong_usage(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The message names the descriptor."""
    gone = replace(result().implementation, descriptor="gone/own.toml")
    yaml_report.write(replace(result(), implementation=gone), tmp_path / "report.yaml")
    assert "gone/own.toml" in str(replayed(tmp_path, Carried(result()), monkeypatch).exception)


def test_a_scenario_by_itself_is_replayed_by_itself(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its folder says which scenario it is; here one that this version does not know."""
    made = isolated()
    made.meta["implementation"] = "reference"
    outcome = replayed(made.write(tmp_path / "handmade"), Carried(result()), monkeypatch)
    assert "--scenario: 'handmade'" in str(outcome.exception)


def test_what_is_the_same_is_said_in_one_line() -> None:
    """All verdicts, whatever they are."""
    (line,) = differing.lines(result(FAILED), result(FAILED))
    assert line == f"The verdicts on all {len(result().outcomes)} requirements are the same as then."


def test_what_has_changed_is_told() -> None:
    """The suite, the descriptor, and each verdict with its reason now."""
    then = replace(result(), suite="0.0.1")
    changed = replace(result().implementation, descriptor_hash="b" * 64)
    now = replace(result(FAILED, DOUBTED), suite="0.0.2", implementation=changed)
    assert list(differing.lines(then, now)) == [
        "The suite was version 0.0.1 then, and is 0.0.2 now.",
        "The descriptor has changed since: its hash was abc123, and is bbbbbbbbbbbb.",
        "ISO-1: pass then, fail now: healthy tenant b: its p99 delay was endless",
        "ISO-3: pass then, inconclusive now: the fault did not bite",
    ]
