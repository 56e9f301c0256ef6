"""Plots as Plotly describes them, in JSON. Nothing is drawn here: the page's script does that.

A colour is the name of one of the page's CSS properties (`--healthy`); the script puts in what it is under the
reader's colour scheme. The one module that imports plotly, which ships no types.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from plotly import offline

from isolane.conformance.report.series import Series, Shade
from isolane.conformance.report.tables import Table

HEALTHY = "--healthy"
HEALTHY_ALL = (HEALTHY, "--healthy-second", "--healthy-third", "--healthy-fourth")
SICK = ("--sick-first", "--sick-second", "--sick-third", "--sick-fourth", "--sick-fifth")
OFFERED = "--offered"
_INK, _FAINT, _RULE, _SHADE, _SURFACE = "--ink", "--faint", "--rule", "--shade", "--surface"

_SHORTEST = 0.003
"""Seconds of delay below which differences are the harness's as much as the implementation's."""

_LETTER = 1 / 50
"""The part of a plot's width that a letter of a label takes where the plot is narrowest: on a telephone."""

_TICKS = (0.01, 0.1, 1.0, 10.0, 100.0)
_TICK_LABELS = ("10 ms", "0.1 s", "1 s", "10 s", "100 s")


@dataclass(frozen=True, slots=True)
class Curve:
    """A series with its name and colour; `dashed` for what is only there to compare with."""

    name: str
    colour: str
    series: Series
    dashed: bool = False


@dataclass(frozen=True, slots=True)
class Axes:
    """What plots share, so that they can be compared: the times shown, and the largest value.

    Attributes:
        times: First and last second.
        top: The largest value that has room. Higher ones leave the plot, and its title says how high they went.
    """

    times: tuple[float, float]
    top: float


@dataclass(frozen=True, slots=True)
class Plot:
    """One plot.

    Attributes:
        title: What it shows; also its text for who cannot see it.
        figure: Its data and layout, for Plotly.
        height: In pixels.
        keys: Name, colour and whether dashed, of each curve.
        summary: The same in figures, for who cannot see it; None: other tables of the page have them.
        choices: Other data that it can show, by name, the one shown first included; empty: there is no choice.
    """

    title: str
    figure: dict[str, Any]
    height: int
    keys: tuple[tuple[str, str, bool], ...]
    summary: Table | None = None
    choices: Mapping[str, list[dict[str, Any]]] = field(default_factory=dict)


def library() -> str:
    """Return the source of plotly.js."""
    source: str = offline.get_plotlyjs()
    return source


def rates(title: str, curves: Sequence[Curve], shades: Sequence[Shade], axes: Axes) -> Plot:
    """Plot rates in records a second over time, faults shaded."""
    highest = max((value or 0 for curve in curves for value in curve.series.values), default=0)
    if highest > axes.top:
        title = f"{title}; peaks reach {highest:,.0f}"
    layout = _layout(shades, axes.times)
    layout["yaxis"] |= {"range": [0, axes.top], "nticks": 6}
    return Plot(title, {"data": _traces(curves, "%{y:,.0f}/s", "hvh"), "layout": layout}, 230, _keys(curves))


def delays(title: str, curves: Sequence[Curve], shades: Sequence[Shade], axes: Axes) -> Plot:
    """Plot delays in seconds over time on a logarithmic scale, faults shaded."""
    layout = _layout(shades, axes.times)
    layout["yaxis"] |= {
        "type": "log",
        "range": [math.log10(_SHORTEST), math.log10(axes.top)],
        "tickvals": _TICKS,
        "ticktext": _TICK_LABELS,
    }
    return Plot(title, {"data": _traces(curves, "%{y:.3f} s", "linear"), "layout": layout}, 150, _keys(curves))


def amounts(
    title: str, curves: Sequence[Curve], shades: Sequence[Shade], times: tuple[float, float], value: str
) -> Plot:
    """Plot amounts over time from zero on, faults shaded; `value` is how one is written, as Plotly formats it."""
    layout = _layout(shades, times)
    layout["yaxis"] |= {"rangemode": "tozero", "nticks": 5}
    return Plot(title, {"data": _traces(curves, value, "linear"), "layout": layout}, 150, _keys(curves))


