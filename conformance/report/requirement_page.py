"""A page of Markdown for each requirement: what it says, why, how it is judged, and how to see it broken."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from isolane.conformance.depth import DEPTHS
from isolane.conformance.examples import EXAMPLES, Example
from isolane.conformance.requirements import CATALOGUE, Requirement
from isolane.conformance.scenarios.catalogue import SCENARIOS
from isolane.conformance.scenarios.model import Scenario
from isolane.fixtures.implementations import descriptor
from isolane.fixtures.known_bad.catalogue import CATALOGUE as KNOWN_BAD

INDEX = "README.md"


def pages() -> dict[str, str]:
    """Return every page by its file's name: one for each requirement, and the list of all."""
    made = {f"{requirement.id}.md": page(requirement) for requirement in CATALOGUE.requirements.values()}
    return {**made, INDEX: index()}


def write(folder: Path) -> None:
    """Write every page into a folder, which is made; pages of ids that there are no more are left.

    Raises:
        OSError: One cannot be written.
    """
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in pages().items():
        (folder / name).write_text(text, encoding="utf-8")


def page(requirement: Requirement) -> str:
    """Return the page of one requirement."""
    return "\n".join(_lines(requirement))


def index() -> str:
    """Return the list of all requirements, with links to their pages."""
    head = [
        f"# The requirements, catalogue {CATALOGUE.version}",
        "",
        "Each page says what a requirement means, why it is there, how it is judged, and which implementation that is",
        "wrong on purpose breaks it. `isolane explain ID` says the same in the terminal, and",
        "[a table](../requirements.md) where in the reference each is embodied.",
    ]
    rows: list[str] = []
    for name, family in CATALOGUE.families.items():
        own = [each for each in CATALOGUE.requirements.values() if each.family == name]
        rows += ["", f"## {name}: {family.title}", "", *([family.note, ""] if family.note else [])]
        rows += [f"* [{each.id}]({each.id}.md) ({_level(each)}): {each.statement}" for each in own]
    return "\n".join([*head, *rows, ""])


def _lines(requirement: Requirement) -> Iterator[str]:
    family = CATALOGUE.families[requirement.family]
    seen = ", ".join(way.words for way in requirement.seen)
    yield f"# {requirement.id}"
    yield ""
    yield f"**{requirement.statement}**"
    yield ""
    yield f"{_level(requirement)}; profile {family.profile}; seen by {seen}; catalogue {CATALOGUE.version}."
    if family.note:
        yield from _section(f"For all of {requirement.family}", [family.note])
    yield from _section("Why", [requirement.why])
    if requirement.reports:
        yield from _section("Reported of others", [f"* [{each}]({_link(each)})" for each in requirement.reports])
    yield from _section("How it is judged", [requirement.how])
    scenarios = [each for each in SCENARIOS if requirement.id in each.judges]
    yield from _section("Where", [*map(_where, scenarios)])
    example = EXAMPLES[requirement.id]
    yield from _section("A history that passes", [*_about(example), "", "```text", *example.passes, "```"])
    yield from _section("A history that fails", ["```text", *example.fails, "```"])
    bad = {name: known for name, known in KNOWN_BAD.items() if requirement.id in known.fails}
    if bad:
        yield from _section("Known bad", [f"* `{name}`: {known.sentence}" for name, known in bad.items()])
    yield from _section("See it for yourself", list(_commands(requirement, scenarios, next(iter(bad), None))))
    yield ""


def _about(example: Example) -> list[str]:
    """Return lines of Markdown that say how those of an example are to be read."""
    lines = "\n".join((*example.passes, *example.fails))
    notes = {
        "@": "`a/0@3` is the record at offset 3 of partition 0 of tenant a's topic",
        "answers 409 ": "409 says that a document with this id is there already",
        r"answers \d+ \d+ ": "several statuses are one for each item, inside a 200",
        "fault ": "a fault at a is what goes wrong with tenant a's cluster",
        "read ": "`read a/0 = 4` is a reading of the committed offset of partition 0 of that topic",
        " every ": "`0.0 to 5.0 every 0.1: …` happened at each of these times, the last one left out",
        "the next of ": "the next of a/0 is its first record that was in no request yet",
        "group at rest": "a group is at rest when no rebalance is under way",
        "told to stop": "a member is told to stop by SIGTERM",
        "phase drain": "in the drain everything has healed, and what is left must arrive",
        "phase control": "the control is the same load with no fault",
        "dead-few": "few partitions have a backlog, then many have",
        "dead-packed": "in the last phase records are compressed so well that they inflate fifty-fold",
        "promised": "what is promised is the descriptor's",
    }
    needed = [f"* {note}" for words, note in notes.items() if re.search(words, lines)]
    return ["Seconds, and what happened:", "", *needed] if needed else ["Seconds, and what happened."]


def _commands(requirement: Requirement, scenarios: list[Scenario], bad: str | None) -> Iterator[str]:
    first = min(scenarios, key=lambda each: (each.clusters != "scripted", DEPTHS.index(each.depths[0])))
    yield "```sh"
    yield f"isolane verify {_claiming(requirement)} --depth {first.depths[0]} --only {requirement.id}"
    if bad is not None:
        known = KNOWN_BAD[bad]
        chosen = next((each for each in scenarios if each.name in known.scenarios), first)
        options = f"--depth {known.depth} --scenario {chosen.name} --only {requirement.id} --out broken"
        yield f"isolane verify known-bad/{bad} {options}"
        yield f"isolane why broken {requirement.id}"
    yield "```"


def _claiming(requirement: Requirement) -> str:
    """Return the name of a reference that claims what the requirement is about."""
    names = ("reference", "reference-ordered")
    return next(each for each in names if requirement.feature in {None, *_claims(each)})


def _claims(name: str) -> list[str]:
    return [feature for feature, claimed in descriptor.find(name).features.items() if claimed]


def _where(scenario: Scenario) -> str:
    depths = ", ".join(scenario.depths)
    real = "" if scenario.clusters == "scripted" else f", with `--services elasticsearch={scenario.clusters}`"
    return f"* scenario `{scenario.name}` ({depths}{real}): {scenario.title}"


def _level(requirement: Requirement) -> str:
    return f"{requirement.level.words}: `{requirement.feature}`" if requirement.feature else requirement.level.words


def _link(report: str) -> str:
    repository, _, number = report.partition("#")
    return f"https://github.com/{repository}/issues/{number}"


def _section(title: str, lines: list[str]) -> Iterator[str]:
    yield ""
    yield f"## {title}"
    yield ""
    yield from lines
