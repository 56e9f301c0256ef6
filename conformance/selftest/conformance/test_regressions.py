"""What is known may be excused, where that is asked for; nothing else is, and what is known wrongly is an error."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest

from isolane.conformance import cli
from isolane.conformance.regressions import excused, lines
from isolane.conformance.report import repeats, yaml_report
from isolane.conformance.requests import RequestError, request
from isolane.conformance.result import Deviation, RunResult
from isolane.conformance.running import exit_code
from isolane.conformance.selftest.conformance.results import DOUBTED, FAILED, PASSED, result
from isolane.conformance.verdict import ExitCode, Finding, Verdict

LOST = replace(PASSED, verdict=Verdict.FAIL, summary="records lost: 3")


def known(*findings: Finding, identifier: str = "ISO-1") -> RunResult:
    """A result of an implementation that is known to break a requirement."""
    who = replace(result().implementation, deviations=(Deviation(identifier, "one queue for all", "#7"),))
    return replace(result(*findings), implementation=who)


def test_a_known_deviation_stays_red() -> None:
    """Unless it is said that it does not count; then the headline names it, and does not say that it conforms."""
    assert excused(known(FAILED)).exit_code is ExitCode.VIOLATES
    allowed = excused(known(FAILED), allow_known=True)
    assert allowed.exit_code is ExitCode.CONFORMS
    assert "violates only what is known (ISO-1) at depth smoke" in allowed.headline
    assert list(lines(allowed, None)) == [
        "ISO-1 is violated, and does not count: known deviation: one queue for all",
    ]


def test_another_violation_counts() -> None:
    """What is not named is not excused."""
    assert excused(known(FAILED, LOST), allow_known=True).exit_code is ExitCode.VIOLATES


@pytest.mark.parametrize("allow_known", [True, False])
def test_a_known_deviation_that_passes_is_an_error(*, allow_known: bool) -> None:
    """The descriptor says what is not so; a violation of something else is told first."""
    found = excused(known(), allow_known=allow_known)
    assert found.exit_code is ExitCode.WRONG_USAGE
    assert list(lines(found, None)) == [
        "ISO-1 is a known deviation in the descriptor (one queue for all), and passed: take it out",
    ]
    assert excused(known(LOST), allow_known=allow_known).exit_code is ExitCode.VIOLATES


def test_a_known_deviation_that_could_not_be_judged_is_neither() -> None:
    """It has not passed, and it has not been seen."""
    doubted = excused(known(DOUBTED, identifier="ISO-3"), allow_known=True)
    assert doubted.exit_code is ExitCode.INCONCLUSIVE
    assert list(lines(doubted, None)) == []


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('[[known_deviation]]\nid = "ISO-99"\nreason = "x"\n', "known_deviation.0.id: no requirement 'ISO-99'; did"),
        ('[[known_deviation]]\nid = "iso-1"\nreason = "x"\n', "known_deviation.0.id: 'iso-1': allowed here: ISO-1"),
        ("[features]\nadaptive_limit = true\n", "features.adaptive_limit: unknown feature; did you"),
        ("[features]\nspeed = false\n", "features.speed: unknown feature (allowed: many_sick_tenants, "),
    ],
)
def test_a_descriptor_names_what_the_catalogue_has(tmp_path: Path, text: str, message: str) -> None:
    """Anything else would never excuse or claim anything."""
    (tmp_path / "own.j2").touch()
    descriptor = tmp_path / "own.toml"
    descriptor.write_text(
        'schema = 1\nimplementation = {name = "own", version = "1"}\nrun = {start = ["own"]}\nlimits = {workers = 1}\n'
        f'config = {{template = "own.j2", path = "own.conf"}}\n{text}'
    )
    with pytest.raises(RequestError, match=re.escape(f"{descriptor}: {message}")):
        request(str(descriptor), out=tmp_path / "run")


def test_a_baseline_excuses_what_failed_in_it_already() -> None:
    """Only that: what passed in it, or was not judged, is a regression."""
    assert excused(result(FAILED), baseline=result(FAILED)).exit_code is ExitCode.CONFORMS
    regressed = excused(result(FAILED, LOST), baseline=result(FAILED))
    assert regressed.exit_code is ExitCode.VIOLATES
    assert list(lines(regressed, result(FAILED))) == [
        "ISO-1 is violated, and does not count: failed in the baseline, too",
        "DEL-1 is a regression: pass in the baseline, fail now",
    ]
    unjudged = replace(result(), scenarios=result().scenarios[1:], findings=result().findings[-1:])
    assert excused(result(FAILED), baseline=unjudged).exit_code is ExitCode.VIOLATES


def test_a_baseline_does_not_excuse_doubts() -> None:
    """What cannot be judged any more is not green."""
    assert excused(result(DOUBTED), baseline=result(DOUBTED)).exit_code is ExitCode.INCONCLUSIVE


def test_what_is_better_than_the_baseline_is_said() -> None:
    """So that it is renewed; and so is what passed, and is not judged any more."""
    less = replace(result(), scenarios=result().scenarios[1:])
    assert list(lines(result(), result(FAILED))) == ["ISO-1 failed in the baseline, and passes now: renew the baseline"]
    assert "ISO-1 passed in the baseline, and is not judged now" in list(lines(less, result()))


def test_an_excused_result_is_read_back_with_its_reasons(tmp_path: Path) -> None:
    """An archived report says what did not count."""
    found = excused(known(FAILED), allow_known=True)
    yaml_report.write(found, tmp_path / "report.yaml")
    assert yaml_report.read(tmp_path / "report.yaml") == found


def test_a_baseline_that_cannot_be_read_is_wrong_usage(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Before anything is started."""
    arguments = ["verify", "reference", "--baseline", str(tmp_path), "--out", str(tmp_path / "out")]
    assert cli.run(arguments) == ExitCode.WRONG_USAGE
    assert "report.yaml cannot be read" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


