"""The known-bad limiters in virtual time: caught as declared, whatever the machine is doing."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from isolane.conformance.selftest.conformance import virtual
from isolane.conformance.verdict import Verdict
from isolane.fixtures.known_bad.catalogue import CATALOGUE, KnownBad

LIMITERS = {name: known for name, known in CATALOGUE.items() if known.scenarios == ("limiter",)}


def test_the_reference_conforms(tmp_path: Path) -> None:
    """LIM-1 to LIM-8 pass, so that what follows is the changes' doing."""
    found = virtual.verdicts(virtual.lived(tmp_path / "limiter"))
    assert found == {f"LIM-{number}": Verdict.PASS for number in range(1, 9)}


@pytest.mark.known_bad
@pytest.mark.parametrize(("name", "known"), LIMITERS.items(), ids=LIMITERS)
def test_each_is_caught(name: str, known: KnownBad) -> None:
    """It fails what it declares, and passes what it declares."""
    run = subprocess.run([sys.executable, "-m", virtual.__name__, name], check=True, capture_output=True, text=True)
    found = json.loads(run.stdout)
    expected = dict.fromkeys(known.fails, Verdict.FAIL) | dict.fromkeys(known.passes, Verdict.PASS)
    assert found == found | {each: verdict for each, verdict in expected.items() if each in found}
