"""Bites: whether everything in a timeline did anything; what was judged beside a fault that did not, is in doubt."""

from __future__ import annotations

import math

from isolane.conformance.checkers.happenings import MOVING, Happening, happenings
from isolane.conformance.history import History
from isolane.conformance.verdict import HARNESS, Figure, Finding, Verdict


def check(history: History) -> list[Finding]:
    """Return how often everything bit, and a doubt on each requirement that is declared beside what did not."""
    found = happenings(history)
    if not found:
        return []
    figures = {each.case: Figure(each.bites or 0, each.bite, "≥ 1") for each in found.values()}
    doubts = {each.case: doubt for each in found.values() if (doubt := _doubt(each))}
    formed = rebalances(history)
    if formed is not None and any(each.name in MOVING for each in found.values()):
        figures["rebalances"] = Figure(formed, "", "≥ 1")
        if not formed:
            doubts["rebalances"] = "members came or went, and the group was never formed anew"
    verdict = Verdict.INCONCLUSIVE if doubts else Verdict.PASS
    summary = "; ".join(doubts.values()) or f"everything bit that was to happen ({len(found)})"
    return [
        Finding(HARNESS, history.scenario, verdict, summary, "bites", figures),
        *(
            Finding(requirement, history.scenario, Verdict.INCONCLUSIVE, doubt, case)
            for requirement in history.meta.judges
            for case, doubt in doubts.items()
        ),
    ]


def rebalances(history: History) -> int | None:
    """Return how often the group was formed anew, by its generations; None where nobody may see those."""
    generations = [state.generation for state in history.groups if state.generation is not None]
    return max(generations) - min(generations) if generations else None


def _doubt(each: Happening) -> str | None:
    """Return why it tried nothing; None when it did."""
    if each.ended == math.inf:
        return f"the run ended during {each.case}"
    return None if each.bites else f"{each.case} did not bite: no {each.bite}"
