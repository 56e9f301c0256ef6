"""TEN-2: a record is only ever sent to its own topic's tenant's cluster."""

from __future__ import annotations

from collections.abc import Iterator

from isolane.conformance.checkers.story import story
from isolane.conformance.history import History
from isolane.conformance.tokens import ITEM_BITS, Token, run_of, topic_of
from isolane.conformance.verdict import Figure, Finding, Verdict


def check(history: History) -> list[Finding]:
    """Return the finding on TEN-2; none where fewer than two tenants could be mixed up."""
    meta = history.meta
    if len(meta.tenants) < 2:
        return []
    items = unmarked = 0
    reached: set[str] = set()
    strays: dict[int, str] = {}
    for tenant, token in _arrivals(history):
        items += 1
        if token is None or run_of(token >> ITEM_BITS) != meta.run_number:
            unmarked += 1
            continue
        if meta.owners.get(topic_of(token >> ITEM_BITS)) == tenant:
            reached.add(tenant)
        else:
            strays.setdefault(token >> ITEM_BITS, tenant)
    figures = {
        "items found" if history.searches else "items sent": Figure(items),
        "items without a token of this run": Figure(unmarked),
        "tenants reached": Figure(len(reached), f"of {len(meta.tenants)}", "≥ 2"),
        "records at a foreign cluster": Figure(len(strays), "", "= 0"),
    }
    if strays:
        return [_failed(history, strays, figures)]
    if len(reached) < 2:
        summary = f"too few tenants' clusters saw records of their own to mix anything up: {len(reached)}"
        return [Finding("TEN-2", history.scenario, Verdict.INCONCLUSIVE, summary, figures=figures)]
    came = "found in" if history.searches else "sent to"
    summary = f"every item was {came} its own tenant's cluster ({items - unmarked} items, {len(reached)} tenants)"
    return [Finding("TEN-2", history.scenario, Verdict.PASS, summary, figures=figures)]


def _arrivals(history: History) -> Iterator[tuple[str, int | None]]:
    """Yield each item that was sent to a cluster, or found in a real one: whose that is, and the token's number."""
    for attempt in history.attempts:
        for token in attempt.tokens():
            yield attempt.tenant, token
    for document in history.documents:
        for item in document.items or (None,):
            yield document.tenant, item


def _failed(history: History, strays: dict[int, str], figures: dict[str, Figure]) -> Finding:
    first, cluster = next(iter(strays.items()))
    owner = history.meta.owners.get(topic_of(first)) or "no tenant"
    produced = history.find(first)
    place = history.place(produced) if produced else f"a record of {history.topic(topic_of(first))}"
    return Finding(
        "TEN-2",
        history.scenario,
        Verdict.FAIL,
        f"records sent to a foreign cluster: {len(strays)}; first {place}, owned by {owner}, at {cluster}'s",
        figures=figures,
        evidence=tuple(str(Token.of_record(record)) for record in list(strays)[:10]),
        story=story(history, produced) if produced else (),
    )
