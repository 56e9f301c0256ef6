"""How much may be in flight in one partition, and be held by the process. Pure: no threads, no clock.

Something is in flight from its admission until its final outcome, waiting and retrying included. The process holds it
from its fetch on.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence


class Allowance:
    """The records and bytes that one partition may have in flight (MEM-1, MEM-2)."""

    __slots__ = ("_max_bytes", "_max_records", "bytes", "records")

    def __init__(self, max_records: int, max_bytes: int) -> None:
        """Take the bounds."""
        self._max_records = max_records
        self._max_bytes = max_bytes
        self.records = 0
        self.bytes = 0

    def room(self, sizes: Sequence[int]) -> int:
        """Return how many of the next records, of these sizes in bytes, may be admitted now.

        A record larger than the allowance is admitted when nothing else is in flight: it goes alone (MEM-3).
        """
        records, size = self.records, self.bytes
        for count, wanted in enumerate(sizes):
            if records and (records >= self._max_records or size + wanted > self._max_bytes):
                return count
            records += 1
            size += wanted
        return len(sizes)

    def admit(self, sizes: Sequence[int]) -> None:
        """Count records of these sizes as in flight; `room` said that they may be."""
        self.records += len(sizes)
        self.bytes += sum(sizes)

    def release(self, records: int, size: int) -> None:
        """Count records with `size` bytes together as in flight no more."""
        self.records -= records
        self.bytes -= size
        assert self.records >= 0, "more records were released than admitted"
        assert self.bytes >= 0, "more bytes were released than admitted"


class Budget:
    """The bytes that the process may hold of all partitions together, fetched and in flight (MEM-6).

    It says of whom more may be fetched, so that nothing that was fetched ever waits for it. A tenant of which nothing
    is held always has room: nobody is starved by the others. Tenants at risk hold at most half of the budget
    together: the sick cannot eat the part of the healthy.
    """

    __slots__ = ("_at_risk", "_limit", "_tenants", "bytes")

    def __init__(self, limit: int, at_risk: Callable[[str], bool]) -> None:
        """Take the bound in bytes, and who tells whether a tenant is at risk, or accepts nothing for another reason."""
        self._limit = limit
        self._at_risk = at_risk
        self._tenants: dict[str, int] = {}  # without those of whom nothing is held
        self.bytes = 0

    def hold(self, tenant: str, change: int) -> None:
        """Count so many bytes of `tenant` as held, beside those that are; or fewer, if it is less than none."""
        held = self._tenants.pop(tenant, 0) + change
        assert held >= 0, "more bytes were released than held"
        if held:
            self._tenants[tenant] = held
        self.bytes += change

    def rooms(self) -> Mapping[str, int]:
        """Return how many bytes more may be held of each tenant, or by how many there are too many.

        A tenant that is not named has nothing, and room for whatever its next fetch brings.
        """
        left = self._limit - self.bytes
        risky = {tenant: held for tenant, held in self._tenants.items() if self._at_risk(tenant)}
        share = min(left, self._limit // 2 - sum(risky.values()))
        return {tenant: share if tenant in risky else left for tenant in self._tenants}
