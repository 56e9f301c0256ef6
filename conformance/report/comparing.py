"""Several runs side by side: a page and a Markdown table of what each implementation does with each requirement."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from isolane.conformance.report import fault_table, run_page, scenario_section
from isolane.conformance.report.page import Page, Section
from isolane.conformance.report.tables import Cell, Table
from isolane.conformance.requirements import CATALOGUE
from isolane.conformance.result import RunResult
from isolane.conformance.stored import StoredRun
from isolane.conformance.verdict import Figure, Verdict

_UNJUDGED = {Verdict.NOT_JUDGED, Verdict.NOT_CLAIMED}
_MARKED = {Verdict.FAIL: "**fail**"}


def page(runs: Sequence[StoredRun]) -> Page:
    """Return the page that compares the runs, in their order.

    Raises:
        HistoryError: A history of one of them cannot be read.
    """
    results = [run.found for run in runs]
    names = headings(results)
    sections = [
        Section("Verdicts", tables=(profiles(results), verdicts(results)), warnings=tuple(differences(results))),
    ]
    if figures := tuple(_figures(results)):
        sections.append(Section("Figures", tables=figures))
    scenarios = dict.fromkeys(name for run in runs for name in run.histories)
    sections += [_scenario(scenario, names, runs) for scenario in scenarios]
    return Page(
        title=f"{len(runs)} runs side by side",
        lead="What each does with the same requirements: " + ", ".join(names) + ".",
        sections=tuple(sections),
        commands={f"Run {name} again": result.reproduce() for name, result in zip(names, results, strict=True)},
    )


def markdown(results: Sequence[RunResult]) -> str:
    """Return the verdicts as a Markdown table, after what makes the runs hard to compare."""
    tables = [profiles(results), verdicts(results)]
    parts = [f"> {difference}\n" for difference in differences(results)]
    for table in tables:
        head = [column or " " for column in table.columns]
        lines = [head, ["---"] * len(head), *([_text(cell) for cell in row] for row in table.rows)]
        parts.append("".join(f"| {' | '.join(line)} |\n" for line in lines))
    return "\n".join(parts)


def headings(results: Sequence[RunResult]) -> list[str]:
    """Return what each run is called: its implementation, with its version where two have the same name."""
    names = [result.implementation.name for result in results]
    whole = [f"{each.implementation.name} {each.implementation.version}".strip() for each in results]
    chosen = names if len(set(names)) == len(names) else whole
    return [f"{name} ({number})" if chosen.count(name) > 1 else name for number, name in enumerate(chosen, start=1)]


def differences(results: Sequence[RunResult]) -> Iterator[str]:
    """Yield what was not the same in all runs: verdicts on different terms are not to be compared."""
    terms: dict[str, Sequence[str]] = {
        "the depth": [result.depth for result in results],
        "the catalogue": [result.catalogue for result in results],
        "the suite": [result.suite for result in results],
        "the machine": [", ".join(map(str, result.machine.values())) for result in results],
        "the clusters": [result.clusters for result in results],
        "what was asked for": [", ".join((*result.scope, *result.names)) or "everything" for result in results],
    }
    for what, values in terms.items():
        if len(set(values)) > 1:
            each = "; ".join(
                f"{name}: {value or 'not known'}" for name, value in zip(headings(results), values, strict=True)
            )
            yield f"{what} was not the same ({each})"


def profiles(results: Sequence[RunResult]) -> Table:
    """Return the verdict on each profile."""
    rows: list[tuple[str | Cell, ...]] = []
    for profile in CATALOGUE.profiles:
        cells = [run_page.verdict_on(result, profile) for result in results]
        if any(cell.verdict not in _UNJUDGED for cell in cells):
            rows.append((profile, *cells))
    return Table("By profile", ("", *headings(results)), tuple(rows))


def verdicts(results: Sequence[RunResult]) -> Table:
    """Return the verdict on each requirement that any of the runs has judged."""
    by_run = [{each.requirement.id: each.verdict for each in result.outcomes} for result in results]
    rows: list[tuple[str | Cell, ...]] = []
    for identifier in CATALOGUE.requirements:
        found = [outcomes.get(identifier, Verdict.NOT_JUDGED) for outcomes in by_run]
        if set(found) - _UNJUDGED:
            rows.append((identifier, *map(Cell.of, found)))
    return Table("By requirement", ("", *headings(results)), tuple(rows))


def _figures(results: Sequence[RunResult]) -> Iterator[Table]:
    """Yield, by requirement, what was measured against a bound in a case that several of the runs have tried."""
    by_run = [_measured_in(result) for result in results]
    keys = dict.fromkeys(key for figures in by_run for key, figure in figures.items() if figure.bound)
    for identifier in CATALOGUE.requirements:
        rows = []
        for key in keys:
            if key[0] == identifier and sum(key in figures for figures in by_run) > 1:
                place = " ".join(filter(None, key[1:3]))
                rows.append((f"{place}: {key[3]}", *(_measured(figures.get(key)) for figures in by_run)))
        if rows:
            yield Table(f"{identifier}, with the bound that was held against it", ("", *headings(results)), tuple(rows))


def _measured_in(result: RunResult) -> dict[tuple[str, str, str, str], Figure]:
    """Return the figures of a run by requirement, scenario, case and name."""
    return {
        (each.requirement, each.scenario, each.case, name): figure
        for each in result.findings
        for name, figure in each.figures.items()
    }


def _measured(figure: Figure | None) -> str:
    return "—" if figure is None else str(figure)


def _scenario(scenario: str, names: Sequence[str], runs: Sequence[StoredRun]) -> Section:
    """Return a scenario as each run lived it, on the same axes, and what the faults were that its plot numbers."""
    lived = {name: run.histories[scenario] for name, run in zip(names, runs, strict=True) if scenario in run.histories}
    axes = scenario_section.axes_of(*lived.values())
    plots = {name: scenario_section.rates(history, axes) for name, history in lived.items()}
    tables = (
        replace(table, caption=f"{name}: faults, as they are numbered in its plot")
        for name, history in lived.items()
        for table in fault_table.tables(history, scenario_section.view_of(history))
    )
    return Section(
        f"Scenario {scenario}",
        plots=tuple(replace(plot, title=_of_run(name, plot.title)) for name, plot in plots.items()),
        tables=tuple(tables),
        anchor=scenario_section.anchor(scenario),
    )


def _of_run(name: str, title: str) -> str:
    return f"{name}: {title[:1].lower()}{title[1:]}"


def _text(cell: str | Cell) -> str:
    text = cell if isinstance(cell, str) else _MARKED.get(cell.verdict or Verdict.PASS, cell.text)
    return text.replace("|", "\\|")
