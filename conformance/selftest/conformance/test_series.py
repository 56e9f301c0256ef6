"""Series: what a history says over time, in bins that begin where the fault does."""

from __future__ import annotations

import math
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

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


def test_open_requests_are_counted_at_their_most(tmp_path: Path) -> None:
    """A request counts in each bin in which it was open, one that was never closed to the end of the history."""
    told = made()
    for took in (1.2, 0.1, None):
        told.attempt("sick", [None], 110.1, took=took)
    told.attempt("h0", [None], 110.1, took=3)
    line = series.open_requests(told.load(tmp_path), "sick", VIEW)
    assert [at(line, moment) for moment in (-0.25, 0.25, 0.75, 1.25, 1.75, 3.75)] == [0, 3, 2, 2, 1, 1]


def test_memory_is_told_by_member(tmp_path: Path) -> None:
    """The most of each bin, and nothing while there was no process."""
    told = made()
    for moment, member, mib in ((110.1, "0", 100), (110.3, "0", 150), (111.1, "1", 70), (90, "0", 9)):
        told.samples.append({"at": moment, "member": member, "pid": 1, "rss": mib << 20, "threads": 1, "fds": 1})
    lines = series.memory(told.load(tmp_path), VIEW)
    assert list(lines) == ["0", "1"]
    assert [at(lines["0"], moment) for moment in (-0.25, 0.25, 0.75)] == [None, 150, None]
    assert at(lines["1"], 1.25) == 70


def test_progress_counts_records_of_a_partition(tmp_path: Path) -> None:
    """Produced, finished and committed past, each by the end of a bin; offsets with gaps count as records."""
    told = made()
    tokens = [told.produce("h0", 110 + number / 10) for number in range(4)]
    told.attempt("h0", tokens[:3], 111.6)
    told.commit(112.6, {"1/0": 2})
    produced, finished, committed = series.progress(told.load(tmp_path), (1, 0), VIEW)
    moments = (0, 0.5, 2, 3)
    assert [at(produced, moment) for moment in moments] == [0, 4, 4, 4]
    assert [at(finished, moment) for moment in moments] == [0, 0, 3, 3]
    assert [at(committed, moment) for moment in moments] == [None, None, None, 2]


@given(st.lists(st.sampled_from([None, 0.0, 1.0, 2.0]), max_size=12))
def test_a_thinned_series_draws_the_same_lines(values: list[float | None]) -> None:
    """Each segment of a line, and each gap in it, is there still; a stretch of one value is one segment."""
    line = Series(tuple(map(float, range(len(values)))), tuple(values))
    thin = line.thinned()
    assert list(zip(thin.times, thin.values, strict=True)) == [
        (at, value)
        for at, value in zip(line.times, line.values, strict=True)
        if at in {0, len(values) - 1} or {values[int(at) - 1], values[int(at) + 1]} != {value}
    ]
    for (before, left), (after, right) in pairwise(zip(thin.times, thin.values, strict=True)):
        assert all(value == left == right for value in values[int(before) + 1 : int(after)])


def test_a_stretch_of_one_value_needs_two_points() -> None:
    """However long it is."""
    line = Series(tuple(map(float, range(600))), (*[0.0] * 300, *[7.0] * 300))
    assert line.thinned() == Series((0.0, 299.0, 300.0, 599.0), (0.0, 0.0, 7.0, 7.0))
