"""POI-1: a record that cannot be decoded goes where the configuration says, with a trace, and stops nobody else."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

from isolane.conformance.checkers import cases
from isolane.conformance.checkers.story import story
from isolane.conformance.checkers.words import telling_apart
from isolane.conformance.history import History
from isolane.conformance.history_values import Produced
from isolane.conformance.verdict import Figure, Finding, Verdict

_PROOF = "a record that cannot be decoded, with sound ones before and behind it in its partition"

_HELD = "held"


@dataclass(frozen=True, slots=True)
class _Fate:
    """What became of a broken record: a word for it, and what is wrong with that (empty: nothing)."""

    word: str
    wrong: str = ""


def check(history: History) -> list[Finding]:
    """Return the finding on POI-1; none where no record was broken.

    Decoders differ: one that makes something of a broken record, and delivers that, has not dropped it.
    """
    broken = [record for record in history.produced if record.kind == "poison" and record.topic in history.meta.owners]
    if not broken:
        return []
    traced = _traced(history, broken) if history.meta.dead_letter.undecodable in {None, "skip"} else ()
    fates = [(record, _fate(history, record, traced)) for record in broken]
    words = Counter(fate.word for _, fate in fates)
    stopped = list(_stopped(history, broken))
    figures = {
        "records that cannot be decoded": Figure(len(broken)),
        **{word: Figure(count) for word, count in sorted(words.items())},
        "dead letters for one record": Figure(max((len(history.letters(record)) for record in broken), default=0)),
        "sound records that they stopped": Figure(len(stopped), "", "= 0"),
    }
    settled = [(record, fate.wrong) for record, fate in fates if fate.wrong and fate.word != _HELD]
    waiting = [(record, fate.wrong) for record, fate in fates if fate.wrong and fate.word == _HELD] + [
        (record, "was stopped by a record that cannot be decoded") for record in stopped
    ]
    reason = None if settled else cases.pending(history, [record for record, _ in waiting])
    if waiting and reason:
        summary = f"records are neither delivered nor put aside ({len(waiting)}), but {reason}"
        return [Finding("POI-1", history.scenario, Verdict.INCONCLUSIVE, summary, figures=figures)]
    if wrong := settled + waiting:
        record, why = wrong[0]
        return [
            Finding(
                "POI-1",
                history.scenario,
                Verdict.FAIL,
                f"{history.place(record)} {why}",
                figures=figures,
                evidence=tuple(each.token for each, _ in wrong[:10]),
                story=story(history, record),
            )
        ]
    if not any(_is_amid(history, record) for record in broken):
        return [Finding("POI-1", history.scenario, Verdict.INCONCLUSIVE, f"there was no {_PROOF[2:]}", figures=figures)]
    summary = f"every record that cannot be decoded left its trace, and stopped nobody ({dict(words)})"
    return [Finding("POI-1", history.scenario, Verdict.PASS, summary, figures=figures)]


def _fate(history: History, record: Produced, traced: Collection[int]) -> _Fate:
    policy, letters = history.meta.dead_letter.undecodable, history.letters(record)
    if letters:
        lacking = "" if any(letter.place == record.place for letter in letters) else "topic, partition and offset"
        if not lacking and not any(letter.reason for letter in letters):
            lacking = "reason"
        return _Fate("dead-lettered", lacking and f"was dead-lettered without its {lacking}")
    if history.accepted_at(record) < math.inf:
        return _Fate("delivered")
    if history.committed_past(record) == math.inf:
        told = policy.replace("_", "-") if policy else "nothing"
        return _Fate(_HELD, "" if policy == "hold" else f"holds its partition; what is configured for it is {told}")
    if policy in {"dead_letter", "hold"}:
        return _Fate("dropped", f"was committed past; configured is to {policy.replace('_', '-')} it")
    if record.record in traced:
        return _Fate("skipped with a trace")
    return _Fate("dropped", "was dropped silently: it was committed past, and nothing in the output tells of it")


def _traced(history: History, broken: Sequence[Produced]) -> Collection[int]:
    """Return the keys of the broken records that the output names, and not as it does those that are sound."""
    places = {(record.topic, record.partition) for record in broken}
    sound = [record for place in places for record in history.by_partition[place] if record.kind == "data"]
    return telling_apart(history, broken, sound).keys()


def _stopped(history: History, broken: Sequence[Produced]) -> Iterator[Produced]:
    """Yield the sound records of the broken ones' topics that were not finished, unless they are held as configured."""
    holds = history.meta.dead_letter.undecodable == "hold"
    first: dict[tuple[int, int], int] = {}
    for record in broken:
        first[record.topic, record.partition] = min(
            record.offset, first.get((record.topic, record.partition), record.offset)
        )
    topics = {topic for topic, _ in first}
    for record in history.produced:
        if record.topic not in topics or record.kind != "data" or history.finished_at(record) < math.inf:
            continue
        behind = record.offset > first.get((record.topic, record.partition), math.inf)
        if not (holds and behind):
            yield record


def _is_amid(history: History, record: Produced) -> bool:
    sound = [each.offset for each in history.by_partition[record.topic, record.partition] if each.kind == "data"]
    return any(offset < record.offset for offset in sound) and any(offset > record.offset for offset in sound)
