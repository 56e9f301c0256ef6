"""One scenario on a run's page: what was done, and what tenants, clusters, processes and partitions went through."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from isolane.conformance.checkers.comparison import CONTROL
from isolane.conformance.checkers.delivery import DRAIN
from isolane.conformance.checkers.rates import quantile
from isolane.conformance.history import History
from isolane.conformance.report import fault_table, plots, series
from isolane.conformance.report.page import Section
from isolane.conformance.report.plots import Axes, Curve, Plot
from isolane.conformance.report.series import Series, Shade, View
from isolane.conformance.report.tables import Table

MOST_TENANTS = 6
"""Tenants with a curve each; of more, the sick ones are shown together, and so are the healthy ones."""

MOST_PARTITIONS = 24
"""Partitions to choose from: those that fell behind furthest."""

MOST_BINS = 600
"""Bins of a plot: in a longer scenario they are longer, so that a page of a soak can still be opened."""

_STEPS = (series.BIN, 1.0, 2.0, 5.0, 10.0, 30.0, 60.0)
_USUAL = 0.97
"""The part of the values that have room in a plot of rates; a backlog that is delivered at once goes far higher."""


@dataclass(frozen=True, slots=True)
class Group:
    """Tenants that are shown by one curve, its name and its colour."""

    name: str
    colour: str
    tenants: tuple[str, ...]


def section(history: History, title: str, warnings: Sequence[str]) -> Section:
    """Return a scenario's part of the page.

    Args:
        history: What was lived in it.
        title: What it is about.
        warnings: Why to take it with care.
    """
    return Section(
        title=f"Scenario {history.scenario}",
        says=(f"{title[:1].upper()}{title[1:]}.",) if title else (),
        plots=tuple(_plots(history)),
        tables=tuple(fault_table.tables(history, view_of(history))),
        warnings=tuple(warnings),
        anchor=anchor(history.scenario),
    )


def anchor(scenario: str) -> str:
    """Return the name within the page of a scenario's part."""
    return f"scenario-{scenario}"


def view_of(history: History) -> View:
    """Return what is shown of a history: from its control on where it has one, to the end of its drain."""
    phases = history.phases
    began = next((phase for phase in phases if phase.name == CONTROL), phases[0]).began if phases else history.began
    drain = history.phase(DRAIN)
    ended = history.last if drain is None else drain.ended
    step = next((each for each in _STEPS if (ended - began) / each <= MOST_BINS), _STEPS[-1])
    return View(zero=began, began=began, ended=ended, step=step)


def groups_of(history: History) -> tuple[Group, ...]:
    """Return the curves for the tenants of a history, the sick ones first."""
    tenants = history.meta.tenants
    if len(tenants) <= MOST_TENANTS:
        colours = {"sick": iter(plots.SICK), "healthy": iter(plots.HEALTHY_ALL)}
        last = {"sick": plots.SICK[-1], "healthy": plots.HEALTHY_ALL[-1]}
        return tuple(
            Group(
                f"{series.short(history, tenant.name)} ({tenant.role})",
                next(colours[tenant.role], last[tenant.role]),
                (tenant.name,),
            )
            for tenant in sorted(tenants, key=lambda tenant: tenant.role == "healthy")
        )
    by_role = {role: tuple(tenant.name for tenant in tenants if tenant.role == role) for role in ("sick", "healthy")}
    colours_of = {"sick": plots.SICK[0], "healthy": plots.HEALTHY}
    return tuple(
        Group(f"{len(names)} {role} tenants", colours_of[role], names) for role, names in by_role.items() if names
    )


def rates(history: History, axes: Axes) -> Plot:
    """Return the plot of what the clusters accepted: the one that shows at a glance who felt a fault."""
    shades = _shades(history)
    curves = _accepted(history)
    return _summed(plots.rates("Records accepted a second", curves, shades, axes), curves, shades, _mean, "mean")


def axes_of(*histories: History) -> Axes:
    """Return axes on which the rates of each of the histories have room, so that they can be compared."""
    return Axes(
        (0.0, max(view.relative(view.ended) for view in map(view_of, histories))),
        max(_top(_accepted(history)) for history in histories),
    )


