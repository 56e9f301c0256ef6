"""The story of one record: produced, each attempt with its answer, the commits around it, and who died meanwhile."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator

from isolane.conformance.history import History
from isolane.conformance.history_ledger import Attempt, is_accepted, is_retryable
from isolane.conformance.history_values import Event, Produced
from isolane.conformance.tokens import ITEM_BITS

MOST_ATTEMPTS = 12
"""Attempts told one by one; of more, the middle ones are counted."""

MOST_ELSEWHERE = 6
"""Faults and heals at other tenants' clusters told one by one; of more, their number."""

LATE = 1.0
"""Seconds without an attempt after which the story tells what the clusters were busy with instead."""

_Line = tuple[float, str]


def story(history: History, record: Produced) -> tuple[str, ...]:
    """Return the lines of a record's story, times in seconds from its acknowledgement by Kafka."""
    attempts = list(_attempts(history, record))
    if len(attempts) > MOST_ATTEMPTS:
        half = MOST_ATTEMPTS // 2
        skipped = f"… {len(attempts) - 2 * half} more attempts"
        attempts = [*attempts[:half], (attempts[half][0], skipped), *attempts[-half:]]
    return _told(history, record, [*attempts, *_commits(history, record), *_faults(history, record)])


def whole_story(history: History, record: Produced) -> tuple[str, ...]:
    """Return the lines of a record's story with nothing left out: every attempt, commit, fault and phase meanwhile."""
    faults, phases = meanwhile(history, record, "fault", "heal"), meanwhile(history, record, "phase")
    chosen = [
        *_attempts(history, record),
        *_all_commits(history, record),
        *((each.at, f"{each.kind} {each.name} at {each.detail['tenant']}'s cluster") for each in faults),
        *((each.at, f"phase {each.name} begins") for each in phases),
    ]
    return _told(history, record, chosen)


def title(history: History, record: Produced) -> str:
    """Return which record it is: its token, its place in Kafka, its size and its tenant."""
    items = "1 item" if record.items == 1 else f"{record.items} items"
    owner = history.meta.owners.get(record.topic)
    return f"{record.token} = {history.place(record)}, {items}, {f'tenant {owner}' if owner else 'owned by no tenant'}"


def _told(history: History, record: Produced, chosen: list[_Line]) -> tuple[str, ...]:
    """Return a story of what was chosen, and of what every story has."""
    lines = sorted(
        [
            *_birth(record),
            *_waiting(history, record),
            *chosen,
            *_documents(history, record),
            *_put_aside(history, record),
            *_deaths(history, record),
            *_owners(history, record),
        ]
    )
    ending = [] if history.finished_at(record) < math.inf else [_never(history, record)]
    return title(history, record), *(f"{at - record.acked:+9.3f} s  {text}" for at, text in [*lines, *ending])


def _birth(record: Produced) -> Iterator[_Line]:
    yield record.scheduled, f"scheduled ({record.phase})"
    yield record.acked, "acknowledged by Kafka"


def _waiting(history: History, record: Produced) -> Iterator[_Line]:
    late = record.acked + LATE
    if (
        history.searches
        or late > history.last
        or any(attempt.arrived <= late and attempt.carries(record.record) for attempt in history.attempts)
    ):
        return
    busy = Counter(
        attempt.tenant
        for attempt in history.attempts
        if attempt.arrived <= late and (attempt.closed is None or attempt.closed > late)
    )
    refused = Counter(
        attempt.tenant
        for attempt in history.attempts
        if attempt.answered is not None and record.acked <= attempt.answered <= late and _is_refused(attempt)
    )
    told = f"not sent yet; requests open at this moment: {_counted(busy) or 'none anywhere'}"
    yield late, f"{told}; refused in the second before: {_counted(refused)}" if refused else told


def _is_refused(attempt: Attempt) -> bool:
    return is_retryable(attempt.status) or any(is_retryable(status) for _, status in attempt.items())


def _counted(tenants: Counter[str]) -> str:
    return ", ".join(f"{count} at {tenant}'s cluster" for tenant, count in tenants.most_common())


def _attempts(history: History, record: Produced) -> Iterator[_Line]:
    for attempt in history.attempts:
        if attempt.carries(record.record):
            yield (
                attempt.arrived,
                f"request {attempt.request} to {attempt.tenant}'s cluster: {_answer(attempt, record)}",
            )


