"""What each change is worth: every cell of the table is computed from its mode's own history."""

from __future__ import annotations

import math
from io import StringIO
from pathlib import Path

import pytest
from rich.console import Console

from isolane.conformance import cli
from isolane.conformance.demo import MODES, Lived
from isolane.conformance.report import worth_table
from isolane.conformance.report.worth_table import worth
from isolane.conformance.selftest.conformance.builders import Story, story
from isolane.conformance.selftest.conformance.results import result
from isolane.conformance.verdict import ExitCode
from isolane.conformance.worth import SCENARIO, TROUBLES, Trouble

TROUBLE = Trouble("slow-sick", "slow", "sick", None)


def made(*, stall: float = 0.0, recovered: float = 2.0) -> Story:
    """Ten seconds of calm, ten of trouble in which the healthy tenant has a stall, and a recovery."""
    told = story(healthy=1)
    told.phase("control", 100)
    told.fault(TROUBLE.name, "sick", 110, 120)
    told.phase(f"heal:{TROUBLE.name}", 120)
    told.phase("drain", 140)
    for number in range(200):
        due = 100 + number / 10
        told.deliver("h0", due, delay=112 + stall - due if 112 <= due < 112 + stall else 0.05)
        told.deliver("sick", due, delay=120 + recovered - due if due >= 110 else 0.05)
    return told


def test_a_cell_says_what_was_kept_and_how_long_recovery_took(tmp_path: Path) -> None:
    """A stall of three seconds costs nothing of the rate over ten, and shows all the same."""
    cell = worth(made(stall=3.0).load(tmp_path), TROUBLE)
    assert cell.kept == pytest.approx(1, abs=0.03)
    assert cell.stall == pytest.approx(3, abs=0.1)
    assert cell.recovery == pytest.approx(2, abs=0.05)
    assert str(cell) == "100 %, 3.0 s, after 2.0 s"


def test_what_never_recovers_says_so(tmp_path: Path) -> None:
    """There is no number for it."""
    told = made()
    told.produce("sick", 115)
    cell = worth(told.load(tmp_path), TROUBLE)
    assert cell.recovery == math.inf
    assert str(cell).endswith("never")


@pytest.mark.parametrize("at", [105, 115])
def test_a_busy_machine_has_no_figures(tmp_path: Path, at: float) -> None:
    """Neither the calm nor the trouble may have been disturbed."""
    told = made()
    told.event(at, "harness", "load_lag", seconds=2.0)
    assert "busy" in str(worth(told.load(tmp_path), TROUBLE))


def test_the_table_is_markdown(tmp_path: Path) -> None:
    """A row for each trouble, a column for each mode, and no line broken."""
    modes = [Lived(mode, made(stall=2.0 * at).load(tmp_path / str(at)), result()) for at, mode in enumerate(MODES)]
    printed = StringIO()
    Console(file=printed, width=200).print(worth_table.table(modes, [TROUBLE]))
    head, rule, row = (line.strip().strip("|").split("|") for line in printed.getvalue().splitlines() if line.strip())
    assert [cell.strip() for cell in head] == ["trouble of one tenant", *(mode.name.lower() for mode in MODES)]
    assert all(set(cell.strip()) <= {"-", ":"} for cell in rule)
    assert [cell.strip() for cell in row] == [
        "slow",
        *(f"100 %, {stall}, after 2.0 s" for stall in ("0.05 s", "2.0 s", "4.0 s")),
    ]


def test_each_trouble_has_a_name_of_its_own() -> None:
    """They are told apart by it in the history; and the scenario judges no isolation: it shows what its lack does."""
    assert len({trouble.name for trouble in TROUBLES}) == len(TROUBLES)
    assert not [each for each in SCENARIO.judges if each.startswith("ISO")]


def test_services_other_than_kafka_are_refused(capsys: pytest.CaptureFixture[str]) -> None:
    """Wrong usage is said before anything is started."""
    assert cli.run(["worth", "--services", "elasticsearch=native"]) == ExitCode.WRONG_USAGE
    assert "elasticsearch" in capsys.readouterr().err
