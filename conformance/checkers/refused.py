"""OPS-2: a wrong configuration is refused before a group is joined, with a message that names the field."""

from __future__ import annotations

from collections.abc import Iterator

from isolane.conformance.checkers import harness
from isolane.conformance.checkers.cases import Judge
from isolane.conformance.history import History
from isolane.conformance.history_values import Event
from isolane.conformance.verdict import Figure, Finding

LATE = 1.0
"""Seconds after its end in which Kafka may still show a process as a member."""


def check(history: History) -> list[Finding]:
    """Return the findings on OPS-2, one for each wrong configuration, where the scenario declares it."""
    if "OPS-2" not in history.meta.judges:
        return []
    tried = [event for event in history.events if event.kind == "wrong"]
    if not tried:
        return [Judge(history, "OPS-2").doubts("no wrong configuration was tried", {})]
    return [_judged(history, event) for event in tried]


def _judged(history: History, event: Event) -> Finding:
    field, seconds = str(event.detail["field"]), float(event.detail["seconds"])
    judge, code, joined = Judge(history, "OPS-2", field), event.detail["code"], _has_joined(history, event)
    figures = {"seconds until it ended": Figure(seconds, "s")}
    if code is not None:
        figures["exit code"] = Figure(int(code), "", "≠ 0")
    elif not joined and (doubt := _starved(history, event)):
        return judge.doubts(
            f"the process with a mistake in {field} had not ended after {seconds:.0f} s, but {doubt}", figures
        )
    if wrong := [*_wrong(event), *(["a group was joined"] if joined else [])]:
        return judge.violates(f"a configuration with a mistake in {field}: {'; '.join(wrong)}", figures)
    return judge.passes(f"a mistake in {field} was refused, and named", figures)


def _wrong(event: Event) -> Iterator[str]:
    code, words = event.detail["code"], str(event.detail["words"])
    if code is None:
        yield "the process did not end"
    elif code == 0:
        yield "the process ended as if all were well, with exit code 0"
    if str(event.detail["field"]) not in words:
        yield f"its output does not name the field; it ends: {words.strip().splitlines()[-1:]}"


def _has_joined(history: History, event: Event) -> bool:
    began = event.at - float(event.detail["seconds"])
    return any(state.members and began < state.at <= event.at + LATE for state in history.groups)


def _starved(history: History, event: Event) -> str | None:
    """Return that the machine had no time for the process, so that it may not have come to look at its file."""
    phase = next((each for each in history.phases if each.began <= event.at <= each.ended), None)
    return harness.starved(history, phase) if phase else None
