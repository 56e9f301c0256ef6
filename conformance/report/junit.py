"""``junit.xml``: one test case for each requirement that a scenario declares to judge, for CI systems.

A violation is a *failure*; what could not be judged is an *error*, since it is not green; a feature that is not claimed
is *skipped*. A violation of a SHOULD is skipped with its summary: it is reported, never required. A violation seen in a
scenario that did not declare to judge the requirement is a failure there.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from xml.etree import ElementTree as ET

from isolane.conformance.requirements import CATALOGUE
from isolane.conformance.result import RunResult, ScenarioRun
from isolane.conformance.verdict import Finding, Outcome, Verdict, combine

NAME = "junit.xml"

_ILLEGAL = {code: "\ufffd" for code in range(32) if chr(code) not in "\t\n\r"} | {0xFFFE: "\ufffd", 0xFFFF: "\ufffd"}
"""Characters that XML cannot hold."""


def write(result: RunResult, path: Path) -> None:
    """Write the report.

    Raises:
        OSError: It cannot be written.
    """
    root = ET.Element("testsuites", name=f"isolane {result.implementation.name}", time=f"{result.seconds:.3f}")
    for scenario in result.scenarios:
        _suite(root, result, scenario)
        _notes(root[-1], result.implementation.notes)
    ET.indent(root)
    ET.ElementTree(root).write(path, encoding="utf-8", xml_declaration=True)


def _notes(suite: ET.Element, notes: Sequence[str]) -> None:
    if notes:
        properties = ET.Element("properties")
        for note in notes:
            ET.SubElement(properties, "property", name="note", value=note.translate(_ILLEGAL))
        suite.insert(0, properties)


def _suite(root: ET.Element, result: RunResult, scenario: ScenarioRun) -> None:
    own = [finding for finding in result.findings if finding.scenario == scenario.name]
    suite = ET.SubElement(root, "testsuite", name=scenario.name, time=f"{scenario.seconds:.3f}")
    for requirement in CATALOGUE.requirements.values():
        if result.scope and requirement.id not in result.scope:
            continue
        declared = [scenario.name] if requirement.id in scenario.judges else []
        outcome = combine(requirement, own, declared, result.implementation.features)
        if declared or outcome.violates:
            _case(suite, result, scenario, outcome)
    kinds = {"tests": "testcase", "failures": "failure", "errors": "error", "skipped": "skipped"}
    for count, tag in kinds.items():
        suite.set(count, str(sum(1 for _ in suite.iter(tag))))


def _case(suite: ET.Element, result: RunResult, scenario: ScenarioRun, outcome: Outcome) -> None:
    identifier = outcome.requirement.id
    profile = CATALOGUE.profile_of(outcome.requirement)
    case = ET.SubElement(suite, "testcase", classname=f"{profile}.{scenario.name}", name=identifier)
    if outcome.findings:
        properties = ET.SubElement(case, "properties")
        for finding in outcome.findings:
            _figures(properties, finding)
    tag = _tag(outcome)
    if tag is not None:
        reason = scenario.failure if outcome.verdict is Verdict.INCONCLUSIVE and scenario.failure else outcome.reason
        ET.SubElement(case, tag, message=_clean(reason)).text = _clean(_detail(result, outcome))


def _tag(outcome: Outcome) -> str | None:
    if outcome.verdict is Verdict.FAIL:
        return "failure" if outcome.violates else "skipped"
    return {Verdict.INCONCLUSIVE: "error", Verdict.NOT_CLAIMED: "skipped"}.get(outcome.verdict)


def _figures(properties: ET.Element, finding: Finding) -> None:
    prefix = f"{finding.case}: " if finding.case else ""
    for name, figure in finding.figures.items():
        ET.SubElement(properties, "property", name=_clean(prefix + name), value=_clean(str(figure)))


def _detail(result: RunResult, outcome: Outcome) -> str:
    lines = []
    for finding in outcome.findings:
        if finding.verdict is outcome.verdict:
            lines += [f"{finding.case}: {finding.summary}" if finding.case else finding.summary, *finding.story]
    return "\n".join([*lines, f"reproduce: {result.reproduce(outcome.requirement.id)}"])


def _clean(text: str) -> str:
    return text.translate(_ILLEGAL)
