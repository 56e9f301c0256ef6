"""Faults are numbered in the plots, and a table says what the numbers stand for."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from isolane.conformance.report import fault_table, scenario_section
from isolane.conformance.report.tables import Table
from isolane.conformance.selftest.conformance.builders import Story, isolated


def table_of(made: Story, folder: Path) -> Table:
    """The table of a history's faults."""
    history = made.load(folder)
    (table,) = fault_table.tables(history, scenario_section.view_of(history))
    return table


def test_the_same_fault_at_several_clusters_at_once_is_one(tmp_path: Path) -> None:
    """They are told one after the other, within a moment; one that begins later is another."""
    made = isolated(healthy=3)
    made.fault("slow", "h0", 110.2, 120.4)
    made.fault("slow", "h1", 112, 120)
    made.fault("gone", "h2", 110, 120)
    table = table_of(made, tmp_path)
    assert [row[:4] for row in table.rows] == [
        ("1", "slow", "10.0 to 20.4\N{NO-BREAK SPACE}s", "sick, h0"),
        ("2", "gone", "10.0 to 20.0\N{NO-BREAK SPACE}s", "h2"),
        ("3", "slow", "12.0 to 20.0\N{NO-BREAK SPACE}s", "h1"),
    ]
    history = made.load(tmp_path / "again")
    shades = [each.shade for each in fault_table.numbered(history, scenario_section.view_of(history))]
    assert [(shade.began, shade.ended, shade.label) for shade in shades] == [
        (10, 20.4, "1"),
        (10, 20, "2"),
        (12, 20, "3"),
    ]


def test_many_tenants_are_counted(tmp_path: Path) -> None:
    """Forty rows, or forty names, say less."""
    made = isolated(healthy=9)
    for number in range(9):
        made.fault("slow", f"h{number}", 110 + number / 100, 120)
    assert table_of(made, tmp_path).rows[0][3] == "10 tenants"


@pytest.mark.parametrize(
    ("script", "words"),
    [
        ({"black_hole": True}, "black hole"),
        ({"latency": 5.0, "status": 503}, "latency 5, status 503"),
        ({"items": [429, 201]}, "items (429; 201)"),
        ({"trickle": {"size": 8, "interval": 0.5}}, "trickle (size 8, interval 0.5)"),
        (
            {"layers": [{"status": 429}, {"when": {"every": 2}, "status": 503}]},
            "layers (status 429; when (every 2), status 503)",
        ),
    ],
)
def test_what_a_cluster_was_told_is_in_words(script: dict[str, Any], words: str) -> None:
    """And not as a program writes it."""
    assert fault_table.in_words(script) == words
