"""The page of a run: the verdict by profile and by requirement, the stories behind it, and what every scenario saw."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from isolane.conformance.history import History
from isolane.conformance.history_files import META, HistoryError
from isolane.conformance.report import page, scenario_section
from isolane.conformance.report.page import Page, Section, Story
from isolane.conformance.report.tables import Cell, Table
from isolane.conformance.requirements import CATALOGUE
from isolane.conformance.result import RunResult, ScenarioRun
from isolane.conformance.verdict import ExitCode, Finding, Outcome, Verdict

NAME = "report.html"

_COUNTED = (Verdict.PASS, Verdict.FAIL, Verdict.INCONCLUSIVE, Verdict.NOT_JUDGED, Verdict.NOT_CLAIMED)
_UNJUDGED = (Verdict.NOT_JUDGED, Verdict.NOT_CLAIMED)
_BADGES = {
    ExitCode.CONFORMS: Cell("conforms", Verdict.PASS),
    ExitCode.VIOLATES: Cell("does not conform", Verdict.FAIL),
    ExitCode.INCONCLUSIVE: Cell("inconclusive", Verdict.INCONCLUSIVE),
    ExitCode.HARNESS_FAILED: Cell("the harness failed", Verdict.INCONCLUSIVE),
    ExitCode.WRONG_USAGE: Cell("not judged", Verdict.NOT_JUDGED),
}


def write(result: RunResult, folder: Path) -> None:
    """Write the page of a run into its folder, from its result and its histories; blocks for seconds.

    Raises:
        OSError: It cannot be written.
    """
    page.write(make(result, folder), folder / NAME)


def make(result: RunResult, folder: Path) -> Page:
    """Return the page of a run that is in a folder."""
    who = result.implementation
    return Page(
        title=f"{who.name} {who.version}".strip(),
        lead=f"{result.headline}.",
        sections=tuple(_sections(result, folder)),
        facts=_facts(result),
        commands={
            "Run it again": result.reproduce(),
            "Tell what is behind a verdict": f"isolane why {folder}",
            "Judge it again from what it left": f"isolane check {folder}",
        },
        verdict=_BADGES[result.exit_code],
    )


def _sections(result: RunResult, folder: Path) -> Iterator[Section]:
    yield Section("Profiles", tables=(_profiles(result),), warnings=tuple(_cautions(result)), anchor="profiles")
    if stories := tuple(_stories(result)):
        yield Section("Violations", stories=stories, anchor="violations")
    yield _requirements(result)
    for scenario in result.scenarios:
        yield _scenario(result, scenario, folder / scenario.folder)
    yield Section(
        "What this rests on",
        says=result.implementation.notes,
        about="Green means: nothing was seen that breaks a requirement, in these scenarios, at this depth, on this "
        "machine. What is not judged may be broken.",
        tables=(_bounds(result),),
        anchor="basis",
    )


def verdict_on(result: RunResult, profile: str) -> Cell:
    """Return what a run says of a profile; a SHOULD that is not met is reported there, and required by none."""
    outcomes = _of(result, profile)
    verdicts = {each.verdict for each in outcomes}
    if any(each.violates for each in outcomes):
        return Cell("violated", Verdict.FAIL)
    if Verdict.INCONCLUSIVE in verdicts:
        return Cell.of(Verdict.INCONCLUSIVE)
    if Verdict.PASS in verdicts:
        return Cell("holds", Verdict.PASS)
    return Cell.of(Verdict.NOT_JUDGED)


def _profiles(result: RunResult) -> Table:
    rows: list[tuple[str | Cell, ...]] = []
    for profile in CATALOGUE.profiles:
        if own := _of(result, profile):
            counts = (str(sum(each.verdict is verdict for each in own)) for verdict in _COUNTED)
            rows.append((profile, verdict_on(result, profile), *counts))
    heading = ("profile", "verdict", *(verdict.value for verdict in _COUNTED))
    return Table("Conformance is stated for each profile", heading, tuple(rows))


def _of(result: RunResult, profile: str) -> list[Outcome]:
    return [each for each in result.outcomes if CATALOGUE.profile_of(each.requirement) == profile]


def _cautions(result: RunResult) -> Iterator[str]:
    for scenario in result.scenarios:
        if scenario.failure:
            yield f"scenario {scenario.name} was not completed: {scenario.failure}"
    if result.left_out:
        yield f"left out, as real nodes take no scripts: {', '.join(result.left_out)}"


def _stories(result: RunResult) -> Iterator[Story]:
    for outcome in result.red:
        for finding in outcome.findings:
            if finding.verdict is Verdict.FAIL:
                broken = "violated" if outcome.violates else "not met (SHOULD)"
                yield Story(
                    f"{finding.requirement} {broken} in {_where(finding)}",
                    f"{finding.summary[:1].upper()}{finding.summary[1:]}.",
                    finding.story,
                    (result.reproduce(finding.requirement),),
                )


def _requirements(result: RunResult) -> Section:
    rows: list[tuple[str | Cell, ...]] = []
    for outcome in result.outcomes:
        if outcome.verdict in _UNJUDGED:
            continue
        if not outcome.findings:
            rows.append((outcome.requirement.id, Cell.of(outcome.verdict), "", outcome.reason))
        rows += [(_head(each), Cell.of(each.verdict), _link(each), _seen(each)) for each in outcome.findings]
    heading = ("requirement", "verdict", "scenario", "seen")
    return Section(
        "Requirements",
        says=tuple(
            f"{verdict.value.capitalize()}: {', '.join(each.requirement.id for each in found)}."
            for verdict in _UNJUDGED
            if (found := result.with_verdict(verdict))
        ),
        tables=(Table("What was seen of each requirement", heading, tuple(rows), prose=True),),
        anchor="requirements",
    )


def _head(finding: Finding) -> str | Cell:
    return Cell(finding.requirement, link="violations") if finding.verdict is Verdict.FAIL else finding.requirement


def _link(finding: Finding) -> Cell:
    return Cell(_where(finding), link=scenario_section.anchor(finding.scenario))


def _where(finding: Finding) -> str:
    return f"{finding.scenario}, {finding.case}" if finding.case else finding.scenario


def _seen(finding: Finding) -> Cell:
    figures = "; ".join(f"{name}: {figure}" for name, figure in finding.figures.items())
    return Cell(finding.summary, more=figures)


def _scenario(result: RunResult, scenario: ScenarioRun, folder: Path) -> Section:
    warnings = [each.summary for each in result.harness if each.scenario == scenario.name]
    if scenario.failure:
        warnings.append(scenario.failure)
    try:
        if (folder / META).exists():
            return scenario_section.section(History.load(folder), scenario.title, warnings)
    except HistoryError as error:
        warnings.append(f"its history cannot be read: {error}")
    return Section(
        f"Scenario {scenario.name}",
        about=scenario.title,
        warnings=tuple(warnings),
        anchor=scenario_section.anchor(scenario.name),
    )


def _bounds(result: RunResult) -> Table:
    rows = tuple((name, _bound(value)) for name, value in result.bounds.items())
    return Table("Effective bounds: promised by the descriptor, capped by the suite", ("", "value"), rows)


def _bound(value: float | str | bool | None) -> str:  # noqa: FBT001 - one of the values a descriptor may hold
    if value is None:
        return "—"
    return str(value) if isinstance(value, str | bool) else f"{value:,}"


def _facts(result: RunResult) -> dict[str, str]:
    who, machine = result.implementation, result.machine
    facts = {
        "Depth": result.depth,
        "Seed": str(result.seed),
        "Date": result.started,
        "Took": f"{result.seconds:.0f} s" if result.seconds else "",
        "Isolane": f"{result.suite}, catalogue {result.catalogue}",
        "Machine": ", ".join(f"{value} {name}" if name == "cores" else str(value) for name, value in machine.items()),
        **{name.capitalize(): value for name, value in result.services.items()},
        "Claims": ", ".join(who.features) or "no features",
        "Descriptor": f"{who.descriptor} ({who.descriptor_hash[:12]})" if who.descriptor_hash else who.descriptor,
    }
    return {name: value for name, value in facts.items() if value}
