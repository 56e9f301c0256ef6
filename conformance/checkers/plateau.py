"""MEM-4, MEM-5 and a part of MEM-6: where memory comes to rest while clusters are dead and the backlog has no end.

What the operating system says is resident is compared within a phase, third by third, and between phases that differ in
one thing: the number of partitions, being the second of their kind, or how well the records are compressed.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from isolane.conformance.checkers import cases, faults, slots
from isolane.conformance.checkers.cases import Judge
from isolane.conformance.checkers.rates import quantile
from isolane.conformance.history import History
from isolane.conformance.history_values import Phase, Produced
from isolane.conformance.verdict import Figure, Finding

FEW, MANY, AGAIN, PACKED = (f"fault:dead-{name}" for name in ("few", "many", "again", "packed"))
"""The phases: few partitions, many, the same once more, and the same with records that inflate fifty-fold."""

MORE = 1.10
"""What one plateau may be of another that is the same but for one thing (MEM-4, MEM-5)."""

MORE_PARTITIONS = 1.25
"""The same where partitions are many instead of few: each costs a thread or two beside its records."""

NOISE = 8 * 1024**2
PASSED_ON = 0.5
"""Memory that grows by more than so many bytes, and this part of what was produced meanwhile, follows the backlog."""

FEWEST_SAMPLES = 5


@dataclass(frozen=True, slots=True)
class Plateau:
    """Memory in one phase.

    Attributes:
        phase: The phase.
        middle: The resident bytes of the member in its second third, all but the highest tenth of the samples.
        last: The same in its last third.
        produced: Bytes produced in the last third for tenants whose clusters were dead.
        accepted: Records accepted of them during the phase.
        waiting: The youngest of their records that was not accepted.
    """

    phase: Phase
    middle: float
    last: float
    produced: int
    accepted: int
    waiting: Produced | None

    @property
    def growth(self) -> float:
        """Bytes by which the last third was above the middle one."""
        return self.last - self.middle

    @property
    def grows(self) -> bool:
        """Whether it was no plateau."""
        follows = self.growth > NOISE and self.growth > PASSED_ON * self.produced
        return self.last > MORE * self.middle or follows


def check(history: History) -> list[Finding]:
    """Return the findings on MEM-4, MEM-5 and MEM-6 where the scenario declares them."""
    declared = {"MEM-4", "MEM-5", "MEM-6"} & set(history.meta.judges)
    plateaus = {phase.name: plateau_of(history, phase) for phase in history.phases if phase.name in _NAMES}
    found = []
    if "MEM-4" in declared:
        found += [_rest(history, "MEM-4", plateaus), _compared(Judge(history, "MEM-4", _AGAIN), plateaus, MANY, AGAIN)]
    if "MEM-5" in declared:
        found += [
            _rest(history, "MEM-5", plateaus),
            _compared(Judge(history, "MEM-5", _PACKED), plateaus, AGAIN, PACKED),
            _repeats(history),
        ]
    if "MEM-6" in declared:
        found.append(_compared(Judge(history, "MEM-6", _WIDER), plateaus, FEW, MANY, bound=MORE_PARTITIONS))
    return found


_NAMES = frozenset({FEW, MANY, AGAIN, PACKED})
_AGAIN, _PACKED, _WIDER = "the second fault", "compression", "many partitions"


def plateau_of(history: History, phase: Phase) -> Plateau | None:
    """Return memory in a phase; None where it was not complete, or the member was sampled too rarely in it."""
    third = phase.seconds / 3
    levels = [
        [sample.rss for sample in history.samples if began <= sample.at < began + third]
        for began in (phase.began + third, phase.began + 2 * third)
    ]
    if not phase.complete or min(map(len, levels)) < FEWEST_SAMPLES:
        return None
    sick = faults.tenants_in(history, phase)
    records = [record for tenant in sick for record in history.by_tenant[tenant] if record.acked < phase.ended]
    late = [record for record in records if record.acked >= phase.began + 2 * third]
    return Plateau(
        phase,
        quantile(levels[0], 0.9),
        quantile(levels[1], 0.9),
        sum(record.size for record in late),
        sum(phase.began + 1.0 <= history.accepted_at(record) < phase.ended for record in records),
        max(
            (each for each in late if history.accepted_at(each) >= phase.ended),
            key=lambda each: each.acked,
            default=None,
        ),
    )


def _rest(history: History, requirement: str, plateaus: dict[str, Plateau | None]) -> Finding:
    """Hold each phase against itself."""
    judge = Judge(history, requirement, "within each fault")
    known = [plateau for plateau in plateaus.values() if plateau is not None]
    figures = {}
    for each in known:
        figures[f"{each.phase.name}: memory"] = _mebibytes(each.last, f"≤ {MORE * each.middle / _MIB:.0f}")
        figures[f"{each.phase.name}: produced meanwhile"] = _mebibytes(each.produced)
    if not known:
        return judge.doubts("no phase with dead clusters was complete and sampled", figures)
    if doubt := _alive(history, known):
        return judge.doubts(doubt, figures)
    growing = [plateau for plateau in known if plateau.grows and plateau.waiting]
    if growing:
        worst = max(growing, key=lambda each: each.growth)
        what = (
            f"memory grew by {worst.growth / _MIB:.0f} MiB in the last third of {worst.phase.name}; records that waited"
        )
        return judge.fails(what, [each.waiting for each in growing if each.waiting], figures)
    if doubt := _exhausted(known):
        return judge.doubts(doubt, figures)
    return judge.passes(f"memory came to rest in each phase with dead clusters ({len(known)})", figures)


def _compared(
    judge: Judge, plateaus: dict[str, Plateau | None], first: str, then: str, *, bound: float = MORE
) -> Finding:
    """Hold a phase against another."""
    one, other = plateaus.get(first), plateaus.get(then)
    if one is None or other is None:
        return judge.doubts(f"{first} and {then} were not both complete and sampled", {})
    figures = {
        f"memory in {first}": _mebibytes(one.last),
        f"memory in {then}": _mebibytes(other.last, f"≤ {bound * one.last / _MIB:.0f}"),
        f"{then} / {first}": Figure(other.last / one.last, "", f"≤ {bound:g}"),
    }
    if doubt := _alive(judge.history, [one, other]) or _exhausted([one, other]):
        return judge.doubts(doubt, figures)
    if other.last > bound * one.last and other.waiting:
        what = f"memory was {other.last / one.last:.2f} times as high in {then} as in {first}; records that waited"
        return judge.fails(what, [other.waiting], figures)
    return judge.passes(f"memory in {then} was {other.last / one.last:.2f} times that in {first}", figures)


def _alive(history: History, plateaus: Sequence[Plateau]) -> str | None:
    if not slots.single_life(history):
        return "more than one process lived in it"
    for each in plateaus:
        if each.accepted:
            return f"the clusters of {each.phase.name} were not dead: they accepted records ({each.accepted})"
    return None


def _exhausted(plateaus: Sequence[Plateau]) -> str | None:
    for each in plateaus:
        if each.waiting is None or each.produced < NOISE:
            return f"the backlog of {each.phase.name} came to an end: {each.produced / _MIB:.0f} MiB in its last third"
    return None


def _repeats(history: History) -> Finding:
    """Hold each request against itself: what is sent again must not be sent twice in one request (FB-24)."""
    judge = Judge(history, "MEM-5", "retries")
    twice: list[Produced] = []
    retried = 0
    for attempt in history.attempts:
        counted = Counter(token for token in attempt.tokens() if token is not None)
        retried += attempt.status is not None and attempt.status != 200
        twice += cases.records(history, [token for token, times in counted.items() if times > 1])
    figures = {
        "requests refused": Figure(retried, "", "≥ 1"),
        "records twice in one request": Figure(len(twice), "", "= 0"),
    }
    if twice:
        return judge.fails("records that are in one request more than once", twice, figures)
    if not retried:
        return judge.doubts("nothing was refused, so nothing was sent again", figures)
    return judge.passes("what was sent again was in its request once", figures)


_MIB = 1024**2


def _mebibytes(size: float, bound: str = "") -> Figure:
    return Figure(size / _MIB, "MiB", bound)
