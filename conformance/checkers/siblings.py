"""ISO-6 and ISO-9: what the parts of one tenant feel of one another: its topics, and its partitions.

Which part is stalled is known from what its tenant's cluster answered its items; all else of the tenant must go on
(FB-18, FB-23).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence

from isolane.conformance.checkers import comparison, faults, harness, rates
from isolane.conformance.checkers.comparison import GAP, CannotJudgeError, Comparison, Flow
from isolane.conformance.checkers.failure import failure
from isolane.conformance.checkers.faults import FaultKind
from isolane.conformance.history import History
from isolane.conformance.history_values import Fault, Phase, Produced
from isolane.conformance.tokens import ITEM_BITS, partition_of, topic_of
from isolane.conformance.verdict import Figure, Finding, Verdict

FORBIDDEN = 403
"""What items are answered whose index is blocked."""

Place = tuple[int, int]
Items = Callable[[History, Phase, str], list[int]]


def check(history: History) -> list[Finding]:
    """Return a finding for each fault by which a topic of a tenant was blocked, or a partition stalled."""
    judges = {"block": _judge_topics, "stall": _judge_partitions}
    return [judges[fault.name](history, fault) for fault in history.faults if fault.name in judges]


def _judge_topics(history: History, fault: Fault) -> Finding:
    phase = _stretch(history, fault)
    try:
        bites = _bites(history, phase, fault, _blocked, "items refused because their index is blocked")
        compared = _other_topics(history, phase, fault.tenant)
    except CannotJudgeError as reason:
        return comparison.doubted(history, "ISO-6", phase.name, reason)
    passed = f"the tenant's other topics ({len(compared)}) did not feel that one is blocked"
    more = {"fault bites": bites}
    return comparison.judged(history, "ISO-6", phase.name, compared, passed=passed, more=more)


def _other_topics(history: History, phase: Phase, tenant: str) -> list[Comparison]:
    blocked = {topic_of(item >> ITEM_BITS) for item in _blocked(history, phase, tenant)}
    flows = [
        Flow(f"topic {history.topic(topic)}", [each for each in history.by_tenant[tenant] if each.topic == topic])
        for topic, owner in history.meta.owners.items()
        if owner == tenant and topic not in blocked
    ]
    if not flows:
        raise CannotJudgeError(f"no other topic of the tenant was left to feel {phase.name}")
    return comparison.compare(history, comparison.control_of(history), phase, flows)


def _judge_partitions(history: History, fault: Fault) -> Finding:
    phase = _stretch(history, fault)
    try:
        bites = _bites(history, phase, fault, _refused, "items of the partition refused")
        others = _other_partitions(history, phase, fault.tenant)
    except CannotJudgeError as reason:
        return comparison.doubted(history, "ISO-9", phase.name, reason)
    gaps = {place: _gap(history, phase, records) for place, records in others.items()}
    worst = max(gaps, key=lambda place: gaps[place].seconds)
    unmarked = [place for place, records in others.items() if not _is_marked(history, phase, records)]
    figures = {
        "other partitions": Figure(len(others)),
        "longest gap of any": Figure(gaps[worst].seconds, "s", f"< {GAP:g}"),
        "commits that stood still": Figure(len(unmarked), "of them", "= 0"),
        "fault bites": bites,
    }
    if gaps[worst].seconds < GAP and not unmarked:
        summary = f"the tenant's other partitions ({len(others)}) advanced while one was stalled"
        return Finding("ISO-9", history.scenario, Verdict.PASS, summary, phase.name, figures)
    place = worst if gaps[worst].seconds >= GAP else unmarked[0]
    slowest = max(others[place], key=lambda each: history.accepted_at(each) - each.scheduled)
    stood = f"accepted nothing for {gaps[place].seconds:.1f} s" if place not in unmarked else "was not committed"
    sentence = f"{history.topic(place[0])}/{place[1]} {stood} while another partition was stalled"
    return failure(history, "ISO-9", phase.name, sentence, slowest, figures=figures)


def _stretch(history: History, fault: Fault) -> Phase:
    return Phase(f"{faults.PREFIX}{fault.name}", fault.began, min(fault.ended, history.last), fault.ended < math.inf)


def _bites(history: History, phase: Phase, fault: Fault, refused: Items, bite: str) -> Figure:
    bites = FaultKind("", faults.each(lambda *where: len(refused(*where))), bite)
    return faults.bitten(history, phase, bites, frozenset({fault.tenant}))[1]


def _other_partitions(history: History, phase: Phase, tenant: str) -> Mapping[Place, Sequence[Produced]]:
    """Return the records of the phase, by partition, of partitions of the tenant that were not stalled themselves."""
    reason = harness.starved(history, phase)
    if reason is not None:
        raise CannotJudgeError(reason)
    refused = (item >> ITEM_BITS for item in _refused(history, phase, tenant))
    stalled = {(topic_of(record), partition_of(record)) for record in refused}
    others: dict[Place, list[Produced]] = {}
    for record in history.by_tenant[tenant]:
        if phase.began <= record.scheduled < phase.ended - GAP and (record.topic, record.partition) not in stalled:
            others.setdefault((record.topic, record.partition), []).append(record)
    if not others:
        raise CannotJudgeError(f"no other partition of the tenant was offered anything in {phase.name}")
    return others


def _gap(history: History, phase: Phase, records: Sequence[Produced]) -> rates.Gap:
    return rates.longest_gap(((each.acked, history.accepted_at(each)) for each in records), phase.began, phase.ended)


def _is_marked(history: History, phase: Phase, records: Sequence[Produced]) -> bool:
    """Whether the commit came past the first of the records, while the phase lasted or an interval after it."""
    first = records[0]
    interval = history.meta.bounds.get("commit_interval")
    until = phase.ended + (2 * interval if isinstance(interval, (int, float)) else 0) + GAP
    return any(
        observation.offsets.get((first.topic, first.partition), 0) > first.offset
        for observation in history.commits
        if observation.ended <= until
    )


def _blocked(history: History, phase: Phase, tenant: str) -> list[int]:
    return faults.answered_items(history, phase, tenant, lambda status: status == FORBIDDEN)


def _refused(history: History, phase: Phase, tenant: str) -> list[int]:
    return faults.answered_items(history, phase, tenant, faults.is_refusal)
