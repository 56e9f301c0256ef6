"""The demo's page: the modes one below the other, on the same axes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from isolane.conformance.checkers.comparison import CONTROL
from isolane.conformance.demo import JUDGED
from isolane.conformance.report import plots, series
from isolane.conformance.report.demo_account import Account, percent, seconds
from isolane.conformance.report.effect import WORST, Effect
from isolane.conformance.report.page import Page, Section, Table
from isolane.conformance.report.plots import Axes, Curve, Plot
from isolane.conformance.report.series import View
from isolane.conformance.result import RunResult, suite_version

TITLE = "One slow tenant, three ways to deliver"

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
    history = account.history
    calm, drain = history.phase(CONTROL), history.phase("drain")
    return View(
        zero=account.fault.began,
        began=account.fault.began if calm is None else calm.began,
        ended=history.last if drain is None else drain.began,
    )


def _lead(account: Account) -> str:
    healthy, sick = _names(account)
    lasted = account.fault.ended - account.fault.began
    latency = account.fault.script["latency"]
    return (
        f"Two tenants are offered the same load, and for {lasted:.0f} seconds the Elasticsearch of one, {sick}, takes "
        f"{latency:g} s for each request. The other's is healthy throughout: whatever {healthy} loses meanwhile, it "
        "loses to the way in which its records are delivered."
    )


def _overview(accounts: Sequence[Account]) -> Section:
    healthy, _ = _names(accounts[0])
    rows = tuple(
        (
            account.mode.name,
            percent(account.effect.kept),
            seconds(account.effect.stall),
            seconds(account.effect.p99),
            account.finding.verdict.value,
        )
        for account in accounts
    )
    return Section(
        title=f"What {healthy} felt",
        says="",
        tables=(
            Table(
                f"{healthy} while the other tenant's cluster was slow",
                ("", "kept of its calm rate", "longest stall", "p99 delay", f"isolated ({JUDGED})"),
                rows,
            ),
        ),
    )


def _section(account: Account, view: View, times: tuple[float, float]) -> Section:
    healthy, sick = _names(account)
    return Section(
        title=account.mode.name,
        says=account.sentence,
        about=account.mode.about,
        plots=(_rates(account, view, times), _delays(account, view, times)),
        tables=(
            Table(
                "Figures",
                ("", healthy, sick),
                _rows(account.effects[account.healthy], account.effects[account.sick]),
            ),
        ),
        warnings=account.warnings,
    )


def _rates(account: Account, view: View, times: tuple[float, float]) -> Plot:
    history = account.history
    healthy, sick = _names(account)
    offered = series.offered_rate(history, account.healthy, view)
    return plots.rates(
        "Records accepted a second",
        (
            Curve("offered to each", plots.OFFERED, offered, dashed=True),
            Curve(f"{sick}, slow", plots.SICK, series.accepted_rate(history, account.sick, view)),
            Curve(f"{healthy}, healthy", plots.HEALTHY, series.accepted_rate(history, account.healthy, view)),
        ),
        series.shades(history, view),
        Axes(times, ROOM * max(rate or 0 for rate in offered.values)),
    )


def _delays(account: Account, view: View, times: tuple[float, float]) -> Plot:
    healthy, _ = _names(account)
    return plots.delays(
        f"{healthy}'s longest delay, by when the record was due",
        (Curve(f"{healthy}, healthy", plots.HEALTHY, series.delay(account.history, account.healthy, view)),),
        series.shades(account.history, view),
        Axes(times, LEAST_DELAY_SHOWN),
    )


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


def _names(account: Account) -> tuple[str, str]:
    return series.short(account.history, account.healthy), series.short(account.history, account.sick)
