"""The faults of a history as the plots number them, and the table that says what the numbers stand for."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from isolane.conformance.history import History
from isolane.conformance.history_values import Fault
from isolane.conformance.report.series import Shade, View, short
from isolane.conformance.report.tables import Table

CAPTION = "Faults, as they are numbered in the plots"

AT_ONCE = 1.0
"""Seconds within which the same fault at several clusters begins, and ends, to be one: they are told one by one."""

_MOST_NAMED = 6


@dataclass(frozen=True, slots=True)
class Numbered:
    """A fault at one cluster, or the same at several clusters at once.

    Attributes:
        faults: One for each cluster.
        shade: From the first onset to the last heal, within what is shown; its label is the number.
    """

    faults: tuple[Fault, ...]
    shade: Shade


def numbered(history: History, view: View) -> tuple[Numbered, ...]:
    """Return the faults in the view, numbered from 1: words would not fit into a small plot."""
    alike: list[list[Fault]] = []
    for fault in history.faults:
        if fault.began < view.ended and fault.ended > view.began:
            same = next((group for group in alike if _is_one(group[0], fault)), None)
            if same is None:
                alike.append([fault])
            else:
                same.append(fault)
    return tuple(
        Numbered(
            tuple(group),
            Shade(
                view.relative(max(group[0].began, view.began)),
                view.relative(min(max(fault.ended for fault in group), view.ended)),
                str(number),
            ),
        )
        for number, group in enumerate(alike, start=1)
    )


def tables(history: History, view: View) -> Iterator[Table]:
    """Yield the table that says what the numbers in the plots stand for; none where there was no fault."""
    rows = tuple(_row(history, each) for each in numbered(history, view))
    if rows:
        yield Table(CAPTION, ("", "fault", "when", "tenants", "their clusters"), rows, prose=True)


def _is_one(first: Fault, other: Fault) -> bool:
    return (
        (first.name, first.script) == (other.name, other.script)
        and other.began - first.began < AT_ONCE
        and (first.ended == other.ended or abs(other.ended - first.ended) < AT_ONCE)
    )


def _row(history: History, each: Numbered) -> tuple[str, ...]:
    names = [short(history, fault.tenant) for fault in each.faults]
    first, shade = each.faults[0], each.shade
    return (
        shade.label,
        first.name,
        f"{shade.began:.1f} to {shade.ended:.1f}\N{NO-BREAK SPACE}s",
        ", ".join(names) if len(names) <= _MOST_NAMED else f"{len(names)} tenants",
        in_words(first.script),
    )


def in_words(script: Mapping[str, Any]) -> str:
    """Return what a cluster was told to do: each setting with its value; of what is switched on, the name only."""
    return ", ".join(f"{name.replace('_', ' ')}{_value(value)}" for name, value in script.items())


def _value(value: object) -> str:
    if value is True:
        return ""
    if isinstance(value, Mapping):
        return f" ({in_words(value)})"
    if isinstance(value, Sequence) and not isinstance(value, str):
        return f" ({'; '.join(in_words(each) if isinstance(each, Mapping) else str(each) for each in value)})"
    return f" {value:g}" if isinstance(value, float) else f" {value}"
