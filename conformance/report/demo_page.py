"""The demo's page: the modes one below the other, on the same axes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from isolane.conformance.checkers.comparison import CONTROL
from isolane.conformance.demo import JUDGED
from isolane.conformance.report import plots, series
from isolane.conformance.report.demo_account import Account, Trial, percent, seconds
from isolane.conformance.report.effect import WORST, Effect
from isolane.conformance.report.page import Page, Section
from isolane.conformance.report.plots import Axes, Curve, Plot
from isolane.conformance.report.series import View
from isolane.conformance.report.tables import Table
from isolane.conformance.result import RunResult, suite_version

TITLE = "A slow tenant, three ways to deliver"

ROOM = 2.5
"""How many times the offered rate has room in a plot; a backlog that is delivered at once goes far higher."""

LEAST_DELAY_SHOWN = 20.0
"""Seconds of delay that always have room, so that a small delay looks small."""


def page(accounts: Sequence[Account], result: RunResult, commands: Mapping[str, str]) -> Page:
    """Return the page of a demo.

    Args:
        accounts: What is to be told, mode by mode.
        result: The result of any of them, for what they have in common.
        commands: Command lines for who wants to go on, by what they do.
    """
    views = [_view(account) for account in accounts]
    times = min(view.relative(view.began) for view in views), max(view.relative(view.ended) for view in views)
    return Page(
        title=TITLE,
        lead=_lead(accounts[0]),
        sections=(_overview(accounts), *(_section(*each, times) for each in zip(accounts, views, strict=True))),
        facts=_facts(result),
        commands=commands,
    )


def _view(account: Account) -> View:
    history, zero = account.history, account.trials[0].fault.began
    calm, drain = history.phase(CONTROL), history.phase("drain")
    return View(
        zero=zero,
        began=zero if calm is None else calm.began,
        ended=history.last if drain is None else drain.began,
    )


def _lead(account: Account) -> str:
    healthy, first = _name(account, account.healthy), account.trials[0].fault
    sick = " and later that of ".join(_described(account, trial.fault.tenant) for trial in account.trials)
    return (
        f"{account.history.meta.bounds['workers']} sending workers serve tenants that are offered the same load. For "
        f"{first.ended - first.began:.0f} seconds the Elasticsearch of {sick} takes {first.script['latency']:g} s for "
        f"each request. That of {healthy} is healthy throughout: whatever {healthy} loses meanwhile, it loses to the "
        "way in which its records are delivered."
    )


def _overview(accounts: Sequence[Account]) -> Section:
    first = accounts[0]
    healthy = _name(first, first.healthy)
    heading = ("", "kept of its calm rate", "longest stall", "p99 delay", f"isolated ({JUDGED})")
    return Section(
        title=f"What {healthy} felt",
        tables=tuple(
            Table(
                f"{healthy} while {_described(first, trials[0].fault.tenant)} was slow",
                heading,
                tuple(_felt(*each) for each in zip(accounts, trials, strict=True)),
            )
            for trials in zip(*(account.trials for account in accounts), strict=True)
        ),
    )


def _felt(account: Account, trial: Trial) -> tuple[str, ...]:
    felt = trial.felt
    return (
        account.mode.name,
        percent(felt.kept),
        seconds(felt.stall),
        seconds(felt.p99),
        trial.finding.verdict.value,
    )


def _section(account: Account, view: View, times: tuple[float, float]) -> Section:
    return Section(
        title=account.mode.name,
        says=account.sentences,
        about=account.mode.about,
        plots=(_rates(account, view, times), _delays(account, view, times)),
        tables=(_table(account),),
        warnings=account.warnings,
    )


def _rates(account: Account, view: View, times: tuple[float, float]) -> Plot:
    history, healthy = account.history, account.healthy
    offered = series.offered_rate(history, healthy, view)
    sick = zip((trial.fault.tenant for trial in account.trials), plots.SICK, strict=False)
    return plots.rates(
        "Records accepted a second",
        (
            Curve("offered to each", plots.OFFERED, offered, dashed=True),
            *(
                Curve(_described(account, tenant), colour, series.accepted_rate(history, tenant, view))
                for tenant, colour in sick
            ),
            Curve(
                f"{_described(account, healthy)}, healthy",
                plots.HEALTHY,
                series.accepted_rate(history, healthy, view),
            ),
        ),
        series.shades(history, view),
        Axes(times, ROOM * max(rate or 0 for rate in offered.values)),
    )


def _delays(account: Account, view: View, times: tuple[float, float]) -> Plot:
    healthy = _name(account, account.healthy)
    return plots.delays(
        f"{healthy}'s longest delay, by when the record was due",
        (Curve(healthy, plots.HEALTHY, series.delay(account.history, account.healthy, view)),),
        [replace(shade, label="") for shade in series.shades(account.history, view)],  # the plot above it names them
        Axes(times, LEAST_DELAY_SHOWN),
    )


def _table(account: Account) -> Table:
    healthy = _name(account, account.healthy)
    columns = {}
    for trial in account.trials:
        columns[f"{healthy}, {_name(account, trial.fault.tenant)} slow"] = trial.felt
    for trial in account.trials:
        columns[f"{_name(account, trial.fault.tenant)}, slow"] = trial.effects[trial.fault.tenant]
    return Table("Figures", ("", *columns), _rows(*columns.values()))


def _rows(*effects: Effect) -> tuple[tuple[str, ...], ...]:
    return (
        ("records/s, calm", *(f"{each.calm_rate:.1f}" for each in effects)),
        ("records/s during the fault", *(f"{each.rate:.1f}" for each in effects)),
        (f"records/s in its worst {WORST:g} s", *(f"{each.worst_rate:.1f}" for each in effects)),
        ("longest stall", *(seconds(each.stall) for each in effects)),
        ("p99 delay, calm", *(seconds(each.calm_p99) for each in effects)),
        ("p99 delay of what was due in the fault", *(seconds(each.p99) for each in effects)),
        ("backlog gone after the heal", *(seconds(each.recovery) for each in effects)),
    )


def _facts(result: RunResult) -> dict[str, str]:
    machine = result.machine
    return {
        "Isolane": suite_version(),
        "Date": result.started,
        "Seed": str(result.seed),
        "Machine": f"{machine['system']}, {machine['architecture']}, {machine['cores']} cores",
        "Python": str(machine["python"]),
        "Kafka": result.services["kafka"],
        "Clusters": result.services["elasticsearch"],
    }


def _described(account: Account, tenant: str) -> str:
    partitions = sum(topic.partitions for topic in account.history.meta.topics if topic.tenant == tenant)
    return f"{_name(account, tenant)} ({partitions} partitions)"


def _name(account: Account, tenant: str) -> str:
    return series.short(account.history, tenant)