def choosing(
    title: str, shown: Mapping[str, Sequence[Curve]], shades: Sequence[Shade], times: tuple[float, float]
) -> Plot:
    """Plot one of several sets of curves, which the reader chooses by name; they are alike but for their values."""
    first = next(iter(shown.values()))
    plot = amounts(title, first, shades, times, "%{y:,.0f}")
    return replace(
        plot, height=200, choices={name: _traces(curves, "%{y:,.0f}", "linear") for name, curves in shown.items()}
    )


def _keys(curves: Sequence[Curve]) -> tuple[tuple[str, str, bool], ...]:
    return tuple((curve.name, curve.colour, curve.dashed) for curve in curves)


def _traces(curves: Sequence[Curve], value: str, shape: str) -> list[dict[str, Any]]:
    """Return the curves as traces; each is thinner than the one beneath it, which so shows where they meet."""
    thicker = min(1.5, 4 / len(curves))
    return [
        {
            "type": "scatter",
            "mode": "lines",
            "name": curve.name,
            "x": curve.series.times,
            "y": curve.series.values,
            "line": {"color": curve.colour, "width": 1.25, "dash": "4px,4px"}
            if curve.dashed
            else {"color": curve.colour, "width": 2 + thicker * (len(curves) - number), "shape": shape},
            "hovertemplate": f"{value}<extra>%{{fullData.name}}</extra>",
        }
        for number, curve in enumerate(curves, start=1)
    ]


def _layout(shades: Sequence[Shade], times: tuple[float, float]) -> dict[str, Any]:
    axis = {
        "gridcolor": _RULE,
        "zeroline": False,
        "linecolor": _FAINT,
        "tickcolor": _FAINT,
        "ticks": "outside",
        "ticklen": 4,
        "automargin": False,
    }
    return {
        "margin": {"l": 50, "r": 12, "t": 24, "b": 30},
        "paper_bgcolor": _SURFACE,
        "plot_bgcolor": _SURFACE,
        "font": {"family": "system-ui, sans-serif", "size": 12, "color": _INK},
        "hovermode": "x unified",
        "hoverlabel": {"bgcolor": _SURFACE, "bordercolor": _FAINT, "font": {"color": _INK}},
        "showlegend": False,
        "xaxis": axis
        | {
            "range": list(times),
            "nticks": 12,
            "ticksuffix": " s",
            "showgrid": False,
            "hoverformat": ".2f",
        },
        "yaxis": axis | {"ticks": "", "linecolor": _SURFACE},
        "shapes": [_rectangle(shade) for shade in shades],
        "annotations": [_label(shade) for shade in _labelled(shades, times)],
    }


def _labelled(shades: Sequence[Shade], times: tuple[float, float]) -> list[Shade]:
    """Return the shades whose labels have room: of those that begin close to each other only the first."""
    letter = _LETTER * (times[1] - times[0])
    shown: list[Shade] = []
    free = -math.inf
    for shade in sorted(shades, key=lambda shade: shade.began):
        if shade.label and shade.began >= free:
            shown.append(shade)
            free = shade.began + (len(shade.label) + 0.5) * letter
    return shown


def _rectangle(shade: Shade) -> dict[str, Any]:
    return {
        "type": "rect",
        "layer": "below",
        "xref": "x",
        "yref": "paper",
        "x0": shade.began,
        "x1": shade.ended,
        "y0": 0,
        "y1": 1,
        "fillcolor": _SHADE,
        "line": {"color": _FAINT, "width": 1, "dash": "dot"},
    }


def _label(shade: Shade) -> dict[str, Any]:
    return {
        "text": shade.label,
        "x": shade.began,
        "xanchor": "left",
        "yref": "paper",
        "y": 1,
        "yanchor": "bottom",
        "showarrow": False,
        "font": {"color": _INK, "size": 12},
    }
