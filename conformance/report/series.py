"""Series: what a history says over time, as plain numbers to plot. Pure; all times are seconds."""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from isolane.conformance.checkers.rates import count
from isolane.conformance.history import History
from isolane.conformance.history_values import Fault

BIN = 0.5
"""Seconds of a bin: short enough to show a stall, long enough for tens of records."""


MIB = 1024 * 1024


@dataclass(frozen=True, slots=True)
class Series:
    """Values over time; None where there is nothing to say. Times count from the view's zero."""

    times: tuple[float, ...]
    values: tuple[float | None, ...]

    def thinned(self) -> Series:
        """Return what draws the same lines with fewer points: nothing within a stretch of one value is kept."""
        last = len(self.values) - 1
        kept = [
            number
            for number, value in enumerate(self.values)
            if number in {0, last} or not (self.values[number - 1] == value == self.values[number + 1])
        ]
        return Series(tuple(self.times[number] for number in kept), tuple(self.values[number] for number in kept))


@dataclass(frozen=True, slots=True)
class Shade:
    """A stretch of time that stands out, and why; times count from the view's zero."""

    began: float
    ended: float
    label: str


@dataclass(frozen=True, slots=True)
class View:
    """The stretch of a history that is shown, the moment in it that counts as 0, and the seconds of a bin.

    All on the history's own clock.
    """

    zero: float
    began: float
    ended: float
    step: float = BIN

    def bins(self) -> Iterator[tuple[float, float]]:
        """Yield begin and end of each whole bin; one begins at zero, so that what changes there shows as an edge."""
        first = math.ceil((self.began - self.zero) / self.step - 1e-9)
        last = math.floor((self.ended - self.zero) / self.step + 1e-9)
        for number in range(first, last):
            yield self.zero + number * self.step, self.zero + (number + 1) * self.step

    def relative(self, at: float) -> float:
        """Return a time of the history as seconds from zero, to the millisecond."""
        return round(at - self.zero, 3)


def short(history: History, tenant: str) -> str:
    """Return a tenant's name without the run's number that the world appended."""
    return tenant.removesuffix(f"-{history.meta.run}")


def accepted_rate(history: History, tenant: str, view: View) -> Series:
    """Return the records a second that the tenant's cluster accepted, in each bin, by the time of acceptance."""
    times = sorted(at for record in history.by_tenant[tenant] if (at := history.accepted_at(record)) < math.inf)
    bins = list(view.bins())
    return Series(
        tuple(view.relative((began + ended) / 2) for began, ended in bins),
        tuple(count(times, began, ended) / view.step for began, ended in bins),
    )


def offered_rate(history: History, tenant: str, view: View) -> Series:
    """Return the records a second that the open loop wanted sent to the tenant: the mean of each phase, as steps."""
    scheduled = [record.scheduled for record in history.by_tenant[tenant]]
    times: list[float] = []
    values: list[float | None] = []
    for phase in history.phases:
        began, ended = max(phase.began, view.began), min(phase.ended, view.ended)
        if began < ended:
            rate = count(scheduled, phase.began, phase.ended) / phase.seconds
            times += [view.relative(began), view.relative(ended)]
            values += [rate, rate]
    return Series(tuple(times), tuple(values))


def delay(history: History, tenant: str, view: View) -> Series:
    """Return the longest delay in seconds, from due to accepted, of the records due in each bin.

    A record that was never accepted counts with the time until the last thing known of the run: at least that.
    """
    records = history.by_tenant[tenant]
    due = [record.scheduled for record in records]
    times: list[float] = []
    values: list[float | None] = []
    for began, ended in view.bins():
        within = records[bisect_left(due, began) : bisect_left(due, ended)]
        delays = [min(history.accepted_at(record), history.last) - record.scheduled for record in within]
        times.append(view.relative((began + ended) / 2))
        values.append(max(delays, default=None))
    return Series(tuple(times), tuple(values))


def open_requests(history: History, tenant: str, view: View) -> Series:
    """Return how many bulk requests a tenant's cluster had open at most in each bin."""
    changes = sorted(
        change
        for attempt in history.attempts
        if attempt.tenant == tenant
        for change in ((attempt.arrived, 1), (history.last if attempt.closed is None else attempt.closed, -1))
    )
    bins = list(view.bins())
    values: list[float | None] = []
    now = position = 0
    for _, ended in bins:
        most = now
        while position < len(changes) and changes[position][0] < ended:
            now += changes[position][1]
            most = max(most, now)
            position += 1
        values.append(most)
    return Series(_middles(bins, view), tuple(values))


def memory(history: History, view: View) -> dict[str, Series]:
    """Return how many MiB each member's process had resident at most in each bin; None where it was not there."""
    bins = list(view.bins())
    most: dict[str, list[float | None]] = {}
    for sample in history.samples:
        number = math.floor((sample.at - bins[0][0]) / view.step) if bins else -1
        if 0 <= number < len(bins):
            values = most.setdefault(sample.member, [None] * len(bins))
            values[number] = max(sample.rss / MIB, values[number] or 0.0)
    return {member: Series(_middles(bins, view), tuple(values)) for member, values in sorted(most.items())}


def progress(history: History, partition: tuple[int, int], view: View) -> tuple[Series, Series, Series]:
    """Return how many records of a (topic number, partition) were produced, finished and committed past by each bin."""
    records = history.by_partition[partition]
    offsets = [record.offset for record in records]
    acked = sorted(record.acked for record in records)
    finished = sorted(history.finished_at(record) for record in records)
    advances = history.advances.get(partition, ())
    seen = [at for at, _ in advances]
    bins = list(view.bins())
    times = tuple(view.relative(ended) for _, ended in bins)
    produced, done, committed = [], [], []
    for _, ended in bins:
        produced.append(float(bisect_left(acked, ended)))
        done.append(float(bisect_left(finished, ended)))
        position = bisect_left(seen, ended)
        committed.append(float(bisect_left(offsets, advances[position - 1][1])) if position else None)
    return Series(times, tuple(produced)), Series(times, tuple(done)), Series(times, tuple(committed))


def _middles(bins: Sequence[tuple[float, float]], view: View) -> tuple[float, ...]:
    return tuple(view.relative((began + ended) / 2) for began, ended in bins)


def shades(history: History, view: View) -> tuple[Shade, ...]:
    """Return the faults that lie in the view."""
    return tuple(
        Shade(
            view.relative(max(fault.began, view.began)),
            view.relative(min(fault.ended, view.ended)),
            _in_words(history, fault),
        )
        for fault in history.faults
        if fault.began < view.ended and fault.ended > view.began
    )


def _in_words(history: History, fault: Fault) -> str:
    tenant = short(history, fault.tenant)
    latency = fault.script.get("latency")
    return f"{tenant}: {fault.name}" if latency is None else f"{tenant}: {latency:g} s/request"
