"""``isolane check``: judge a stored run again, from its histories alone."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import click
from rich.console import Console

from isolane.conformance.checkers import judge
from isolane.conformance.history import History, read_meta
from isolane.conformance.history_files import META
from isolane.conformance.report import table, yaml_report
from isolane.conformance.result import Implementation, RunResult, ScenarioRun
from isolane.conformance.verdict import Finding


@click.command()
@click.argument("run", type=click.Path(exists=True, file_okay=False, path_type=Path))
@click.pass_context
def command(context: click.Context, run: Path) -> None:
    """Judge a stored run again.

    RUN is the folder that `isolane verify` left, or that of one of its scenarios. Nothing in it is changed. The exit
    code is that of the verdict.
    """
    result = _judged_alone(run) if (run / META).exists() else _judged_again(run)
    table.show(result, Console())
    context.exit(result.exit_code)


def _judged_again(run: Path) -> RunResult:
    try:
        stored = yaml_report.read(run / yaml_report.NAME)
    except yaml_report.ReportError as error:
        raise click.UsageError(f"{error}; a scenario's folder in it can be checked by itself") from error
    findings = [
        finding
        for scenario in stored.scenarios
        if (run / scenario.folder / META).exists() or not scenario.failure
        for finding in _findings(run / scenario.folder)
    ]
    return replace(stored, findings=tuple(findings))


def _judged_alone(folder: Path) -> RunResult:
    findings = _findings(folder)
    meta = read_meta(folder)
    features = tuple(name for name, claimed in meta.features.items() if claimed)
    return RunResult(
        implementation=Implementation(meta.implementation, "", meta.implementation, "", features),
        depth=meta.depth,
        seed=meta.seed,
        started="",
        seconds=0.0,
        scenarios=(ScenarioRun(meta.scenario, ".", meta.judges),),
        findings=findings,
        bounds=meta.bounds,
    )


def _findings(folder: Path) -> tuple[Finding, ...]:
    return tuple(judge(History.load(folder)))
