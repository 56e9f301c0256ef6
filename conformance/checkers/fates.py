"""Fates: what became of a record in one sentence, and what the records that were never finished have in common."""

from __future__ import annotations

import math
from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence

from isolane.conformance.history import History
from isolane.conformance.history_sendings import Sending
from isolane.conformance.history_values import NOTHING_TO_DELIVER, Event, Produced
from isolane.conformance.tokens import ITEM_BITS

MOST_GROUPS = 8
"""Groups of unfinished records that are told, and ends of members; of the others only how many records they have."""


_ENDED = {"killed": "was killed", "stopped": "was stopped", "exited": "ended by itself"}
"""What became of a member at each of its ends, by the name of the event."""


def fate(history: History, record: Produced) -> str:
    """Return what became of a record; times count from its acknowledgement by Kafka."""
    finished, committed = history.finished_at(record), history.committed_past(record)
    if record.kind in NOTHING_TO_DELIVER:
        return f"nothing to deliver ({record.kind}); {_committed(record, committed)}"
    if finished == math.inf:
        ending = "lost" if committed < math.inf else "left"
        return f"{ending}: never finished, {_committed(record, committed)}; {_tried(history, record)}"
    how = "accepted" if history.accepted_at(record) <= finished else "put aside as a dead letter"
    early = f", {finished - committed:.3f} s too early" if committed < finished else ""
    return f"{how} after {finished - record.acked:.3f} s; {_committed(record, committed)}{early}"


def unfinished(history: History) -> list[Produced]:
    """Return the records of all tenants that were never finished, in the order in which they came to Kafka."""
    owned = (record for records in history.by_tenant.values() for record in records)
    return sorted((each for each in owned if history.finished_at(each) == math.inf), key=lambda each: each.acked)


def in_common(history: History, records: Sequence[Produced]) -> tuple[str, ...]:
    """Return how many of the records share tenant, phase, what was tried and what was committed; the most first."""
    groups = Counter(
        (
            history.meta.owners.get(record.topic, "nobody"),
            record.phase,
            _last_try(history, record),
            "committed past" if history.committed_past(record) < math.inf else "not committed past",
        )
        for record in records
    )
    told = [
        f"{count:6,} of tenant {tenant}, produced in {phase}: {what}, {committed}"
        for (tenant, phase, what, committed), count in groups.most_common(MOST_GROUPS)
    ]
    rest = len(records) - sum(count for _, count in groups.most_common(MOST_GROUPS))
    return (*told, f"{rest:6,} others") if rest else tuple(told)


def by_phase(records: Sequence[Produced]) -> str:
    """Return how many of the records were produced in each phase, in the order in which the first of each came."""
    phases = Counter(record.phase for record in records)
    return f"in all, by phase: {', '.join(f'{phase} {count:,}' for phase, count in phases.items())}"


def at_ends(history: History, records: Sequence[Produced]) -> tuple[str, ...]:
    """Return how many of the records, none of which was ever finished, were committed past when a member ended.

    What the member committed last is seen in the reading of offsets that comes next, so an end that no reading followed
    is not told. Each record counts at its first end; whether that member had it nobody sees. The ends with most records
    are told, in their order. When the scenario is over its members are stopped: that is not told.
    """
    ends = list(_ends(history))
    times, readings = [end.at for end, _ in ends], [read for _, read in ends]
    there: dict[int, list[Produced]] = defaultdict(list)
    for record in records:
        first = max(bisect_left(times, record.acked), bisect_left(readings, history.committed_past(record)))
        if first < len(ends):
            there[first].append(record)
    most = sorted(there, key=lambda number: -len(there[number]))
    told: list[str] = []
    for number in sorted(most[:MOST_GROUPS]):
        (end, read), oldest = ends[number], min(record.acked for record in there[number])
        told.append(
            f"{len(there[number]):6,} {'more ' if told else ''}were unfinished and committed past when member "
            f"{end.detail['member']} {_ENDED[end.name]}, {end.at - history.began:.3f} s into the run, "
            f"by offsets read {read - end.at:.3f} s later; the oldest had come {end.at - oldest:.3f} s before"
        )
    if rest := [len(there[number]) for number in most[MOST_GROUPS:]]:
        told.append(f"{sum(rest):6,} more at {len(rest)} other ends of a member")
    return tuple(told)


def _ends(history: History) -> Iterator[tuple[Event, float]]:
    """Yield each end of a member before the scenario's own, and when offsets were read next."""
    over = next((phase.began for phase in history.phases if phase.name == "end"), math.inf)
    for event in history.events:
        if event.kind == "process" and event.name in _ENDED and event.at < over:
            read = next((each.ended for each in history.commits if each.began >= event.at and not each.error), None)
            if read is not None:
                yield event, read


def _committed(record: Produced, at: float) -> str:
    return "never committed past" if at == math.inf else f"seen committed past after {at - record.acked:.3f} s"


def _tried(history: History, record: Produced) -> str:
    if history.searches:
        return "no search found it"
    requests = {sending.attempt.request for sending in _sendings(history, record)}
    number = {0: "no request", 1: "one request"}.get(len(requests), f"{len(requests)} requests")
    return f"{number} ever carried it" + (f", the last {_last_try(history, record)}" if requests else "")


def _last_try(history: History, record: Produced) -> str:
    """Return what came of the last attempt with an item of the record that no cluster has; real ones tell of none."""
    sendings = _sendings(history, record)
    if not sendings:
        return "found by no search" if history.searches else "never sent to a cluster"
    attempt, status = last = max(sendings, key=lambda sending: sending.attempt.arrived)
    code = attempt.status if status is None else status
    return last.answer.value if code is None else f"{last.answer.value} ({code})"


def _sendings(history: History, record: Produced) -> list[Sending]:
    items = range(record.record << ITEM_BITS, (record.record << ITEM_BITS) + record.items)
    return [
        sending for item in items if not history.accepted.has_item(item) for sending in history.sendings.get(item, ())
    ]
