"""LIM-8: the slots that members tell of, held against their caps, the requests that are open, and moments of rest.

The cap and the slots of one scrape need not be of one moment, and slots above the cap prove nothing: it was halved, and
its attempts go on. What proves a grant is that slots have risen. It was beyond the cap when they are more than the cap
can have been since: what was told of it well before, and one more for each request that was accepted then (LIM-2).
"""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import accumulate, islice, pairwise
from operator import attrgetter

from isolane.conformance.checkers import harness, membership, slots
from isolane.conformance.checkers.cases import Judge
from isolane.conformance.checkers.clean_stops import ASKED
from isolane.conformance.history import History
from isolane.conformance.history_ledger import Attempt
from isolane.conformance.metrics_text import NotExpositionError, Pattern, reading_of
from isolane.conformance.verdict import Figure, Finding

GRANTS, RELEASES = "grants", "releases"
"""The cases."""

STALE = 1.0
"""Seconds by which the cap that a member tells may be older than the scrape, or may lag behind a cluster's answers."""

NEAR = 0.3
"""Seconds around a scrape for which a request must be open to hold a slot for certain."""

QUIET = 1.0
"""Seconds without a request of a tenant, all of whose records are finished, after which it holds no slot."""

FEWEST_READINGS, FEWEST_AT_REST = 5, 2
"""Scrapes that tell of a tenant, and those of them at rest: with fewer nothing is said."""


@dataclass(frozen=True, slots=True)
class Life:
    """A member's process, from its start to its end (infinity: it was never told), and when it was told to stop."""

    member: str
    began: float
    stopping: float = math.inf
    ended: float = math.inf


@dataclass(frozen=True, slots=True)
class Told:
    """What one scrape of a member told of a tenant, and when the scrape began and ended."""

    began: float
    at: float
    cap: float
    slots: float


@dataclass(frozen=True, slots=True)
class Rise:
    """That slots had risen from one scrape to the next, and the most that the cap let be granted since the first."""

    before: Told
    told: Told
    most: float


@dataclass(frozen=True)
class Tenant:
    """What is known of a tenant from outside: its requests, its records and the faults of its cluster."""

    history: History
    name: str

    @cached_property
    def attempts(self) -> Sequence[Attempt]:
        """Its requests, in order of arrival."""
        return slots.attempts_of(self.history, self.name)

    @cached_property
    def _arrivals(self) -> Sequence[float]:
        return [attempt.arrived for attempt in self.attempts]

    @cached_property
    def _over(self) -> Sequence[float]:
        """When all requests that had arrived by each were over."""
        return list(accumulate(map(slots.end, self.attempts), max))

    @cached_property
    def _longest(self) -> float:
        answered = [each.answered - each.arrived for each in self.attempts if each.answered is not None]
        return max(answered, default=0.0)

    @cached_property
    def _accepted(self) -> Sequence[float]:
        return sorted(slots.end(attempt) for attempt in self.attempts if attempt.accepts())

    @cached_property
    def _finished(self) -> tuple[Sequence[float], Sequence[float]]:
        """When its records were sent, sorted; and when all that were sent by then were finished."""
        records = sorted((each.sent, self.history.finished_at(each)) for each in self.history.by_tenant[self.name])
        return [sent for sent, _ in records], list(accumulate((finished for _, finished in records), max))

    def successes(self, since: float, until: float) -> int:
        """Return how many of its requests were accepted, in part at least, between two moments."""
        return bisect_right(self._accepted, until) - bisect_left(self._accepted, since)

    def rests(self, life: Life, told: Told) -> bool:
        """Return whether nothing can have held a slot of its when this was told.

        Nothing is open, and has been for a while: as long as an answer takes to be heard, where nothing is left to be
        sent; otherwise longer than any attempt may last, and than a sick tenant may be left alone (LIM-4).
        """
        sent, finished = self._finished
        there = bisect_right(sent, told.at)
        settled = not there or finished[there - 1] < told.began - QUIET
        alone = slots.seconds(self.history, "probe_interval", math.inf)
        since = told.began - (QUIET if settled else slots.seconds(self.history, "request_timeout", math.inf) + alone)
        arrived = bisect_left(self._arrivals, told.at)
        return (
            life.began < since
            and (not arrived or self._over[arrived - 1] <= since)
            and not any(
                fault.began < told.at and fault.ended > since
                for fault in self.history.faults
                if fault.tenant == self.name
            )
        )

    def open_throughout(self, told: Told, since: float) -> int:
        """Return how many requests that came after `since` were open all through a scrape, and were answered."""
        first = bisect_right(self._arrivals, max(since, told.at + NEAR - self._longest))
        last = bisect_left(self._arrivals, told.began - NEAR)
        return sum(
            attempt.answered is not None and attempt.answered > told.at + NEAR for attempt in self.attempts[first:last]
        )


