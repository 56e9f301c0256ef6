"""How much may be in flight: in one partition, and in the process. Pure: no threads, no clock.

Something is in flight from its admission until its final outcome, waiting and retrying included. Whoever may not
admit holds nothing while waiting: each question is about everything that is wanted at once.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence


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
    """The bytes that all partitions of the process may have in flight together (MEM-6).

    A tenant with nothing in flight may always admit one record: nobody is starved by the others. Tenants at risk
    hold at most half of the budget together: the sick cannot eat the part of the healthy.
    """

    __slots__ = ("_at_risk", "_limit", "_tenants", "bytes")

    def __init__(self, limit: int, at_risk: Callable[[str], bool]) -> None:
        """Take the bound in bytes, and who tells whether a tenant is at risk."""
        self._limit = limit
        self._at_risk = at_risk
        self._tenants: dict[str, int] = {}  # without those that have nothing in flight
        self.bytes = 0

    def room(self, tenant: str, sizes: Sequence[int]) -> int:
        """Return how many of the next records of `tenant`, of these sizes in bytes, may be admitted now."""
        own = self._tenants.get(tenant, 0)
        left = self._limit - self.bytes
        if self._at_risk(tenant):
            held = sum(size for name, size in self._tenants.items() if self._at_risk(name))
            left = min(left, self._limit // 2 - held)
        for count, wanted in enumerate(sizes):
            if own and wanted > left:
                return count
            own += wanted
            left -= wanted
        return len(sizes)

    def admit(self, tenant: str, size: int) -> None:
        """Count `size` bytes of `tenant` as in flight; `room` said that they may be."""
        self._tenants[tenant] = self._tenants.get(tenant, 0) + size
        self.bytes += size

    def release(self, tenant: str, size: int) -> None:
        """Count `size` bytes of `tenant` as in flight no more."""
        left = self._tenants.pop(tenant, 0) - size
        assert left >= 0, "more bytes were released than admitted"
        if left:
            self._tenants[tenant] = left
        self.bytes -= size
