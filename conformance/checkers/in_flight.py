"""MEM-1, MEM-2 and the part of MEM-6 that clusters see: what is in flight of a partition, and of the process.

In flight are records that arrived at their cluster and are not finished. What an implementation holds beside that and
has never sent is not seen, so what is counted here is never more than it had in flight. Sizes are those of the records'
values, decompressed.
"""

from __future__ import annotations

import heapq
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field

from isolane.conformance.checkers import cases, slots
from isolane.conformance.checkers.cases import Judge
from isolane.conformance.history import History
from isolane.conformance.history_values import Produced
from isolane.conformance.verdict import Figure, Finding

Place = tuple[int, int]


@dataclass(slots=True)
class Peak:
    """The most that was ever in flight, and the record that made it so."""

    amount: int = 0
    record: Produced | None = None

    def see(self, amount: int, record: Produced) -> None:
        """Take an amount that was reached when this record arrived."""
        if amount > self.amount:
            self.amount, self.record = amount, record


@dataclass(slots=True)
class Peaks:
    """The most records and bytes of each partition, more than one record together, and the most bytes of all."""

    records: Mapping[Place, Peak] = field(default_factory=lambda: defaultdict(Peak))
    bytes: Mapping[Place, Peak] = field(default_factory=lambda: defaultdict(Peak))
    all_bytes: Peak = field(default_factory=Peak)


def check(history: History) -> list[Finding]:
    """Return the findings on MEM-1, MEM-2 and MEM-6: where they are declared, or broken."""
    limits = {name: slots.limit(history, name) for name in ("in_flight_records", "in_flight_bytes", "process_bytes")}
    if not history.attempts or not any(limits.values()):
        return []
    peaks = peaks_of(history)
    records, size = _pending(history, peaks.records.keys())
    found = [
        _partition(Judge(history, "MEM-1"), peaks.records, limits["in_flight_records"], records, unit="records"),
        _partition(Judge(history, "MEM-2"), peaks.bytes, limits["in_flight_bytes"], size, unit="bytes"),
        _process(history, peaks.all_bytes, limits["process_bytes"], sum(size.values())),
    ]
    return [finding for finding in found if finding is not None]


def peaks_of(history: History) -> Peaks:
    """Return the most that was in flight; what a member had in flight when any began or ended is forgotten then."""
    peaks = Peaks()
    changes = [event.at for event in history.events if event.kind == "process"]
    open_until: dict[int, float] = {}
    ends: list[tuple[float, int]] = []
    records: dict[Place, int] = defaultdict(int)
    size: dict[Place, int] = defaultdict(int)
    total = 0
    for arrived, record in _arrivals(history):
        while changes and changes[0] <= arrived:
            changes.pop(0)
            open_until.clear()
            ends.clear()
            records.clear()
            size.clear()
            total = 0
        while ends and ends[0][0] <= arrived:
            done = history.find(heapq.heappop(ends)[1])
            assert done is not None
            del open_until[done.record]
            records[done.topic, done.partition] -= 1
            size[done.topic, done.partition] -= done.size
            total -= done.size
        finished = history.finished_at(record)
        if record.record in open_until or finished <= arrived:
            continue
        open_until[record.record] = finished
        heapq.heappush(ends, (finished, record.record))
        place = record.topic, record.partition
        records[place] += 1
        size[place] += record.size
        total += record.size
        peaks.records[place].see(records[place], record)
        if records[place] > 1:
            peaks.bytes[place].see(size[place], record)
        peaks.all_bytes.see(total, record)
    return peaks


def _arrivals(history: History) -> Iterator[tuple[float, Produced]]:
    owners = history.meta.owners
    for attempt in history.attempts:
        for record in cases.records(history, attempt.tokens()):
            if owners.get(record.topic) == attempt.tenant:
                yield attempt.arrived, record


def _pending(history: History, sent: Collection[Place]) -> tuple[Mapping[Place, int], Mapping[Place, int]]:
    """Return the most records, and bytes, that were in Kafka and not finished of each partition that was ever sent."""
    records: dict[Place, int] = {}
    size: dict[Place, int] = {}
    for place, produced in history.by_partition.items():
        if place not in sent:
            continue
        changes = [(record.acked, 1, record.size) for record in produced]
        changes += [(history.finished_at(record), -1, -record.size) for record in produced]
        number = weight = most = heaviest = 0
        for _, one, bytes_ in sorted(changes):
            number, weight = number + one, weight + bytes_
            most, heaviest = max(most, number), max(heaviest, weight)
        records[place], size[place] = most, heaviest
    return records, size


def _partition(
    judge: Judge, peaks: Mapping[Place, Peak], bound: int | None, pending: Mapping[Place, int], *, unit: str
) -> Finding | None:
    if bound is None:
        return None
    worst = max(peaks.values(), key=lambda peak: peak.amount, default=Peak())
    tried = max(pending.values(), default=0)
    figures = {
        "most in flight of a partition": Figure(worst.amount, unit, f"≤ {bound:,}"),
        "most of such a partition in Kafka and not finished": Figure(tried, unit, f"> {bound:,}"),
    }
    over = [peak.record for peak in peaks.values() if peak.amount > bound and peak.record is not None]
    if over:
        return judge.fails(f"partitions with more than {bound:,} {unit} in flight", over, figures)
    if judge.requirement not in judge.history.meta.judges:
        return None
    if tried <= bound:
        return judge.doubts(f"no partition had more than {bound:,} {unit} to be delivered", figures)
    return judge.passes(f"no partition had more than {bound:,} {unit} in flight", figures)


def _process(history: History, peak: Peak, budget: int | None, pending: int) -> Finding | None:
    if budget is None or not slots.single_life(history):
        return None
    judge = Judge(history, "MEM-6", "in flight")
    largest = max((record.size for record in history.produced), default=0)
    figures = {
        "most in flight of the process": Figure(peak.amount, "bytes", f"≤ {budget + largest:,}"),
        "in Kafka and not finished, at most": Figure(pending, "bytes", f"> {budget:,}"),
    }
    if peak.amount > budget + largest and peak.record is not None:
        return judge.fails(
            f"records that brought more than {budget + largest:,} bytes in flight", [peak.record], figures
        )
    if "MEM-6" not in history.meta.judges:
        return None
    if pending <= budget:
        return judge.doubts(f"there were never more than {budget:,} bytes to be delivered", figures)
    return judge.passes(f"the process had no more than its budget of {budget:,} bytes in flight", figures)