def _plots(history: History) -> Iterator[Plot]:
    view, groups = view_of(history), groups_of(history)
    shades = _shades(history)
    times = 0.0, view.relative(view.ended)
    yield rates(history, axes_of(history))
    delays = _curves(groups, lambda tenant: series.delay(history, tenant, view), _most)
    longest = max((value or 0 for curve in delays for value in curve.series.values), default=0)
    title = "Longest delay from due to accepted, by when the record was due"
    axes = Axes(times, max(10.0, 1.2 * longest))
    yield _summed(plots.delays(title, delays, shades, axes), delays, shades, _largest, "seconds, longest")
    if history.attempts:
        opened = _curves(groups, lambda tenant: series.open_requests(history, tenant, view), _most)
        plot = plots.amounts("Requests open at a tenant's cluster", opened, shades, times, "%{y:.0f}")
        yield _summed(plot, opened, shades, _largest, "most")
    if memory := series.memory(history, view):
        resident = _resident(memory)
        plot = plots.amounts("Memory resident, MiB", resident, shades, times, "%{y:,.0f} MiB")
        yield _summed(plot, resident, shades, _largest, "MiB, most")
    if shown := _partitions(history, view):
        yield plots.choosing("Records of one partition", shown, shades, times)


def _shades(history: History) -> tuple[Shade, ...]:
    return tuple(each.shade for each in fault_table.numbered(history, view_of(history)))


def _accepted(history: History) -> tuple[Curve, ...]:
    view = view_of(history)
    return _curves(groups_of(history), lambda tenant: series.accepted_rate(history, tenant, view), _sum)


def _curves(
    groups: Sequence[Group],
    of_tenant: Callable[[str], Series],
    together: Callable[[Sequence[float | None]], float | None],
) -> tuple[Curve, ...]:
    curves = []
    for group in groups:
        each = [of_tenant(tenant) for tenant in group.tenants]
        values = tuple(together(column) for column in zip(*(line.values for line in each), strict=True))
        curves.append(Curve(group.name, group.colour, Series(each[0].times, values)))
    return tuple(curves)


def _resident(memory: Mapping[str, Series]) -> tuple[Curve, ...]:
    colours = (*plots.HEALTHY_ALL, *plots.SICK)
    return tuple(
        Curve(f"member {member}", colours[number % len(colours)], line)
        for number, (member, line) in enumerate(memory.items())
    )


def _partitions(history: History, view: View) -> dict[str, tuple[Curve, ...]]:
    """Return what became of the partitions that fell behind furthest, the worst first."""
    lines = {
        place: series.progress(history, place, view)
        for place in history.by_partition
        if place[0] in history.meta.owners
    }
    worst = sorted(lines, key=lambda place: -_behind(*lines[place]))[:MOST_PARTITIONS]
    return {
        f"{history.topic(topic).removesuffix(f'-{history.meta.run}')}/{partition}": (
            Curve("produced", plots.OFFERED, lines[topic, partition][0].thinned()),
            Curve("accepted or put aside", plots.HEALTHY, lines[topic, partition][1].thinned()),
            Curve("committed past", plots.SICK[0], lines[topic, partition][2].thinned()),
        )
        for topic, partition in sorted(worst, key=lambda place: -_behind(*lines[place]))
    }


def _behind(produced: Series, finished: Series, _committed: Series) -> float:
    return sum((made or 0) - (done or 0) for made, done in zip(produced.values, finished.values, strict=True))


def _summed(
    plot: Plot,
    curves: Sequence[Curve],
    shades: Sequence[Shade],
    together: Callable[[Sequence[float]], float],
    what: str,
) -> Plot:
    """Return the plot with a table of what it shows: a row for each curve, a column for each fault."""
    healthy = [(-math.inf, shades[0].began)] if shades else [(-math.inf, math.inf)]
    columns = ("before the first fault" if shades else "throughout", *(f"fault {shade.label}" for shade in shades))
    stretches = [*healthy, *((shade.began, shade.ended) for shade in shades)]
    rows = tuple(
        (curve.name, *(_within(curve.series, *stretch, together) for stretch in stretches)) for curve in curves
    )
    return replace(plot, summary=Table(f"{plot.title} ({what})", ("", *columns), rows))


def _within(line: Series, began: float, ended: float, together: Callable[[Sequence[float]], float]) -> str:
    values = [
        value for at, value in zip(line.times, line.values, strict=True) if value is not None and began <= at < ended
    ]
    return f"{together(values):,.3g}" if values else "—"


def _top(curves: Sequence[Curve]) -> float:
    values = [value for curve in curves for value in curve.series.values if value is not None]
    return max(1.0, 1.15 * quantile(values, _USUAL)) if values else 1.0


def _sum(values: Sequence[float | None]) -> float | None:
    return sum(value or 0 for value in values)


def _most(values: Sequence[float | None]) -> float | None:
    return max((value for value in values if value is not None), default=None)


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)


def _largest(values: Sequence[float]) -> float:
    return max(values)
