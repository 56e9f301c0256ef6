"""Isolation in virtual time: the reference isolates, and what decides wrongly is caught, whatever the machine does."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from isolane.conformance.selftest.conformance import virtual_isolation
from isolane.conformance.verdict import Verdict
from isolane.fixtures.known_bad.catalogue import CATALOGUE

DECIDING = (
    "floor_zero",
    "no_resume_after_heal",
    "onset_unguarded",
    "at_risk_share_missing",
    "retries_first",
)
"""Those that change who is sent for, and nothing about threads, connections or what is fetched."""


@pytest.mark.parametrize("scenario", virtual_isolation.SCENARIOS)
def test_the_reference_isolates(scenario: str) -> None:
    """Every requirement that the scenario tries holds where nothing but decisions takes time."""
    found = virtual_isolation.verdicts([scenario])
    assert found
    assert found == dict.fromkeys(found, Verdict.PASS)


@pytest.mark.known_bad
@pytest.mark.parametrize("name", DECIDING)
def test_each_is_caught(name: str) -> None:
    """It fails what it declares, and passes what it declares, of what can be seen here."""
    known = CATALOGUE[name]
    command = [sys.executable, "-m", virtual_isolation.__name__, ",".join(known.scenarios), name]
    found = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    expected = dict.fromkeys(known.fails, Verdict.FAIL) | dict.fromkeys(known.passes, Verdict.PASS)
    assert set(known.fails) & found.keys()
    assert found == found | {each: verdict for each, verdict in expected.items() if each in found}
