"""DEL-2: what a cluster refuses for now, or does not answer, is sent again until it is accepted."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator, Sequence

from isolane.conformance.checkers import cases
from isolane.conformance.checkers.cases import Judge
from isolane.conformance.checkers.faults import HELD
from isolane.conformance.history import History
from isolane.conformance.history_sendings import Answer, Sending
from isolane.conformance.history_values import Produced
from isolane.conformance.tokens import ITEM_BITS
from isolane.conformance.verdict import Figure, Finding

_REFUSED = "refused connection"
_KINDS = ("408", "425", "429", "5xx", "no bulk reply", "broken connection", "no answer in time", _REFUSED)
"""What a cluster may do for now; each must have been done to some record."""

_FINAL = frozenset({Answer.REFUSED, Answer.ENVIRONMENT})


def check(history: History) -> list[Finding]:
    """Return the finding on DEL-2; none where no cluster refused anything for now, unless the scenario declares it."""
    met: dict[str, dict[int, float]] = defaultdict(dict)
    for kind, key, at in (*_refusals(history), *_refused_connections(history)):
        met[kind].setdefault(key, at)
    if not met and "DEL-2" not in history.meta.judges:
        return []
    began: dict[int, float] = {}
    for times in met.values():
        for key, at in times.items():
            began[key] = min(at, began.get(key, at))
    affected = [record for key in began if (record := history.find(key)) is not None]
    return [_judged(history, affected, began, {kind: len(met[kind]) for kind in _KINDS})]


def _judged(history: History, affected: Sequence[Produced], began: dict[int, float], counts: dict[str, int]) -> Finding:
    judge = Judge(history, "DEL-2")
    ends = {record.record: history.finished_at(record) for record in affected}
    left = [record for record in affected if ends[record.record] == math.inf]
    given_up = [record for record in affected if _is_given_up(history, record)]
    lasted = [end - began[key] for key, end in ends.items() if end < math.inf]
    figures = {
        **{f"records that met: {kind}": Figure(count, "", "> 0") for kind, count in counts.items()},
        "longest from the first refusal to the end": Figure(max(lasted, default=0.0), "s"),
        "most attempts of a record": Figure(_most_attempts(history, affected)),
        "records left": Figure(len(left), "", "= 0"),
        "records put aside": Figure(len(given_up), "", "= 0"),
    }
    if given_up:
        return judge.fails("records put aside that were only refused for now", given_up, figures)
    if lost := cases.committed_past(history, left):
        return judge.fails("records given up, committed past and never accepted", lost, figures)
    if left and (reason := cases.undecided(history, left)):
        return judge.doubts(f"records that were refused for now are not finished ({len(left)}), but {reason}", figures)
    if left:
        return judge.fails("records never accepted after they were refused for now", left, figures)
    if missing := [kind for kind, count in counts.items() if not count]:
        return judge.doubts(f"no record met: {', '.join(missing)}", figures)
    return judge.passes(f"every record that was refused for now was accepted in the end ({len(affected)})", figures)


def _refusals(history: History) -> Iterator[tuple[str, int, float]]:
    for token, sendings in history.sendings.items():
        for sending in sendings:
            kind = _kind(sending)
            if kind is not None:
                yield kind, token >> ITEM_BITS, sending.attempt.arrived


def _kind(sending: Sending) -> str | None:
    attempt = sending.attempt
    if sending.answer is Answer.SILENCE:
        if attempt.how in {"reset", "lost", "cut"}:
            return "broken connection"
        # A sender that is killed goes away, too: one that gave up had waited.
        return "no answer in time" if (attempt.closed or math.inf) - attempt.arrived >= HELD else None
    if sending.answer is not Answer.NOT_NOW:
        return None
    status = attempt.status if sending.status is None else sending.status
    if status == 200:
        return "no bulk reply"
    return "5xx" if status is not None and status >= 500 else str(status)


def _refused_connections(history: History) -> Iterator[tuple[str, int, float]]:
    """What a refusing port did cannot be seen: records were there, and no request came."""
    for fault in cases.of_kind(history, "refuse"):
        if not cases.attempts(history, fault):
            for record in history.by_tenant[fault.tenant]:
                if fault.began <= record.acked < fault.ended:
                    yield _REFUSED, record.record, record.acked


def _is_given_up(history: History, record: Produced) -> bool:
    return bool(history.letters(record)) and not any(sending.answer in _FINAL for sending in _sendings(history, record))


def _sendings(history: History, record: Produced) -> Iterator[Sending]:
    for item in range(record.items):
        yield from history.sendings.get(record.record << ITEM_BITS | item, ())


def _most_attempts(history: History, affected: Sequence[Produced]) -> int:
    return max(
        (len(history.sendings.get(record.record << ITEM_BITS, ())) for record in affected),
        default=0,
    )
