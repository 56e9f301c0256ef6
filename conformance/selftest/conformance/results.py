"""A handmade result of a run, to be reported."""

from __future__ import annotations

import math
from dataclasses import replace

from isolane.conformance.result import Implementation, RunResult, ScenarioRun
from isolane.conformance.verdict import HARNESS, Figure, Finding, Verdict

TOKEN = "isotok" + "0" * 24
STORY = (f"{TOKEN} = t/0@7, 1 item, tenant b", "   +0.000 s  acknowledged by Kafka", "   +9.000 s  never accepted")

PASSED = Finding("DEL-1", "isolation", Verdict.PASS, "every record was accepted", figures={"produced": Figure(1200)})
FAILED = Finding(
    "ISO-1",
    "isolation",
    Verdict.FAIL,
    "healthy tenant b: its p99 delay was endless",
    case="fault:slow",
    figures={"p99 delay": Figure(math.inf, "s", "≤ 0.6"), "Jain's index": Figure(0.5, "", "≥ 0.95")},
    evidence=(TOKEN,),
    story=STORY,
)
DOUBTED = Finding("ISO-3", "isolation", Verdict.INCONCLUSIVE, "the fault did not bite", case="fault:pushback-429")
STARVED = Finding(HARNESS, "isolation", Verdict.INCONCLUSIVE, "the harness was starved in drain")


def result(*findings: Finding) -> RunResult:
    """A run of two scenarios; everything that is not given passed."""
    given = {finding.requirement for finding in findings}
    passed = [
        replace(PASSED, requirement=identifier, scenario=scenario)
        for scenario, identifiers in (("isolation", ("ISO-1", "ISO-3", "DEL-1")), ("crash", ("DEL-1",)))
        for identifier in identifiers
        if identifier not in given
    ]
    return RunResult(
        implementation=Implementation("reference", "1.2.3", "reference", "abc123", ("many_sick_tenants",)),
        depth="smoke",
        seed=7,
        started="2026-01-02T03:04:05+00:00",
        seconds=42.5,
        scenarios=(
            ScenarioRun("isolation", "isolation", ("ISO-1", "ISO-3", "DEL-1", "LIM-1"), 30.0),
            ScenarioRun("crash", "crash", ("DEL-1",), 12.5),
        ),
        findings=(*findings, *passed),
        bounds={"workers": 16, "commit_interval": 1.0},
        services={"kafka": "native 4.1.1"},
        machine={"system": "Linux", "cores": 2},
    )
