"""What one record went through, told from its own lines of a history alone: an oracle beside the checkers."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from itertools import pairwise

from isolane.conformance.history import History
from isolane.conformance.history_ledger import is_accepted
from isolane.conformance.history_sendings import Answer, Sending
from isolane.conformance.history_values import Produced
from isolane.conformance.tokens import ITEM_BITS

Suffering = Callable[[History, Produced], bool]


def sufferings(history: History, record: Produced) -> set[str]:
    """The requirements whose violation this record suffered."""
    return {name for name, suffers in _SUFFERINGS.items() if suffers(history, record)}


def items(history: History, record: Produced) -> list[list[Sending]]:
    """What was sent of each item."""
    return [list(history.sendings.get(record.record << ITEM_BITS | item, ())) for item in range(record.items)]


def answers(history: History, record: Produced) -> set[Answer]:
    """What its senders were told, of any item."""
    return {sending.answer for sendings in items(history, record) for sending in sendings}


def is_unfinished(history: History, record: Produced) -> bool:
    """Nothing of it is settled, to the end."""
    return history.finished_at(record) == math.inf


def is_passed_too_early(history: History, record: Produced) -> bool:
    """A commit was seen past it before it was finished."""
    place, finished = (record.topic, record.partition), history.finished_at(record)
    return any(seen.offsets.get(place, 0) > record.offset and seen.ended < finished for seen in history.commits)


def _given_up(history: History, record: Produced) -> bool:
    done = is_unfinished(history, record) or is_passed_too_early(history, record) or bool(history.letters(record))
    return done and bool(answers(history, record) & {Answer.NOT_NOW, Answer.SILENCE})


def _misread(history: History, record: Produced) -> bool:
    for sendings in items(history, record):
        if any(each.answer is Answer.CONFIRMED for each in sendings[:-1]):
            return True
        if sendings and sendings[-1].answer in {Answer.NOT_NOW, Answer.UNSTATED}:
            return True
    return False


def _condemned_wrongly(history: History, record: Produced) -> bool:
    refused = Answer.REFUSED in answers(history, record)
    return refused and (
        is_unfinished(history, record) or is_passed_too_early(history, record) or not history.letters(record)
    )


def _blamed_for_its_environment(history: History, record: Produced) -> bool:
    blamed = bool(answers(history, record) & {Answer.ENVIRONMENT, Answer.REFUSED})
    return blamed and (
        is_unfinished(history, record) or is_passed_too_early(history, record) or bool(history.letters(record))
    )


def _endless(history: History, record: Produced) -> bool:
    deadline = history.meta.bounds["request_timeout"]
    assert isinstance(deadline, float)
    lasted = [
        (each.attempt.closed or history.last) - each.attempt.arrived
        for sendings in items(history, record)
        for each in sendings
    ]
    return max(lasted, default=0.0) > deadline or any(
        sendings and sendings[-1].answer is Answer.SILENCE for sendings in items(history, record)
    )


def _hammered(history: History, record: Produced) -> bool:
    return any(
        first.answer is then.answer is Answer.NOT_NOW
        for sendings in items(history, record)
        for first, then in pairwise(sendings)
    )


def _doubled(history: History, record: Produced) -> bool:
    return any(sum(is_accepted(each.status) for each in sendings) > 1 for sendings in items(history, record))


def _waited(history: History, record: Produced) -> bool:
    place = record.topic, record.partition
    passed = [seen.ended for seen in history.commits if seen.offsets.get(place, 0) > record.offset]
    return min(passed, default=math.inf) - record.acked > 5


def _stray(history: History, record: Produced) -> bool:
    owner = history.meta.owners.get(record.topic)
    return any(each.attempt.tenant != owner for sendings in items(history, record) for each in sendings)


def _found_late(history: History, record: Produced) -> bool:
    return history.finished_at(record) - record.acked > 5


def _unowned(history: History, record: Produced) -> bool:
    return history.meta.owners.get(record.topic) is None


def _committed_wrongly(history: History, record: Produced) -> bool:
    place = record.topic, record.partition
    offsets = [
        (seen.offsets[place], seen.ends.get(place, math.inf)) for seen in history.commits if place in seen.offsets
    ]
    fell = any(after < before for (before, _), (after, _) in pairwise(offsets))
    return fell or any(offset > end for offset, end in offsets)


def _committed_late(history: History, record: Produced) -> bool:
    place = record.topic, record.partition
    passed = [seen.ended for seen in history.commits if seen.offsets.get(place, 0) > record.offset]
    return min(passed, default=math.inf) - history.finished_at(record) > 1


def _moved(history: History, record: Produced) -> bool:
    return _committed_wrongly(history, record) or is_passed_too_early(history, record) or is_unfinished(history, record)


def _kept_back(history: History, record: Produced) -> bool:
    return _found_late(history, record) or _committed_late(history, record)


def _thrown_away(history: History, record: Produced) -> bool:
    hung_up = any(each.attempt.how == "client_gone" for sendings in items(history, record) for each in sendings)
    return hung_up or _doubled(history, record)


def _poisoned(history: History, record: Produced) -> bool:
    return record.kind == "poison" or is_unfinished(history, record)


def _out_of_order(history: History, record: Produced) -> bool:
    at = history.accepted_at(record)
    return any(
        later.offset > record.offset and history.accepted_at(later) < at
        for later in history.by_partition[record.topic, record.partition]
    )


def _delayed(history: History, record: Produced) -> bool:
    return history.finished_at(record) - record.scheduled > 0.5


def _beside_others(history: History, record: Produced) -> bool:
    return any(each.attempt.concurrent > 1 for sendings in items(history, record) for each in sendings)


def _first_sent(history: History, record: Produced) -> float:
    return min((sendings[0].attempt.arrived for sendings in items(history, record) if sendings), default=math.inf)


def _kept_waiting(history: History, record: Produced) -> bool:
    return _first_sent(history, record) - record.acked > 0.2


def _left_alone(history: History, record: Produced) -> bool:
    return history.accepted_at(record) - record.acked > 6


def _overtaken(history: History, record: Produced) -> bool:
    at = _first_sent(history, record)
    tenant = history.by_tenant[history.meta.owners[record.topic]]
    return any(later.acked > record.acked and _first_sent(history, later) < at for later in tenant)


def _in_flight(history: History, record: Produced) -> bool:
    at, bounds = _first_sent(history, record), history.meta.bounds
    beside = history.by_partition[record.topic, record.partition]
    there = [each for each in beside if _first_sent(history, each) <= at < history.finished_at(each)]
    records, size = bounds["in_flight_records"], bounds["in_flight_bytes"]
    assert isinstance(records, int)
    assert isinstance(size, int)
    return len(there) > records or sum(each.size for each in there) > size


def _remembered(history: History, record: Produced) -> bool:
    waited = not history.accepted_at(record) < record.acked + 0.2
    requests = [each.attempt.request for sendings in items(history, record) for each in sendings]
    twice = len(set(requests)) * record.items < len(requests)
    return waited or twice


def _finished_behind(history: History, record: Produced) -> bool:
    at = history.finished_at(record)
    return any(
        earlier.offset < record.offset and history.finished_at(earlier) > at
        for earlier in history.by_partition[record.topic, record.partition]
    )


_SUFFERINGS: Mapping[str, Suffering] = {
    **{f"ISO-{number}": _delayed for number in range(1, 11)},
    "TEN-1": _found_late,
    "TEN-2": _stray,
    "TEN-3": is_unfinished,
    "TEN-4": _unowned,
    "DEL-1": is_unfinished,
    "DEL-2": _given_up,
    "DEL-3": _misread,
    "DEL-4": _condemned_wrongly,
    "DEL-5": _blamed_for_its_environment,
    "DEL-6": _endless,
    "DEL-7": _hammered,
    "DEL-8": _doubled,
    "DEL-9": _doubled,
    "DEL-10": _out_of_order,
    "OFF-1": is_passed_too_early,
    "OFF-2": _committed_wrongly,
    "OFF-3": _committed_late,
    "OFF-4": _committed_late,
    "OFF-5": _moved,
    "OFF-6": _moved,
    "REB-1": _moved,
    "REB-2": _kept_back,
    "REB-3": _moved,
    "REB-4": _moved,
    "REB-5": _found_late,
    "REB-6": _found_late,
    "REB-7": _thrown_away,
    "REB-8": _kept_waiting,
    "LIF-1": _found_late,
    "LIF-2": is_passed_too_early,
    "LIF-3": _doubled,
    "LIF-4": _found_late,
    "POI-1": _poisoned,
    "POI-2": _committed_late,
    "POI-3": _waited,
    "OPS-4": _found_late,
    "LIM-1": _beside_others,
    "LIM-2": _beside_others,
    "LIM-3": _beside_others,
    "LIM-4": _left_alone,
    "LIM-5": _overtaken,
    "LIM-6": _kept_waiting,
    "LIM-7": _kept_waiting,
    "MEM-1": _in_flight,
    "MEM-2": _in_flight,
    "MEM-3": is_unfinished,
    "MEM-4": _remembered,
    "MEM-5": _remembered,
    "MEM-6": _remembered,
    "MEM-7": _remembered,
    "MEM-8": _finished_behind,
}