@dataclass(slots=True)
class Course:
    """What one process told of one tenant, scrape by scrape.

    Attributes:
        life: The process.
        tenant: The tenant.
        told: What it told, in order.
        summed: Whether a cap or slots were sums of samples, which need not be of one moment.
    """

    life: Life
    tenant: Tenant
    told: list[Told] = field(default_factory=list)
    summed: bool = False

    def rises(self) -> Iterator[Rise]:
        """Yield each rise of slots, where the cap was told well before."""
        for number, (before, told) in enumerate(pairwise(self.told)):
            since = bisect_right(self.told, before.began - STALE, hi=number, key=attrgetter("at"))
            if since and told.slots > before.slots:
                base, *later = self.told[since - 1 : number + 2]
                grown = base.cap + self.tenant.successes(base.began - STALE, told.at)
                yield Rise(before, told, math.ceil(max(grown, *(each.cap for each in later))))

    def last_at_rest(self) -> list[Told]:
        """Return the last that was told while nothing can have held a slot: so much as tells of a leak, or less.

        What leaked is never given back, so the last say what those before them would.
        """
        at_rest = (told for told in reversed(self.told) if self.tenant.rests(self.life, told))
        return list(islice(at_rest, FEWEST_AT_REST))


def check(history: History) -> list[Finding]:
    """Return the findings on LIM-8, on grants and on releases, where the scenario declares it and both are mapped."""
    if "LIM-8" not in history.meta.judges or not {"cap", "slots"} <= history.meta.metrics.map.keys():
        return []
    try:
        courses = courses_of(history)
    except NotExpositionError as error:
        return [
            Judge(history, "LIM-8").doubts(f"what is served is not in the format that scrapers expect: {error}", {})
        ]
    courses = [course for course in courses if len(course.told) >= FEWEST_READINGS]
    silent = sorted(set(history.by_tenant) - {course.tenant.name for course in courses})
    if silent:
        return [Judge(history, "LIM-8").doubts(f"cap and slots of {', '.join(silent)} were not told often enough", {})]
    return [_grants(history, courses), _releases(history, courses)]


def courses_of(history: History) -> list[Course]:
    """Return what each process told of each tenant until it was told to stop.

    Of each scrape only the lines of caps and slots are read.

    Raises:
        NotExpositionError: Those are not in the format that scrapers expect.
    """
    lives = lives_of(history)
    names = tuple(Pattern.parse(history.meta.metrics.map[name]).name for name in ("cap", "slots"))
    tenants = {name: Tenant(history, name) for name in history.by_tenant}
    courses: dict[tuple[Life, str], Course] = {}
    for scrape in history.scrapes:
        own = (life for life in lives if life.member == scrape.member and life.began < scrape.began)
        life = next((life for life in own if scrape.at < min(life.stopping, life.ended)), None)
        if life is None:
            continue
        text = "".join(line for line in scrape.text.splitlines(keepends=True) if line.startswith(names))
        reading = reading_of(replace(scrape, text=text), history.meta.metrics)
        caps, held = reading.tenants["cap"], reading.tenants["slots"]
        for name in caps.keys() & held.keys() & tenants.keys():
            course = courses.setdefault((life, name), Course(life, tenants[name]))
            course.told.append(Told(reading.began, reading.at, caps[name], held[name]))
            course.summed |= not reading.summed.isdisjoint({"cap", "slots"})
    return list(courses.values())


def lives_of(history: History) -> list[Life]:
    """Return the processes of all members, in order of their ends."""
    alive: dict[str, Life] = {}
    over = []
    for event in history.events:
        member = str(event.detail.get("member"))
        if event.kind == "process" and event.name == membership.JOINED:
            alive[member] = Life(member, event.at)
        elif event.kind == "process" and event.name in membership.ENDS and member in alive:
            over.append(replace(alive.pop(member), ended=event.at))
        elif event.kind == "signal" and event.name == ASKED and member in alive:
            alive[member] = replace(alive[member], stopping=event.at)
    return [*over, *alive.values()]


