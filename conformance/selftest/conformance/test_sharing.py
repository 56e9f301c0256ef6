"""A run that several processes share: what measures time is lived alone, and what all found is one result."""

from __future__ import annotations

import threading
from dataclasses import replace
from pathlib import Path

from isolane.conformance.scenarios.catalogue import SCENARIOS
from isolane.conformance.scenarios.model import Scenario
from isolane.conformance.selftest.conformance.results import DOUBTED, FAILED, result
from isolane.conformance.sharing import TIMED, group_of, is_timed, merged, packed, turn

BY_NAME = {scenario.name: scenario for scenario in SCENARIOS}
ISOLATION, CRASH, RECORDS = BY_NAME["isolation"], BY_NAME["crash"], BY_NAME["records"]


def test_what_measures_time_stays_with_one_worker() -> None:
    """Isolation, limiter and memory; every other scenario is a group of its own, and lived once."""
    assert {group_of(each) for each in SCENARIOS if is_timed(each)} == {TIMED}
    assert {each.name for each in SCENARIOS if is_timed(each)} >= {"isolation", "limiter", "memory", "one_sick"}
    assert group_of(CRASH) != group_of(RECORDS)
    assert not is_timed(CRASH)


def beside(folder: Path, first: Scenario, second: Scenario) -> bool:
    """Whether the second may be lived while the first is."""
    began = threading.Event()

    def live() -> None:
        with turn(folder, second):
            began.set()

    thread = threading.Thread(target=live)
    with turn(folder, first):
        thread.start()
        together = began.wait(0.3)
    thread.join()
    assert began.is_set()
    return together


def test_what_measures_time_is_lived_alone(tmp_path: Path) -> None:
    """Whoever comes second waits; what measures no time waits for nothing of its kind."""
    assert beside(tmp_path, CRASH, RECORDS)
    assert not beside(tmp_path, ISOLATION, CRASH)
    assert not beside(tmp_path, CRASH, ISOLATION)


def test_what_workers_found_is_one_result() -> None:
    """As if one process had found it all; endless delays survive the way."""
    whole = result(FAILED, DOUBTED)
    parts = [
        replace(
            whole,
            scenarios=(scenario,),
            findings=tuple(each for each in whole.findings if each.scenario == scenario.name),
        )
        for scenario in whole.scenarios
    ]
    assert merged([packed(part) for part in parts]) == replace(
        whole, findings=tuple(finding for part in parts for finding in part.findings)
    )


def test_without_workers_there_is_nothing() -> None:
    """None has begun."""
    assert merged([]) is None
