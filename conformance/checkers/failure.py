"""How a violation is told: one sentence, and the story of one record that suffered."""

from __future__ import annotations

from collections.abc import Mapping

from isolane.conformance.checkers.story import story
from isolane.conformance.history import History
from isolane.conformance.history_values import Produced
from isolane.conformance.verdict import Figure, Finding, Verdict


def failure(
    history: History, requirement: str, case: str, sentence: str, record: Produced, *, figures: Mapping[str, Figure]
) -> Finding:
    """Return the finding that a requirement was violated in a case of a history, shown by one record."""
    return Finding(
        requirement,
        history.scenario,
        Verdict.FAIL,
        sentence,
        case=case,
        figures=figures,
        evidence=(record.token,),
        story=story(history, record),
    )
