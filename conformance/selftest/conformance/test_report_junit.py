"""junit.xml tells a CI system what is red, what is in doubt, and what is skipped."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree as ET

from isolane.conformance.report import junit
from isolane.conformance.result import RunResult
from isolane.conformance.selftest.conformance.results import DOUBTED, FAILED, PASSED, TOKEN, result
from isolane.conformance.verdict import Finding, Verdict


def written(run: RunResult, folder: Path) -> ET.Element:
    """The report, parsed again."""
    junit.write(run, folder / "junit.xml")
    return ET.parse(folder / "junit.xml").getroot()  # noqa: S314 - written one line above


def cases(root: ET.Element, scenario: str) -> dict[str, str]:
    """What became of each test case of a scenario: the tag of its outcome, or `passed`."""
    suite = root.find(f"testsuite[@name='{scenario}']")
    assert suite is not None
    found = {}
    for case in suite.iter("testcase"):
        tags = [child.tag for child in case if child.tag != "properties"]
        found[case.attrib["name"]] = tags[0] if tags else "passed"
    return found


def test_there_is_a_case_for_each_requirement_and_scenario_that_declares_it(tmp_path: Path) -> None:
    """Violations fail, doubts are errors, unclaimed features are skipped."""
    root = written(result(FAILED, DOUBTED), tmp_path)
    assert cases(root, "isolation") == {"ISO-1": "failure", "ISO-3": "error", "LIM-1": "skipped", "DEL-1": "passed"}
    assert cases(root, "crash") == {"DEL-1": "passed"}


def test_notes_on_the_implementation_are_properties_of_each_suite(tmp_path: Path) -> None:
    """A CI system shows them beside the results."""
    noted = replace(result(), implementation=replace(result().implementation, notes=("its exporter is a stand-in",)))
    suites = written(noted, tmp_path).findall("testsuite")
    notes = [[each.attrib for each in suite.findall("properties/property")] for suite in suites]
    assert notes == [[{"name": "note", "value": "its exporter is a stand-in"}]] * 2


def test_the_counts_of_a_suite_are_those_of_its_cases(tmp_path: Path) -> None:
    """CI systems believe the attributes."""
    suite = written(result(FAILED, DOUBTED), tmp_path).find("testsuite[@name='isolation']")
    assert suite is not None
    counts = {name: suite.attrib[name] for name in ("tests", "failures", "errors", "skipped")}
    assert counts == {"tests": "4", "failures": "1", "errors": "1", "skipped": "1"}
    assert suite.attrib["time"] == "30.000"


def test_a_failure_carries_the_story_and_the_reproduce_line(tmp_path: Path) -> None:
    """And its figures as properties."""
    root = written(result(FAILED), tmp_path)
    failure = root.find(".//testcase[@name='ISO-1']/failure")
    assert failure is not None
    assert failure.attrib["message"] == FAILED.summary
    assert failure.text is not None
    assert TOKEN in failure.text
    assert failure.text.endswith("reproduce: isolane verify reference --depth smoke --seed 7 --only ISO-1")
    figures = {each.attrib["name"]: each.attrib["value"] for each in root.iter("property")}
    assert figures["fault:slow: p99 delay"] == "endless (≤ 0.6)"


def test_a_violation_where_nobody_looked_for_it_fails_there(tmp_path: Path) -> None:
    """A scenario that does not declare a requirement has a case for it only then."""
    root = written(result(replace(FAILED, scenario="crash")), tmp_path)
    assert cases(root, "crash")["ISO-1"] == "failure"
    passed = written(replace(result(), findings=(replace(PASSED, requirement="OFF-1", scenario="crash"),)), tmp_path)
    assert "OFF-1" not in cases(passed, "crash")


def test_a_scenario_that_was_not_run_makes_its_cases_errors_with_the_reason(tmp_path: Path) -> None:
    """Nothing is green that was not tried."""
    whole = result()
    run = replace(whole, scenarios=(replace(whole.scenarios[1], failure="no canary came through"),), findings=())
    error = written(run, tmp_path).find(".//testcase[@name='DEL-1']/error")
    assert error is not None
    assert error.attrib["message"] == "no canary came through"


def test_a_should_that_is_broken_is_reported_and_does_not_fail(tmp_path: Path) -> None:
    """It is skipped, with its summary."""
    whole = result()
    scenario = replace(whole.scenarios[1], judges=("DEL-8",))
    many = Finding("DEL-8", "crash", Verdict.FAIL, "many duplicates")
    root = written(replace(whole, scenarios=(scenario,), findings=(many,)), tmp_path)
    skipped = root.find(".//testcase[@name='DEL-8']/skipped")
    assert skipped is not None
    assert skipped.attrib["message"] == "many duplicates"


def test_only_what_was_asked_for_has_cases(tmp_path: Path) -> None:
    """With --only."""
    assert cases(written(replace(result(), scope=("ISO-1",)), tmp_path), "isolation") == {"ISO-1": "passed"}


def test_characters_that_xml_cannot_hold_do_not_spoil_the_report(tmp_path: Path) -> None:
    """Messages may quote an implementation's output."""
    root = written(result(replace(FAILED, summary="broken \x1b[31m\x00")), tmp_path)
    failure = root.find(".//testcase[@name='ISO-1']/failure")
    assert failure is not None
    assert failure.attrib["message"] == "broken \ufffd[31m\ufffd"
