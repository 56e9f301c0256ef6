"""What a scenario really did to an implementation: the load it was offered, what it can do, and how its faults bit."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from isolane.conformance.history import History


@dataclass(frozen=True, slots=True)
class Measured:
    """What was measured in one scenario.

    Attributes:
        capacity: Records a second that were delivered with no fault, in a burst; None where that was not measured.
        offered: Records a second that the open loop offered at most, all tenants together; None where it offered none.
        bites: How many exchanges each fault affected, by its name and tenant.
    """

    capacity: float | None = None
    offered: float | None = None
    bites: dict[str, int] = field(default_factory=dict)

    @classmethod
    def of(cls, history: History) -> Measured:
        """Return what a history tells of it."""
        loads = [event for event in history.events if event.kind == "load"]
        capacities = [float(each.detail["records_per_second"]) for each in loads if each.name == "capacity"]
        offered = [sum(each.detail["rates"].values()) for each in loads if each.name == "rates"]
        bites: Counter[str] = Counter()
        for event in history.events:
            if event.kind == "heal" and "bitten" in event.detail:
                tenant = event.detail["tenant"].removesuffix(f"-{history.meta.run}")
                bites[f"{event.name} at {tenant}"] += int(event.detail["bitten"])
        return cls(
            capacity=round(capacities[-1], 1) if capacities else None,
            offered=round(max(offered), 1) if offered else None,
            bites=dict(bites),
        )
