"""POI-3: while the dead-letter destination is down only the partitions that need it wait."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from isolane.conformance.checkers import cases, harness
from isolane.conformance.checkers.cases import Judge
from isolane.conformance.checkers.partitions import commit_bound
from isolane.conformance.checkers.rates import quantile
from isolane.conformance.history import History
from isolane.conformance.history_values import Fault, Produced
from isolane.conformance.verdict import Figure, Finding

SOON = 5.0
"""Seconds within which a record that waits for nothing must be committed past; more where commits are seldom."""

FINISHED = 2.0
"""The part of them for finishing it: the rest is for the commit, which has its interval and a margin (OFF-4)."""

_Partition = tuple[int, int]


def check(history: History) -> list[Finding]:
    """Return a finding on POI-3 for each time at which a dead-letter destination was down."""
    return [_judged(history, fault) for fault in cases.of_kind(history, "letters")]


def _judged(history: History, fault: Fault) -> Finding:
    judge = Judge(history, "POI-3", fault.name)
    bound = _bound(history)
    needing = _needing(history, fault)
    early = [record for records in needing.values() for record in records if _is_put_aside_by(history, record, fault)]
    others = {
        partition: records
        for partition, records in history.by_partition.items()
        if partition not in needing and _is_free(history, partition, fault)
    }
    delays = {
        record: min(history.committed_past(record), fault.ended) - record.acked
        for records in others.values()
        for record in records
        if fault.began <= record.acked < fault.ended - bound
    }
    late = sorted((record for record, delay in delays.items() if delay > bound), key=lambda record: record.acked)
    figures = {
        "partitions that need it": Figure(len(needing), "", "> 0"),
        "records to be put aside": Figure(sum(map(len, needing.values()))),
        "of those put aside meanwhile": Figure(len(early), "", "= 0"),
        "partitions that do not": Figure(len(others), "", "> 0"),
        "their p99 delay to the commit": Figure(quantile(list(delays.values()), 0.99) if delays else 0.0, "s"),
        "their records delayed": Figure(len(late), f"of {len(delays)} by more than {bound:g} s", "= 0"),
    }
    if early or fault.ended == math.inf:
        doubt = "dead letters reached the destination: it was not down" if early else "the run ended while it was down"
        return judge.doubts(doubt, figures)
    if not needing or not delays:
        return judge.doubts("nothing needed the destination, or nothing else went on beside it", figures)
    if late and (reason := harness.excuse(history, late[0].acked, max(delays.values()), bound)):
        return judge.doubts(f"records were late ({len(late)}), but {reason}", figures)
    if late:
        return judge.fails("records of partitions that need no dead letter, not committed past in time", late, figures)
    return judge.passes(f"the other partitions went on ({len(others)}), in {len(delays)} records", figures)


def _bound(history: History) -> float:
    """Return the seconds from a record's arrival to its commit: OFF-4 allows that its interval once all is finished."""
    return max(SOON, FINISHED + commit_bound(history) + history.vagueness)


def _needing(history: History, fault: Fault) -> Mapping[_Partition, Sequence[Produced]]:
    """Return the partitions of the fault's tenant with records that were refused for good meanwhile, and those."""
    needing: dict[_Partition, list[Produced]] = {}
    refused = (
        token for attempt in cases.attempts(history, fault) for token, status in attempt.items() if status == 400
    )
    for record in cases.records(history, refused):
        needing.setdefault((record.topic, record.partition), []).append(record)
    return needing


def _is_put_aside_by(history: History, record: Produced, fault: Fault) -> bool:
    return any(letter.seen < fault.ended for letter in history.letters(record))


def _is_free(history: History, partition: _Partition, fault: Fault) -> bool:
    """Whether nothing but the destination could hold a partition: its tenant's cluster is right otherwise."""
    owner = history.meta.owners.get(partition[0])
    sick = {each.tenant for each in history.faults if each.began < fault.ended and each.ended > fault.began}
    return owner is not None and (owner == fault.tenant or owner not in sick)
