"""Fates: what became of a record in one sentence, and what the records that were never finished have in common."""

from __future__ import annotations

import math
from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Sequence

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
    """Return how many of the records, none of which was ever finished, were there when a member ended.

    Each counts at the first end of any member after it came; whether that member had it nobody sees. The ends with most
    records are told, in their order. When the scenario is over its members are stopped: that is told of none.
    """
    over = next((phase.began for phase in history.phases if phase.name == "end"), math.inf)
    ends = [each for each in history.events if each.kind == "process" and each.name in _ENDED and each.at < over]
    times = [end.at for end in ends]
    there: dict[int, list[Produced]] = defaultdict(list)
    for record in records:
        there[bisect_left(times, record.acked)].append(record)
    there.pop(len(ends), None)
    most = sorted(there, key=lambda number: len(there[number]), reverse=True)
    told = tuple(_at_end(history, ends[number], there[number]) for number in sorted(most[:MOST_GROUPS]))
    rest = most[MOST_GROUPS:]
    count = sum(len(there[number]) for number in rest)
    return (*told, f"{count:6,} were unfinished at {len(rest)} other ends of a member") if rest else told


def _at_end(history: History, end: Event, records: Sequence[Produced]) -> str:
    """Tell of one end; what the member committed last is seen in the reading of offsets that comes next."""
    read = "no offsets were read after it"
    seen = next((each.ended for each in history.commits if each.began >= end.at and each.error is None), None)
    if seen is not None:
        past = sum(history.committed_past(record) <= seen for record in records)
        read = f"offsets read {seen - end.at:.3f} s later were past {past:,} of them"
    return (
        f"{len(records):6,} were unfinished when member {end.detail['member']} {_ENDED[end.name]}, "
        f"{end.at - history.began:.3f} s into the run: "
        f"the oldest had come {end.at - min(record.acked for record in records):.3f} s before, {read}"
    )


def _committed(record: Produced, at: float) -> str:
    return "never committed past" if at == math.inf else f"seen committed past after {at - record.acked:.3f} s"


def _tried(history: History, record: Produced) -> str:
    if history.searches:
        return "no search found it"
    requests = {sending.attempt.request for sending in _sendings(history, record)}
    number = {0: "no request", 1: "one request"}.get(len(requests), f"{len(requests)} requests")
    return f"{number} ever carried it" + (f", the last {_last_try(history, record)}" if requests else "")


def _last_try(history: History, record: Produced) -> str:
    """Return what came of the last attempt with an item of the record that no cluster has."""
    sendings = _sendings(history, record)
    if not sendings:
        return "never sent to a cluster"
    attempt, status = last = max(sendings, key=lambda sending: sending.attempt.arrived)
    code = attempt.status if status is None else status
    return last.answer.value if code is None else f"{last.answer.value} ({code})"


def _sendings(history: History, record: Produced) -> list[Sending]:
    items = range(record.record << ITEM_BITS, (record.record << ITEM_BITS) + record.items)
    return [
        sending for item in items if not history.accepted.has_item(item) for sending in history.sendings.get(item, ())
    ]
