"""All checkers on histories that were broken off after any event: each of them finds what it can, and none raises."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from itertools import chain
from pathlib import Path

import pytest

from isolane.conformance.checkers import judge
from isolane.conformance.history_values import NEEDED
from isolane.conformance.requirements import CATALOGUE
from isolane.conformance.selftest.conformance import (
    test_checkers_bites,
    test_checkers_clean_stops,
    test_checkers_concurrency,
    test_checkers_discovery,
    test_checkers_documents,
    test_checkers_fetching,
    test_checkers_joining,
    test_checkers_metrics,
    test_checkers_nothing,
    test_checkers_ownership,
    test_checkers_plateau,
    test_checkers_probes,
    test_checkers_recovery,
    test_checkers_refused,
    test_checkers_services_away,
    test_checkers_span,
    test_checkers_stalled,
    test_checkers_stopping,
    test_checkers_tenant_changes,
)
from isolane.conformance.selftest.conformance.builders import Story, isolated, story
from isolane.conformance.selftest.conformance.limited import lived
from isolane.conformance.verdict import Verdict


def noticed() -> Story:
    """What the harness tells of itself and of the load, and an operator who sets offsets."""
    made = story()
    made.phase("control", 0)
    made.flow("h0", 0, 5, rate=4)
    for name in ("load_lag", "sampler_gap", "unreadable", "cluster_lag", "clock_step"):
        made.event(1, "harness", name, seconds=2.0, of="group")
    made.event(2, "operator", "offsets", tenant="h0")
    made.phase("drain", 5)
    made.event(5, "load", "offered", phase="control", tenant="h0", records=20)
    made.event(6, "documents", "h0", documents=20)
    made.phase("end", 7)
    return made


def stuck() -> Story:
    """A record that is refused for a while, with others behind it, and beside it."""
    return test_checkers_span.stuck(test_checkers_span.SPAN)


def held() -> Story:
    """The same, with what was fetched meanwhile."""
    return test_checkers_fetching.held(*test_checkers_fetching.GOOD)


STORIES: tuple[Callable[[], Story], ...] = (
    held,
    isolated,
    lived,
    noticed,
    stuck,
    lambda: test_checkers_bites.lived(1, 2),
    test_checkers_clean_stops.rolled,
    test_checkers_concurrency.after_push_back,
    test_checkers_discovery.discovered,
    test_checkers_documents.searched,
    test_checkers_joining.churned,
    test_checkers_metrics.scraped,
    test_checkers_nothing.rows,
    test_checkers_ownership.churned,
    test_checkers_plateau.dead,
    test_checkers_probes.probed,
    test_checkers_recovery.recovered,
    test_checkers_refused.tried,
    test_checkers_services_away.away,
    test_checkers_stalled.stall,
    test_checkers_stopping.stopped,
    test_checkers_tenant_changes.changed,
)
FILES = ("produced", "attempts", "commits", "dead_letters", "found", "samples", "scrapes", "fetched", "groups")


LATER = (0.6, 2.52)
"""Seconds after an event at which something was begun and not done: not whole ones, since records come at such."""


def cuts(made: Story) -> Iterator[Story]:
    """The history as it would be, had it been broken off at its begin, and after each of its events.

    Twice each: with what other files hold until then, and with all of it, since each file has its own writer.
    """
    made.meta["judges"] = list(CATALOGUE.requirements)
    events = made.events
    for at in sorted({float("-inf"), *(float(line["at"]) for line in events)}):
        made.events = [line for line in events if line["at"] <= at]
        yield made
        yield broken_off(made, at)


def moments(made: Story) -> Iterator[Story]:
    """The history as it would be, had it been broken off a little later than each of its events, or a while."""
    times = {float(line["at"]) + later for line in made.events for later in LATER}
    yield from (broken_off(made, at) for at in sorted(times) if at < max(float(line["at"]) for line in made.events))


def broken_off(made: Story, at: float) -> Story:
    """The history as far as its files tell of what was until then."""
    part = copy.copy(made)
    for name in ("events", *FILES):
        setattr(part, name, [line for line in getattr(made, name) if _when(line) <= at])
    return part


def _when(line: dict[str, float]) -> float:
    """When a line was written."""
    return next(float(line[name]) for name in ("ended", "seen", "at", "acked") if name in line)


def _name(make: Callable[[], Story]) -> str:
    return f"{make.__module__.rpartition('.')[2]}.{make.__name__}"


@pytest.mark.parametrize("make", STORIES, ids=_name)
def test_a_history_that_is_broken_off_anywhere_can_be_judged(make: Callable[[], Story], tmp_path: Path) -> None:
    """On every requirement, by every checker; what is told of a record comes with its story."""
    for number, made in enumerate(cuts(make())):
        found = judge(made.load(tmp_path / str(number)))
        assert all(finding.summary for finding in found)
        assert all(finding.story for finding in found if finding.evidence)


@pytest.mark.parametrize("make", STORIES, ids=_name)
def test_a_history_that_is_broken_off_has_no_violation_that_the_whole_one_has_not(
    make: Callable[[], Story], tmp_path: Path
) -> None:
    """What had not happened yet may have been on its way."""
    made = make()
    made.meta["judges"] = list(CATALOGUE.requirements)
    violated = violations(made, tmp_path / "whole")
    for number, part in enumerate(chain(moments(made), cuts(made))):
        assert violations(part, tmp_path / str(number)) <= violated


def violations(made: Story, folder: Path) -> set[str]:
    """The requirements that are violated in a history."""
    return {finding.requirement for finding in judge(made.load(folder)) if finding.verdict is Verdict.FAIL}


def test_they_are_broken_off_after_events_of_every_kind() -> None:
    """That tell more than that they happened."""
    told = {(line["kind"], name) for make in STORIES for line in make().events for name in ("", line["name"])}
    assert told >= NEEDED.keys()
