"""DEL-1: no record is lost."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from isolane.conformance.checkers import draining, harness, searches
from isolane.conformance.checkers.story import story
from isolane.conformance.history import History
from isolane.conformance.history_values import Produced
from isolane.conformance.verdict import Figure, Finding, Verdict

DRAIN = "drain"


def check(history: History) -> list[Finding]:
    """Return the finding on DEL-1: after the drain every produced record of an owned topic is finished, or held.

    Held are records that cannot be decoded, and what is behind them, where that is what the descriptor says becomes of
    them: nothing may be committed past those.
    """
    owned = [record for records in history.by_tenant.values() for record in records]
    unfinished = sorted(
        (record for record in owned if history.finished_at(record) == math.inf), key=lambda record: record.acked
    )
    held = _held(history, unfinished)
    passed = [record for record in unfinished if history.committed_past(record) < math.inf]
    lost = {record.record for record in passed}
    left = [record for record in unfinished if record.record not in lost and not held(record)]
    figures = {
        "produced": Figure(len(owned), "records"),
        "finished": Figure(len(owned) - len(unfinished), "records"),
        "lost (committed past, never finished)": Figure(len(passed), "", "= 0"),
        "left (neither committed nor finished)": Figure(len(left), "", "= 0"),
    }
    missing = passed + left
    reason = _doubt(history, owned, missing, lost=bool(passed))
    if reason is not None:
        return [Finding("DEL-1", history.scenario, Verdict.INCONCLUSIVE, reason, figures=figures)]
    if missing:
        return [_failed(history, passed, missing, figures)]
    summary = f"every record was finished by the end of the drain ({len(owned)})"
    return [Finding("DEL-1", history.scenario, Verdict.PASS, summary, figures=figures)]


def _doubt(history: History, owned: Sequence[Produced], missing: Sequence[Produced], *, lost: bool) -> str | None:
    drain = history.phase(DRAIN)
    if not owned:
        return "nothing was produced"
    if drain is None or not drain.complete:
        return f"the run ended before its drain was over (records not finished: {len(missing)})"
    if blind := searches.blindness(history):
        return blind
    if not missing or lost:
        return None
    reason = harness.starved(history, drain) or draining.going_on(history, drain, missing)
    return f"records were not finished in time ({len(missing)}), but {reason}" if reason else None


def _failed(
    history: History, passed: Sequence[Produced], missing: Sequence[Produced], figures: dict[str, Figure]
) -> Finding:
    first = (passed or missing)[0]
    fate = (
        f"records lost, committed past and never finished: {len(passed)}"
        if passed
        else f"records left, not finished by the end of the drain: {len(missing)}"
    )
    return Finding(
        "DEL-1",
        history.scenario,
        Verdict.FAIL,
        f"{fate}; first {history.place(first)}",
        figures=figures,
        evidence=tuple(record.token for record in (passed or missing)[:10]),
        story=story(history, first),
    )


def _held(history: History, unfinished: Sequence[Produced]) -> Callable[[Produced], bool]:
    """Return whether a record is one that is held as configured, or is behind one."""
    first: dict[tuple[int, int], float] = {}
    if history.meta.dead_letter.undecodable == "hold":
        for record in unfinished:
            if record.kind == "poison":
                place = record.topic, record.partition
                first[place] = min(record.offset, first.get(place, math.inf))
    return lambda record: record.offset >= first.get((record.topic, record.partition), math.inf)
