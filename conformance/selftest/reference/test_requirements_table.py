"""docs/requirements.md: where each requirement is embodied, and which scenarios judge it."""

from __future__ import annotations

import re
from pathlib import Path

from isolane.conformance.requirements import CATALOGUE
from isolane.conformance.scenarios.catalogue import SCENARIOS
from isolane.reference import program

TABLE = Path(__file__).parents[3] / "docs" / "requirements.md"
_FAMILIES = "|".join(dict.fromkeys(each.family for each in CATALOGUE.requirements.values()))
_ID = re.compile(rf"\b({_FAMILIES})-(\d+)(?: to \1-(\d+))?\b")


def ids_in(text: str) -> set[str]:
    """Return the ids that a text names, those between the ends of ranges such as `DEL-2 to DEL-5` included."""
    return {
        f"{family}-{number}"
        for family, first, last in _ID.findall(text)
        for number in range(int(first), int(last or first) + 1)
    }


def embodiments() -> dict[str, list[str]]:
    """Return the modules of the reference that name each id in a docstring or comment."""
    found: dict[str, list[str]] = {}
    for path in sorted(Path(program.__file__).parent.glob("*.py")):
        for identifier in ids_in(path.read_text()):
            found.setdefault(identifier, []).append(f"`{path.stem}`")
    return found


def rows() -> dict[str, tuple[str, str]]:
    """Return what the table says of each id: where it is embodied, and the scenarios that judge it."""
    lines = re.findall(r"^\| ([A-Z]{3}-\d+) \| (.*?) \| (.*?) \|$", TABLE.read_text(), re.MULTILINE)
    return {identifier: (where, scenarios) for identifier, where, scenarios in lines}


def test_every_requirement_has_a_row_in_the_order_of_the_catalogue() -> None:
    """Nothing is left out, and nothing is made up."""
    assert list(rows()) == list(CATALOGUE.requirements)


def test_each_row_names_the_modules_that_name_the_id() -> None:
    """A rule stands in the modules that the table says; one that no module names follows from others, which are."""
    found = embodiments()
    assert found.keys() <= CATALOGUE.requirements.keys()
    wrong = {}
    for identifier, (where, _) in rows().items():
        if identifier in found:
            if where != ", ".join(found[identifier]):
                wrong[identifier] = ", ".join(found[identifier])
        elif not (where.startswith("follows from ") and ids_in(where) and ids_in(where) <= found.keys()):
            wrong[identifier] = "follows from …"
    assert wrong == {}


def test_each_row_names_the_scenarios_that_judge_the_id() -> None:
    """A requirement is judged by those scenarios that declare it."""
    expected = {
        identifier: ", ".join(f"`{each.name}`" for each in SCENARIOS if identifier in each.judges)
        for identifier in CATALOGUE.requirements
    }
    assert {identifier: scenarios for identifier, (_, scenarios) in rows().items()} == expected
