"""Each phase that a scenario has is explained in one line, and nothing else is."""

from __future__ import annotations

import ast
import importlib
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

from isolane.conformance import scenarios, world
from isolane.conformance.checkers import cycles
from isolane.conformance.phases import MEANINGS, explained

LENGTH = 100
"""Characters that fit into a line, with the name before them."""


def test_every_phase_of_every_scenario_is_explained() -> None:
    """By the names in the sources of the stories; a family, as fault:NAME, by its first part.

    Those that the sources do not show are named here: of timelines, of what is measured by name, and the last one.
    """
    named = {name for package in (scenarios, world) for name in _phases(package)}
    named |= {cycles.FRESH, cycles.BEFORE, cycles.AFTER, "chaos", "calm", "end"}
    assert {"capacity", "fault:", "cycles"} <= named
    assert {name for name in named if not explained([name])} == set()
    used = named | {f"{name.partition(':')[0]}:" for name in named if ":" in name}
    assert set(MEANINGS) - used == set(), "what no scenario has is not explained"


def test_a_family_is_explained_once() -> None:
    """In the order in which the first of each came; what nobody knows is left out."""
    told = explained(["fault:slow", "control", "x", "x:y", "fault:refused", "heal:slow", "settle:after", "settle", ""])
    assert list(told) == ["fault:…", "control", "heal:…", "settle:…", "settle"]


def test_an_explanation_is_one_short_line() -> None:
    """It stands behind the name."""
    assert {name for name, meaning in MEANINGS.items() if len(name) + len(meaning) > LENGTH} == set()


def _phases(package: ModuleType) -> Iterator[str]:
    """The names that the modules of a package give to phases; of one with a part that varies what is before that."""
    (folder,) = package.__path__
    for path in sorted(Path(folder).glob("*.py")):
        if path.stem == "__init__":
            continue
        module = importlib.import_module(f"{package.__name__}.{path.stem}")
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
                given = [*node.args[:1]] if node.func.attr == "phase" else []
                given += [each.value for each in node.keywords if each.arg == "phase"]
                yield from (name for each in given if (name := _name(each, module)))


def _name(given: ast.expr, module: ModuleType) -> str:
    """The name that an expression stands for; empty where that is only known when it runs."""
    match given:
        case ast.Constant(value=str(text)):
            return text
        case ast.JoinedStr(values=[ast.Constant(value=str(text)), *_]):
            return text
        case ast.Name(id=constant):
            return str(getattr(module, constant, ""))
    return ""
