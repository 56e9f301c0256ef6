"""LIM-1 to LIM-3: what a tenant's cap may have been at most, and how many slots were held.

The cap itself is not seen. What is followed is the highest that any conforming reading allows: each success raises it
by one, and a bad sample halves it, rounded up, unless its attempt began before the last halving. An implementation that
raises less, or halves more, stays below.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import Enum

from isolane.conformance.checkers import cases, slots
from isolane.conformance.checkers.cases import Judge, Late
from isolane.conformance.checkers.comparison import CONTROL
from isolane.conformance.history import History
from isolane.conformance.history_ledger import Attempt, is_accepted, is_retryable
from isolane.conformance.history_values import Phase, Produced
from isolane.conformance.verdict import Figure, Finding

SLACK = 0.3
"""Seconds for an answer to reach whoever decides the next grant, and for a request that was granted to arrive."""


class Sample(Enum):
    """What an attempt says of its cluster, for certain."""

    GOOD = "accepted in time"
    REFUSED = "refused"
    SLOW = "slow"
    GIVEN_UP = "given up"
    NOTHING = "neither good nor bad"


_BAD = frozenset({Sample.REFUSED, Sample.SLOW, Sample.GIVEN_UP})


@dataclass(frozen=True, slots=True)
class Halving:
    """A bad sample that halves the cap: when, of which kind, and how many slots were held at that moment.

    Halvings follow one another in a row while nothing succeeds in between: `since` is when that began.
    """

    at: float
    sample: Sample
    held: int
    since: float


@dataclass(slots=True)
class Cap:
    """The highest that a conforming cap may be, as time goes on."""

    floor: int
    ceiling: int
    value: int
    halved_at: float = float("-inf")
    before: float = 0.0
    raised: bool = True  # since it was halved

    def take(self, sample: Sample, began: float, now: float) -> bool:
        """Take a sample of an attempt that began then; tell whether it halved the cap."""
        if sample is Sample.GOOD:
            self.value = min(self.ceiling, self.value + 1)
            self.raised = True
        elif sample in _BAD and began > self.halved_at + SLACK:
            self.before = self.allowed(now)
            self.halved_at = now
            self.raised = False
            self.value = max(self.floor, (self.value + 1) // 2)
            return True
        return False

    def allowed(self, now: float) -> float:
        """Return what may be held by a request that arrives now: one granted before the halving may be on its way."""
        return max(self.value, self.before) if now <= self.halved_at + SLACK else self.value


def sample_of(attempt: Attempt, slow_after: float) -> Sample:
    """Return what an attempt says: nothing where it was refused in part, or by its environment."""
    took = slots.end(attempt) - attempt.arrived
    if attempt.answered is None:
        return Sample.GIVEN_UP if attempt.how == "client_gone" else Sample.NOTHING
    if took > slow_after + SLACK:
        return Sample.SLOW
    statuses = [status for _, status in attempt.items()]
    if any(map(is_accepted, statuses)):
        return Sample.GOOD
    answers = [attempt.status] if attempt.statuses is None else statuses
    return Sample.REFUSED if answers and all(map(is_retryable, answers)) else Sample.NOTHING


@dataclass(slots=True)
class Course:
    """What happened at one tenant's cluster, held against its cap.

    Attributes:
        tenant: The tenant.
        first: The most slots held before anything was accepted.
        most: The most slots held at all.
        too_early: Requests beyond the floor before anything was accepted.
        too_fast: Requests beyond what successes can have raised the cap to, or beyond the ceiling.
        too_late: Requests beyond the cap after it was halved; also when it was raised a little since then.
        halvings: Bad samples that halved it.
    """

    tenant: str
    first: int
    most: int
    too_early: list[Attempt]
    too_fast: list[Attempt]
    too_late: list[Attempt]
    halvings: list[Halving]


def check(history: History) -> list[Finding]:
    """Return the findings on LIM-1, LIM-2 and LIM-3 where the scenario declares them."""
    if not {"LIM-1", "LIM-2", "LIM-3"} & set(history.meta.judges) or not slots.single_life(history):
        return []
    floor, ceiling = slots.limit(history, "cap_floor"), slots.limit(history, "cap_ceiling")
    if floor is None or ceiling is None:
        missing = "cap_floor and cap_ceiling are not promised: nothing to hold anybody to"
        return [Judge(history, f"LIM-{number}").doubts(missing, {}) for number in (1, 2, 3)]
    courses = [follow(history, tenant.name, floor, ceiling) for tenant in history.meta.tenants]
    courses = [course for course in courses if course.most]
    return [
        _start(history, courses, floor),
        _rise(history, courses, ceiling),
        _fall(history, courses),
    ]


def follow(history: History, tenant: str, floor: int, ceiling: int) -> Course:
    """Return what happened at a tenant's cluster."""
    course = Course(tenant, 0, 0, [], [], [], [])
    cap = Cap(floor, ceiling, floor)
    slow_after = slots.seconds(history, "slow_after", 2.0)
    held, accepted, late, since = 0, False, False, -math.inf
    for at, attempt, arrives in slots.changes(slots.attempts_of(history, tenant)):
        if not arrives:
            sample = sample_of(attempt, slow_after)
            accepted |= sample is Sample.GOOD
            since = at if cap.raised else since
            if cap.take(sample, attempt.arrived, at):
                course.halvings.append(Halving(at, sample, held, since))
                late = False
            held -= 1
            continue
        held += 1
        course.most = max(course.most, held)
        if not accepted:
            course.first = max(course.first, held)
            if held > floor:
                course.too_early.append(attempt)
        elif held > cap.allowed(at):
            late |= not cap.raised
            (course.too_late if late and held <= ceiling else course.too_fast).append(attempt)
    return course


