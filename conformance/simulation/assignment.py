"""Who gets which partitions in a rebalance. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal

from isolane.reference.consumer import TopicPartition

Protocol = Literal["eager", "cooperative"]
"""Whether members give everything back before each rebalance, or only what another one gets."""

Places = tuple[TopicPartition, ...]


def eager(members: Sequence[str], places: Sequence[TopicPartition], generation: int) -> dict[str, Places]:
    """Deal the partitions out in turn, in each generation from another member on, so that most of them move."""
    if not members:
        return {}
    first = generation % len(members)
    order = [*members[first:], *members[:first]]
    return {member: tuple(places[number :: len(order)]) for number, member in enumerate(order)}


def cooperative(owned: Mapping[str, Places], places: Sequence[TopicPartition]) -> dict[str, Places]:
    """Let each member keep what it owns, up to its part; what is to move is given to nobody until it was given back.

    Args:
        owned: What each member says that it owns; no partition twice.
        places: All partitions, in order.
    """
    if not owned:
        return {}
    members = sorted(owned, key=lambda member: (-len(owned[member]), member))
    part, more = divmod(len(places), len(members))
    parts = {member: part + (number < more) for number, member in enumerate(members)}
    existing = dict.fromkeys(places)
    kept = {
        member: tuple(place for place in sorted(owned[member]) if place in existing)[: parts[member]]
        for member in members
    }
    claimed = {place for claims in owned.values() for place in claims}
    free = [place for place in places if place not in claimed]
    assigned = {}
    for member in members:
        room = parts[member] - len(kept[member])
        assigned[member] = (*kept[member], *free[:room])
        del free[:room]
    return assigned