def _documents(history: History, record: Produced) -> Iterator[_Line]:
    """What searches of real clusters, which tell of no requests, have found."""
    for document in history.documents:
        if any(item >> ITEM_BITS == record.record for item in document.items):
            where = f"{document.tenant}'s cluster, {document.index}/{document.id}"
            yield document.seen, f"found in {where}; a search {document.seen - document.at:.3f} s before had not"


def _answer(attempt: Attempt, record: Produced) -> str:
    closed = f", then {attempt.how}" if attempt.how not in {None, "replied"} else ""
    if attempt.answered is None:
        return f"no answer{closed}"
    took = f" after {attempt.answered - attempt.arrived:.3f} s"
    own = [status for token, status in attempt.items() if token is not None and token >> ITEM_BITS == record.record]
    told = [status for status in own if status is not None]
    if not told:
        return f"{attempt.status}{took}{closed}"
    accepted = sum(map(is_accepted, told))
    statuses = "/".join(map(str, sorted(set(told))))
    return f"{attempt.status}, its items {statuses}, {accepted} of {len(own)} accepted{took}{closed}"


def _commits(history: History, record: Produced) -> Iterator[_Line]:
    before: _Line | None = None
    for observation in history.commits:
        offset = observation.offsets.get((record.topic, record.partition))
        if offset is None:
            continue
        if offset > record.offset:
            if before is not None:
                yield before
            yield observation.ended, f"committed offset {offset} observed: past this record"
            return
        if observation.ended >= record.acked or before is None:
            before = observation.ended, f"committed offset {offset} observed: not past this record"
    if before is not None:
        yield before


def _all_commits(history: History, record: Produced) -> Iterator[_Line]:
    """Tell of each change of the committed offset until it was past the record, and of those that took it back."""
    changes = history.advances.get((record.topic, record.partition), ())
    began = max((at for at, _ in changes if at <= record.acked), default=-math.inf)
    past = history.committed_past(record)
    for at, offset in changes:
        if at >= began and (at <= past or offset <= record.offset):
            yield at, f"committed offset {offset} observed: {'' if offset > record.offset else 'not '}past this record"


def _put_aside(history: History, record: Produced) -> Iterator[_Line]:
    for letter in history.letters(record):
        yield letter.seen, f"found among the dead letters: {letter.reason or 'no reason is given'}"


def _deaths(history: History, record: Produced) -> Iterator[_Line]:
    for event in meanwhile(history, record, "process"):
        yield event.at, f"member {event.detail.get('member')} {event.name}"


def _owners(history: History, record: Produced) -> Iterator[_Line]:
    """Tell who had the record's partition when it came, and each time that it moved meanwhile, as Kafka says."""
    place = record.topic, record.partition
    readings = [
        (max(state.at, record.acked), next((name for name, owned in state.members.items() if place in owned), None))
        for state in history.groups
        if state.at <= history.finished_at(record)
    ]
    at_first = max((number for number, (at, _) in enumerate(readings) if at <= record.acked), default=0)
    before: str | None = ""
    for at, owner in readings[at_first:]:
        if owner != before:
            yield at, f"its partition is with {owner or 'no member'}{' now' if before != '' else ''}"
        before = owner


def _faults(history: History, record: Produced) -> Iterator[_Line]:
    """Tell of the faults meanwhile; of many at other clusters only how many there were."""
    owner = history.meta.owners.get(record.topic)
    events = meanwhile(history, record, "fault", "heal")
    elsewhere = [event for event in events if event.detail["tenant"] != owner]
    few = len(elsewhere) <= MOST_ELSEWHERE
    for event in events:
        if few or event.detail["tenant"] == owner:
            yield event.at, f"{event.kind} {event.name} at {event.detail['tenant']}'s cluster"
    if not few:
        yield elsewhere[0].at, f"from here on {len(elsewhere)} faults and heals at other clusters"


def meanwhile(history: History, record: Produced, *kinds: str) -> list[Event]:
    """Return the events of these kinds from a record's acknowledgement until nothing more was owed for it."""
    until = history.finished_at(record)
    return [event for event in history.events if event.kind in kinds and record.acked <= event.at <= until]


def _never(history: History, record: Produced) -> _Line:
    return max(history.last, record.acked), "end of the history: never accepted"
