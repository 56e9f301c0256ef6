"""DEL-9: what is sent again is the same document again: its id is its own, and a conflict on it means accepted."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from isolane.conformance.checkers import cases
from isolane.conformance.checkers.cases import Judge
from isolane.conformance.history import History
from isolane.conformance.history_ledger import is_accepted
from isolane.conformance.history_sendings import Answer, Sending
from isolane.conformance.verdict import Figure, Finding

FEWEST = 10
"""Items that must have been sent again after their cluster had them: without a replay there is nothing to see."""

_CREATED = 201
_CONFLICT = 409


def check(history: History) -> list[Finding]:
    """Return the finding on DEL-9; none where too little was replayed, unless the scenario declares it.

    Nor on real clusters, which tell of no replies: see `documents`.
    """
    if history.searches:
        return []
    twice = [token for token, sendings in history.sendings.items() if _created(sendings) > 1]
    foreign = [token for token, sendings in history.sendings.items() if _meets_another(sendings)]
    unlearned = [token for token, sendings in history.sendings.items() if _is_unlearned(history, sendings)]
    replayed = sum(_is_replayed(sendings) for sendings in history.sendings.values())
    accepted = sum(any(is_accepted(each.status) for each in sendings) for sendings in history.sendings.values())
    counted = [int(event.detail["documents"]) for event in history.events if event.kind == "documents"]
    if replayed < FEWEST and "DEL-9" not in history.meta.judges:
        return []
    judge = Judge(history, "DEL-9")
    figures = {
        "items accepted": Figure(accepted),
        "of those sent again afterwards": Figure(replayed, "", f"≥ {FEWEST}"),
        "documents in the clusters": Figure(sum(counted), "", f"= {accepted}") if counted else Figure(accepted),
        "items with more than one document": Figure(len(twice), "", "= 0"),
        "items with an id of another": Figure(len(foreign), "", "= 0"),
        "items sent again after a conflict": Figure(len(unlearned), "", "= 0"),
    }
    for what, tokens in (
        ("records with items that became more than one document", twice),
        ("records with an id that belongs to another", foreign),
        ("records sent again though a conflict had told that they are there", unlearned),
    ):
        if suffered := cases.records(history, tokens):
            return [judge.fails(what, suffered, figures)]
    if replayed < FEWEST:
        seen = f"items sent again after their cluster had them: {replayed}, the least are {FEWEST}"
        return [judge.doubts(seen, figures)]
    if counted and sum(counted) != accepted:
        return [judge.doubts(f"the clusters hold {sum(counted)} documents of {accepted} items", figures)]
    return [judge.passes(f"every item is one document, however often it was sent ({replayed} were replayed)", figures)]


def _created(sendings: Sequence[Sending]) -> int:
    return sum(each.status == _CREATED for each in sendings)


def _meets_another(sendings: Sequence[Sending]) -> bool:
    """Whether the cluster says of the first write that the id is there already."""
    first = next((each for each in sendings if is_accepted(each.status)), None)
    return first is not None and first.status != _CREATED


def _is_replayed(sendings: Sequence[Sending]) -> bool:
    return any(is_accepted(first.status) for first, _ in pairwise(sendings))


def _is_unlearned(history: History, sendings: Sequence[Sending]) -> bool:
    """Whether an item was sent again after a whole reply that told of its conflict, by a sender that knew."""
    return any(
        first.status == _CONFLICT
        and first.answer is Answer.CONFIRMED
        and first.attempt.answered is not None
        and not cases.interrupted(history, first.attempt.answered, then.attempt.arrived)
        for first, then in pairwise(sendings)
    )
