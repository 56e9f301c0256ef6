"""With all clusters dead the reference's memory comes to rest where docs/memory.md says."""

from __future__ import annotations

from pathlib import Path

import pytest

from isolane.conformance import cli
from isolane.conformance.checkers import plateau
from isolane.conformance.history import History
from isolane.conformance.report import yaml_report
from isolane.conformance.scenarios import memory
from isolane.conformance.verdict import Verdict
from isolane.fixtures.implementations import descriptor
from isolane.fixtures.implementations.descriptor import Descriptor

KIB, MIB = 1024, 1024**2
BASE, THREAD, SHARE, RECORD, FETCH = 70 * MIB, 0.1 * MIB, 1.3, 1.3 * KIB, 256 * KIB

WITHIN = 0.2
"""How far the plateau may be from the formula."""


def formula(adapted: Descriptor) -> float:
    """Resident bytes with all clusters dead: half of the budget is held then, and one fetch."""
    budget = adapted.limits.process_bytes
    assert budget is not None
    partitions = sum(tenant.partitions for tenant in memory.shape(adapted).tenants)
    held = budget / 2 + FETCH
    return BASE + THREAD * (partitions + adapted.limits.workers) + SHARE * held + RECORD * held / memory.RECORD


@pytest.mark.nightly
def test_memory_comes_to_rest_where_the_formula_says(tmp_path: Path) -> None:
    """MEM-4: it is flat for five minutes, and the same after a second fault."""
    folder = tmp_path / "run"
    cli.run(["verify", "reference", "--depth", "soak", "--scenario", memory.LONG.name, "--out", str(folder)])
    result = yaml_report.read(folder / yaml_report.NAME)
    (verdict,) = [each.verdict for each in result.outcomes if each.requirement.id == "MEM-4"]
    assert verdict is Verdict.PASS
    history = History.load(folder / memory.LONG.name)
    expected = formula(memory.adapt(descriptor.find("reference")))
    for phase in history.phases:
        if phase.name in {plateau.MANY, plateau.AGAIN}:
            found = plateau.plateau_of(history, phase)
            assert found is not None
            assert found.last == pytest.approx(expected, rel=WITHIN), phase.name