def _start(history: History, courses: Sequence[Course], floor: int) -> Finding:
    judge = Judge(history, "LIM-1")
    waited = [course for course in courses if _waited_at_first(history, course.tenant)]
    figures = {
        "tenants with more to send than that at first": Figure(len(waited), "", "≥ 1"),
        "most slots before the first success": Figure(
            max((each.first for each in courses), default=0), "", f"≤ {floor}"
        ),
    }
    if early := _records(history, (each.too_early for each in courses)):
        return judge.fails(f"records sent with more than {floor} slots before anything was accepted", early, figures)
    if not waited:
        return judge.doubts("no tenant had more to send at first than one request held", figures)
    return judge.passes(f"every tenant began with {floor} ({len(courses)} tenants)", figures)


def _rise(history: History, courses: Sequence[Course], ceiling: int) -> Finding:
    judge = Judge(history, "LIM-2")
    control = history.phase(CONTROL)
    half = (control.began + control.seconds / 2, control.ended) if control and control.complete else None
    busy = [course for course in courses if half and slots.saturated(history, course.tenant, *half)]
    reach = slots.fair_part(history, ceiling, len(busy))
    reached = {course.tenant: _most_within(history, course.tenant, control) for course in busy}
    figures = {
        "saturated tenants": Figure(len(busy), "", "≥ 1"),
        "least concurrency that one of them reached": Figure(min(reached.values(), default=0), "", f"≥ {reach}"),
        "most slots held": Figure(max((each.most for each in courses), default=0), "", f"≤ {ceiling}"),
    }
    if fast := _records(history, (each.too_fast for each in courses)):
        what = "records sent with more slots than successes and the ceiling allow"
        return judge.fails(what, fast, figures, _late(courses, "too_fast"))
    short = [tenant for tenant, most in reached.items() if most < reach]
    if short and half:
        late = [each for each in history.by_tenant[short[0]] if half[0] <= slots.first_sent(history, each)]
        return judge.fails(f"records that waited while {short[0]}'s healthy cluster had slots to spare", late, figures)
    if control and not control.complete:
        return judge.doubts("the run ended before its control was over", figures)
    if not busy:
        return judge.doubts("no tenant had more to send than its slots in the control", figures)
    return judge.passes(f"the cap rose to {reach} step by step, and not above {ceiling}", figures)


def _fall(history: History, courses: Sequence[Course]) -> Finding:
    judge = Judge(history, "LIM-3")
    halvings = [halving for course in courses for halving in course.halvings if halving.held > 1]
    kinds = {kind: sum(halving.sample is kind for halving in halvings) for kind in Sample if kind in _BAD}
    figures = {
        **{f"halvings by a request that was {kind.value}": Figure(number) for kind, number in kinds.items()},
        "most slots held at a halving": Figure(max((each.held for each in halvings), default=0)),
        "requests beyond the halved cap": Figure(sum(len(each.too_late) for each in courses), "", "= 0"),
    }
    if late := _records(history, (each.too_late for each in courses)):
        what = "records sent while the tenant held as many slots as its halved cap"
        return judge.fails(what, late, figures, _late(courses, "too_late"))
    if missing := [kind.value for kind in (Sample.REFUSED, Sample.SLOW) if not kinds[kind]]:
        return judge.doubts(f"with several slots held no request was {' or '.join(missing)}", figures)
    return judge.passes(f"no request came before the slots were fewer than the halved cap ({len(halvings)})", figures)


def _late(courses: Sequence[Course], which: str) -> Iterator[Late]:
    """Yield how long after a row of halvings began each of these requests came; without one it is late for ever."""
    for course in courses:
        attempts: list[Attempt] = getattr(course, which)
        for attempt in attempts:
            since = max((each.since for each in course.halvings if each.at <= attempt.arrived), default=-math.inf)
            yield Late(since, attempt.arrived - since, SLACK)


def _waited_at_first(history: History, tenant: str) -> bool:
    """Return whether a record waited from before the first answer until after it."""
    answers = [each.answered for each in slots.attempts_of(history, tenant) if each.answered is not None]
    first = min(answers, default=None)
    return first is not None and any(
        record.acked < first <= slots.first_sent(history, record) for record in history.by_tenant[tenant]
    )


def _most_within(history: History, tenant: str, phase: Phase | None) -> int:
    attempts = slots.attempts_of(history, tenant)
    return slots.percentile(attempts, phase.began, phase.ended, 1.0) if phase else 0


def _records(history: History, attempts: Iterable[Iterable[Attempt]]) -> list[Produced]:
    return [record for each in attempts for attempt in each for record in cases.records(history, attempt.tokens())]
