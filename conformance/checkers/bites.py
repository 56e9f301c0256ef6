"""Bites: whether everything in a timeline did anything; what was judged beside a fault that did not, is in doubt."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from isolane.conformance.history import History
from isolane.conformance.verdict import HARNESS, Figure, Finding, Verdict

CHAOS = "chaos"
"""The kind of the events that tell of a timeline."""

_MOVING = frozenset({"kill", "stop", "crash_loop", "rolling", "scale"})
"""What makes members come or go, so that partitions must change hands."""


@dataclass(slots=True)
class Happening:
    """What a history tells of one thing that was to happen: how often it bit, once it had ended."""

    name: str
    number: int
    bites: int | None = None
    bite: str = ""
    over: bool = field(default=False)

    @property
    def case(self) -> str:
        """Its name and number."""
        return f"{self.name}-{self.number}"

    @property
    def doubt(self) -> str | None:
        """Why it tried nothing; None when it did."""
        if not self.over:
            return f"the run ended during {self.case}"
        return None if self.bites else f"{self.case} did not bite: no {self.bite}"


def check(history: History) -> list[Finding]:
    """Return how often everything bit, and a doubt on each requirement that is declared beside what did not."""
    found = happenings(history)
    if not found:
        return []
    figures = {each.case: Figure(each.bites or 0, each.bite, "≥ 1") for each in found.values()}
    doubts = {each.case: each.doubt for each in found.values() if each.doubt}
    formed = rebalances(history)
    if formed is not None and any(each.name in _MOVING for each in found.values()):
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


def happenings(history: History) -> Mapping[int, Happening]:
    """Return what happened in a history's timeline, by number."""
    found: dict[int, Happening] = {}
    for event in history.events:
        if event.kind == CHAOS:
            number = int(event.detail["number"])
            each = found.setdefault(number, Happening(event.name, number))
            if event.detail["part"] == "ended":
                each.bites, each.bite = int(event.detail["bites"]), str(event.detail["bite"])
            each.over = each.over or event.detail["part"] == "over"
    return found
