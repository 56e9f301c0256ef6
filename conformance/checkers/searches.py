"""Searches of real clusters, as checkers see them: whether they tell enough."""

from __future__ import annotations

import math
from collections import Counter

from isolane.conformance.history import History


def fewest(history: History) -> int:
    """Return how often the tenant's cluster was searched completely of which that can be said least often."""
    complete = Counter(search.tenant for search in history.searches if search.error is None)
    return min((complete[tenant.name] for tenant in history.meta.tenants), default=0)


def latest(history: History, tenant: str) -> float:
    """Return when the latest complete search of the tenant's cluster began; minus infinity when there was none."""
    complete = (search.began for search in history.searches if search.tenant == tenant and search.error is None)
    return max(complete, default=-math.inf)


def silence(history: History, tenant: str) -> str:
    """Return why nothing is known of the tenant's cluster since the latest complete search."""
    searches = [search for search in history.searches if search.tenant == tenant]
    if searches and searches[-1].error is not None:
        return f"{tenant}'s cluster could not be searched since: {searches[-1].error}"
    return f"{tenant}'s cluster was not searched since"


def blindness(history: History) -> str | None:
    """Return why it is not known what real clusters held in the end; None where it is, or where they were scripted."""
    if not history.searches:
        return None
    end = next((event.at for event in history.events if (event.kind, event.name) == ("phase", "end")), math.inf)
    for tenant in history.meta.tenants:
        searches = [search for search in history.searches if search.tenant == tenant.name and search.began >= end]
        if all(search.error is not None for search in searches):
            why = searches[-1].error if searches else "the run had ended before"
            return f"{tenant.name}'s cluster could not be searched in the end: {why}"
    return None
