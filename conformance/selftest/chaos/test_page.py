"""The page on chaos: its example is taken, its commands are understood, its tables are those of the code."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from isolane.chaos.happenings import KINDS
from isolane.chaos.timeline import find, load, packaged
from isolane.conformance.commands.chaos import command

PAGE = (Path(__file__).parents[3] / "docs" / "chaos.md").read_text("utf-8")
COMMANDS = [line.partition("#")[0].strip() for line in PAGE.splitlines() if line.startswith("isolane chaos")]


def section(title: str) -> str:
    """The part of the page below that heading."""
    return PAGE.partition(f"\n## {title}")[2].partition("\n## ")[0]


def cells(text: str) -> list[list[str]]:
    """The cells of a table's rows, without its head."""
    rows = [line.strip("|").split("|") for line in text.splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in row] for row in rows[2:]]


def test_the_example_is_a_timeline(tmp_path: Path) -> None:
    """It is read as it stands there."""
    path = tmp_path / "mine.toml"
    path.write_text(section("A timeline").partition("```toml\n")[2].partition("```")[0])
    assert load(path).name == "mine"


@pytest.mark.parametrize("line", COMMANDS)
def test_commands_are_understood(line: str) -> None:
    """Each has options that there are, and timelines are named or drawn."""
    given = command.make_context("chaos", shlex.split(line)[2:]).params
    assert not (given["names"] and given["minutes"])
    drawn = [name for name in given["names"] if name.startswith("drawn-")]
    assert not drawn or given["seed"] is not None, "its load would be another"


def test_every_kind_is_described() -> None:
    """Once, and nothing else is."""
    told = [name for row in cells(section("What can happen")) for name in re.findall(r"`(\w+)`", row[0])]
    told.remove("half_open")  # a field, beside the kind that has it
    assert sorted(told) == sorted(str(kind.model_fields["kind"].default) for kind in KINDS)


def test_the_fixed_set_is_described() -> None:
    """All of it in its order, with who fails it, and in what."""
    told = [(row[0], row[2]) for row in cells(section("The fixed set"))]
    caught = {name: find(name).caught for name in packaged()}
    assert told == [
        (f"`{name}`", "; ".join(f"`{each.implementation}`: {', '.join(each.fails)}" for each in caught[name]))
        for name in packaged()
    ]