def test_a_baseline_of_another_implementation_is_wrong_usage(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Both are named, and nothing is started: what another one violates excuses nothing."""
    yaml_report.write(result(), tmp_path / "report.yaml")
    arguments = ["verify", "one-at-a-time", "--baseline", str(tmp_path), "--out", str(tmp_path / "out")]
    assert cli.run(arguments) == ExitCode.WRONG_USAGE
    message = "--baseline: this is a report of 'reference'; allowed here: one of 'one-at-a-time'"
    assert message in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


def test_a_baseline_of_another_version_is_taken(tmp_path: Path) -> None:
    """What a new version does worse than the one before is what a baseline is for."""
    older = replace(result().implementation, version="0.0.1", descriptor="../elsewhere/isolane.toml")
    asked = request("reference", out=tmp_path / "out", baseline=replace(result(), implementation=older))
    assert asked.descriptor.name == "reference"


@pytest.mark.parametrize(
    ("results", "expected"),
    [
        ((result(), result()), ExitCode.CONFORMS),
        ((result(), result(DOUBTED)), ExitCode.INCONCLUSIVE),
        ((result(DOUBTED), result(FAILED), result()), ExitCode.VIOLATES),
    ],
)
def test_the_worst_of_several_runs_counts(results: tuple[RunResult, ...], expected: ExitCode) -> None:
    """No repetition turns red into green."""
    assert exit_code(results) is expected


def test_repeats_are_counted_by_requirement() -> None:
    """K of N, for every verdict that was given; what was never judged is left out."""
    counts = repeats.counted([result(), result(FAILED), result(FAILED, DOUBTED)])
    assert counts["ISO-1"] == {Verdict.PASS: 1, Verdict.FAIL: 2}
    assert counts["ISO-3"] == {Verdict.PASS: 2, Verdict.INCONCLUSIVE: 1}
    assert "ISO-5" not in counts
    made = repeats.table([result(), result(FAILED)])
    assert list(made.columns[2].cells) == ["1 of 2", "", ""]