def _grants(history: History, courses: Sequence[Course]) -> Finding:
    judge = Judge(history, "LIM-8", GRANTS)
    full = sum(told.slots >= math.floor(told.cap) for course in courses for told in course.told)
    rises = [(course, rise) for course in courses for rise in course.rises()]
    ceiling = slots.limit(history, "cap_ceiling") or math.inf
    wrong = [
        f"{_where(history, course, told)}, and the ceiling is {ceiling}"
        for course in courses
        for told in course.told
        if told.slots > ceiling
    ]
    excused = []
    for course, rise in rises:
        if rise.told.slots > rise.most:
            what = _where(history, course, rise.told)
            sentence = f"{what}, {rise.before.slots:g} before, and its cap can have been {rise.most:g} at most since"
            excuse = _excuse(history, rise)
            excused += [f"{sentence}, but {excuse}"] if excuse else []
            wrong += [] if excuse else [sentence]
    figures = {
        **_readings(courses),
        "of them with the whole cap held": Figure(full, "", "≥ 1"),
        "rises of slots": Figure(len(rises)),
        "grants beyond the cap": Figure(len(wrong), "", "= 0"),
    }
    if any(course.summed for course in courses):
        return judge.doubts("caps or slots are told in parts, which need not be of one moment", figures)
    if wrong:
        return judge.violates(wrong[0], figures)
    if excused:
        return judge.doubts(excused[0], figures)
    if not full:
        return judge.doubts("no tenant was seen to hold its whole cap", figures)
    return judge.passes(f"slots never rose beyond what the cap can have been ({len(rises)} rises)", figures)


def _releases(history: History, courses: Sequence[Course]) -> Finding:
    judge = Judge(history, "LIM-8", RELEASES)
    lives, wrong, rested = lives_of(history), [], set()
    for course in courses:
        name = course.tenant.name
        wrong += [f"{_where(history, course, told)}: one was released twice" for told in course.told if told.slots < 0]
        last = course.last_at_rest()
        if len(last) == FEWEST_AT_REST:
            rested.add(name)
            if all(told.slots > 0 for told in last):
                wrong.append(f"{_where(history, course, last[0])}, and nothing of {name} was under way: leaked")
        for told in course.told:
            since = _alone_since(history, lives, course.life, told)
            under_way = 0 if since is None else course.tenant.open_throughout(told, since)
            if 0 <= told.slots < under_way:
                what = _where(history, course, told)
                wrong.append(
                    f"{what}, and {under_way} of its requests were open all the time: released too early, or not told"
                )
    figures = {
        **_readings(courses),
        "tenants seen with nothing under way": Figure(len(rested), "", f"= {len(history.by_tenant)}"),
        "slots that leaked, or were released twice or too early": Figure(len(wrong), "", "= 0"),
    }
    if wrong:
        return judge.violates(wrong[0], figures)
    if busy := sorted(set(history.by_tenant) - rested):
        return judge.doubts(f"{', '.join(busy)} was not seen often enough with nothing under way", figures)
    return judge.passes("nobody held a slot when nothing was under way", figures)


def _alone_since(history: History, lives: Iterable[Life], life: Life, told: Told) -> float | None:
    """Return from when on requests are this process', and of its configuration; None where others are there, too."""
    others = [other for other in lives if other != life]
    if any(other.began < told.at + NEAR and other.ended > told.began - NEAR for other in others):
        return None
    changes = [event.at for event in history.events if event.kind == "tenants"]
    return NEAR + max(at for at in (life.began, *(other.ended for other in others), *changes) if at < told.began)


def _excuse(history: History, rise: Rise) -> str | None:
    """Return why a member may have told its cap, or heard of an answer, later than it should; None where it may not."""
    phases = (each for each in history.phases if each.began < rise.told.at and each.ended > rise.before.began - STALE)
    return next(filter(None, (harness.starved(history, phase) for phase in phases)), None)


def _where(history: History, course: Course, told: Told) -> str:
    phase = next((each.name for each in history.phases if each.began <= told.at < each.ended), "no phase")
    return f"member {course.life.member} held {told.slots:g} slots of {course.tenant.name} in {phase}"


def _readings(courses: Iterable[Course]) -> dict[str, Figure]:
    return {"readings": Figure(sum(len(course.told) for course in courses))}
