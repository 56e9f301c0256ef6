"""Series: what a history says over time, in bins that begin where the fault does."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

from isolane.conformance.report import series
from isolane.conformance.report.series import Series, Shade, View
from isolane.conformance.selftest.conformance.builders import Story, story

VIEW = View(zero=110, began=108, ended=114)


def made() -> Story:
    """A story of six seconds with a fault in its last four."""
    told = story(healthy=1)
    told.phase("control", 108)
    told.fault("slow", "sick", 110, 114)
    told.phase("end", 114)
    return told


def at(line: Series, moment: float) -> float | None:
    """The value of the bin that holds a moment."""
    return next(
        value for time, value in zip(line.times, line.values, strict=True) if abs(time - moment) <= series.BIN / 2
    )


def test_records_count_where_they_were_accepted(tmp_path: Path) -> None:
    """A stall is a rate of zero and the backlog a peak after it, whenever the records were due."""
    told = made()
    told.flow("h0", 108, 110, rate=20)
    stuck = [told.produce("h0", 110 + number / 20) for number in range(40)]
    told.attempt("h0", [*stuck], 112.1)
    line = series.accepted_rate(told.load(tmp_path), "h0", VIEW)
    assert at(line, -1.25) == pytest.approx(20)
    assert at(line, 1.25) == 0
    assert at(line, 2.25) == pytest.approx(40 / series.BIN)


def test_an_item_not_accepted_keeps_its_record_from_counting(tmp_path: Path) -> None:
    """A record of which a part is missing, or that another's cluster took, is not accepted."""
    told = made()
    token = told.produce("h0", 111, items=2)
    told.attempt("h0", [token], 111.1)
    told.attempt("sick", [told.produce("h0", 111)], 111.1)
    assert set(series.accepted_rate(told.load(tmp_path), "h0", VIEW).values) == {0}


def test_a_bin_begins_at_zero_and_only_whole_bins_count() -> None:
    """What changes at zero changes between two bins; a stretch shorter than a bin would show a wrong rate."""
    bins = list(View(zero=110, began=109.3, ended=110.9).bins())
    assert bins == [(109.5, 110), (110, 110.5)]


def test_the_offered_rate_is_a_step_for_each_phase(tmp_path: Path) -> None:
    """The mean of what was due in a phase, from its begin to its end, cut where the view ends."""
    told = made()
    told.flow("h0", 108, 110, rate=20)
    told.flow("h0", 110, 114, rate=5)
    line = series.offered_rate(told.load(tmp_path), "h0", View(zero=110, began=109, ended=112))
    assert line == Series((-1, 0, 0, 2), (20, 20, 5, 5))


def test_a_delay_belongs_to_when_the_record_was_due(tmp_path: Path) -> None:
    """The longest of a bin counts, and a bin in which nothing was due has none."""
    told = made()
    told.deliver("h0", 110.1, delay=0.05)
    told.deliver("h0", 110.2, delay=3)
    line = series.delay(told.load(tmp_path), "h0", VIEW)
    assert at(line, 0.25) == pytest.approx(3)
    assert at(line, 1.25) is None


def test_a_record_never_accepted_has_waited_until_the_end(tmp_path: Path) -> None:
    """Its delay is finite, and no less than what is known."""
    told = made()
    told.produce("h0", 110.1)
    assert at(series.delay(told.load(tmp_path), "h0", VIEW), 0.25) == pytest.approx(114 - 110.1)


def test_faults_are_shaded_as_far_as_they_are_in_view(tmp_path: Path) -> None:
    """A shade has the fault's times and says what it was: by its latency, or else by its name."""
    told = made()
    told.events.append({"at": 112, "kind": "fault", "name": "refuse", "tenant": "h0", "script": {"refuse": True}})
    next(event for event in told.events if event["kind"] == "fault")["script"] = {"latency": 5.0}
    history = told.load(tmp_path)
    assert history.faults[1].ended == math.inf
    view = View(zero=110, began=109, ended=113)
    assert series.shades(history, view) == (Shade(0, 3, "sick: 5 s/request"), Shade(2, 3, "h0: refuse"))
    assert series.shades(history, View(zero=110, began=100, ended=109)) == ()


def test_a_tenant_is_shown_without_the_number_of_its_run(tmp_path: Path) -> None:
    """Names of tenants carry the run's number, which says nothing to readers."""
    history = made().load(tmp_path)
    assert series.short(history, f"brisk-{history.meta.run}") == "brisk"
    assert series.short(history, "brisk-beef") == "brisk-beef"
