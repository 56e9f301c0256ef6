"""The terminal's report: the story of each violation, a table by requirement, and the run in one sentence, last."""

from __future__ import annotations

from collections.abc import Iterator

from rich import box
from rich.console import Console, Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from isolane.conformance.result import RunResult
from isolane.conformance.verdict import Finding, Outcome, Verdict

_STYLES = {
    Verdict.PASS: "green",
    Verdict.FAIL: "bold red",
    Verdict.INCONCLUSIVE: "yellow",
    Verdict.NOT_JUDGED: "dim",
    Verdict.NOT_CLAIMED: "dim",
}
_UNJUDGED = (Verdict.NOT_CLAIMED, Verdict.NOT_JUDGED)


def show(result: RunResult, console: Console) -> None:
    """Print the report, as wide as the console is; without colour where the console has none."""
    console.print(render(result))


def render(result: RunResult) -> RenderableType:
    """Return the report as something that rich prints."""
    return Group(*_parts(result))


def _parts(result: RunResult) -> Iterator[RenderableType]:
    for outcome in result.red:
        for finding in outcome.findings:
            if finding.verdict is Verdict.FAIL:
                yield _violation(result, outcome, finding)
    yield _table(result)
    yield from (Text(caution, style="yellow") for caution in _cautions(result))
    if result.bounds:
        yield Text("Bounds: " + ", ".join(f"{name} {value}" for name, value in result.bounds.items()), style="dim")
    for verdict in _UNJUDGED:
        ids = [outcome.requirement.id for outcome in result.with_verdict(verdict)]
        if ids:
            yield Text(f"{verdict.value.capitalize()}: {', '.join(ids)}", style="dim")
    who = result.implementation
    yield from (Text(f"Note on {who.name}: {note}") for note in who.notes)
    yield Text(result.headline, style="bold")


def _cautions(result: RunResult) -> Iterator[str]:
    """Yield what was not run, or not as it should be."""
    for scenario in result.scenarios:
        if scenario.failure:
            yield f"Scenario {scenario.name} was not completed: {scenario.failure}"
    if result.left_out:
        yield f"Left out, as real nodes take no scripts: {', '.join(result.left_out)}"
    for finding in result.harness:
        yield f"Scenario {finding.scenario}: {finding.summary}"


def _violation(result: RunResult, outcome: Outcome, finding: Finding) -> RenderableType:
    where = f"{finding.scenario}, {finding.case}" if finding.case else finding.scenario
    what = f"{finding.requirement} {'violated' if outcome.violates else 'not met (SHOULD)'}"
    title = Text.assemble((what, _STYLES[Verdict.FAIL]), f" in {where}: {finding.summary}")
    story = Padding(Text("\n".join(finding.story)), (0, 0, 0, 4), expand=False)
    reproduce = Padding(Text(f"reproduce: {result.reproduce(finding.requirement)}"), (0, 0, 1, 2), expand=False)
    return Group(title, story, reproduce) if finding.story else Group(title, reproduce)


def _table(result: RunResult) -> Table:
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False)
    table.add_column("Requirement", no_wrap=True)
    table.add_column("Verdict", no_wrap=True)
    table.add_column("Scenario", overflow="fold")
    table.add_column("Seen", overflow="fold")
    for outcome in result.outcomes:
        if outcome.verdict not in _UNJUDGED:
            _rows(table, outcome)
    return table


def _rows(table: Table, outcome: Outcome) -> None:
    identifier = outcome.requirement.id
    if not outcome.findings:
        table.add_row(identifier, _verdict(outcome.verdict), "", Text(outcome.reason))
    for finding in outcome.findings:
        scenario = f"{finding.scenario} {finding.case}".rstrip()
        table.add_row(identifier, _verdict(finding.verdict), Text(scenario), _seen(finding))
        identifier = ""


def _verdict(verdict: Verdict) -> Text:
    return Text(verdict.value, style=_STYLES[verdict])


def _seen(finding: Finding) -> Text:
    figures = "; ".join(f"{name}: {figure}" for name, figure in finding.figures.items())
    if finding.verdict is Verdict.PASS:
        return Text(figures or finding.summary)
    return Text(f"{finding.summary}\n{figures}".rstrip())
