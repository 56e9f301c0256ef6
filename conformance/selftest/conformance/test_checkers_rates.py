"""The arithmetic of rates and delays, on flows whose answer is known."""

from __future__ import annotations

import math
from operator import attrgetter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from isolane.conformance.checkers.rates import Gap, count, jain, longest_gap, quantile, windows


def every(seconds: float, began: float, ended: float, *, shift: float = 0) -> list[float]:
    """Times every so many seconds in [began, ended), each shifted."""
    return [began + number * seconds + shift for number in range(round((ended - began) / seconds))]


def worst(scheduled: list[float], accepted: list[float], began: float, ended: float) -> tuple[float, float]:
    """The begin and the share of the worst 5 s window."""
    found = windows(scheduled, accepted, began, ended, length=5, step=0.1, least=10)
    window = min(found, key=attrgetter("share"))
    return window.began, window.share


@pytest.mark.parametrize("delay", [0.001, 0.3, 2.0])
def test_a_steady_flow_has_a_share_of_one_whatever_its_delay(delay: float) -> None:
    """A phase that cuts records in flight at both ends is no reason for an alarm."""
    scheduled, accepted = every(0.1, 0, 60), every(0.1, 0, 60, shift=delay)
    assert worst(scheduled, accepted, 20, 40)[1] == pytest.approx(1, abs=0.021)


def test_a_stall_shows_in_the_window_that_holds_it_although_all_is_made_up_for_later() -> None:
    """Two seconds without an acceptance leave three fifths of a window."""
    scheduled = every(0.1, 0, 30)
    accepted = sorted(max(at, 12.0) if 10 <= at < 12 else at for at in scheduled)
    began, share = worst(scheduled, accepted, 0, 30)
    assert share == pytest.approx(0.6, abs=0.03)
    assert 6.5 < began <= 10.05


def test_load_that_varies_is_no_fault() -> None:
    """A window with little to do is not compared with a busy one."""
    scheduled = every(0.1, 0, 10) + every(0.4, 10, 30)
    assert worst(scheduled, [at + 0.01 for at in scheduled], 0, 30)[1] == pytest.approx(1, abs=0.1)


def test_a_phase_shorter_than_a_window_is_one_window() -> None:
    """Its length says so."""
    (window,) = windows(every(0.1, 0, 3), every(0.1, 0, 3), 0, 3, length=5, step=0.1, least=10)
    assert (window.began, window.seconds, window.share) == (0, 3, 1)


def test_a_window_with_too_few_records_says_nothing() -> None:
    """One record more or less would decide."""
    assert windows([1, 2, 3], [], 0, 5, length=5, step=0.1, least=10) == []


def test_the_last_window_ends_with_the_phase() -> None:
    """A stall in the last moments is seen, in spite of rounding."""
    scheduled = every(0.05, 0, 10.3)
    accepted = [at for at in scheduled if at < 9.3]
    began, share = worst(scheduled, accepted, 0, 10.3)
    assert began == pytest.approx(5.3)
    assert share == pytest.approx(0.8, abs=0.02)


def test_counting_includes_the_begin_and_not_the_end() -> None:
    """So that neighbouring windows share nothing."""
    assert count([1, 2, 2, 3], 1, 2) == 1
    assert count([1, 2, 2, 3], 2, 3) == 2


@pytest.mark.parametrize(("part", "expected"), [(0.5, 50), (0.99, 99), (1, 100), (0.001, 1)])
def test_quantiles_are_values_that_occurred(part: float, expected: int) -> None:
    """Nearest rank: no value between two is made up."""
    assert quantile(range(100, 0, -1), part) == expected


def test_one_never_accepted_record_in_fifty_makes_the_p99_endless() -> None:
    """It is not averaged away."""
    assert quantile([0.1] * 49 + [math.inf], 0.99) == math.inf


def test_there_is_no_quantile_of_nothing() -> None:
    """Callers must decide what no traffic means."""
    with pytest.raises(ValueError, match="no values"):
        quantile([], 0.5)


@pytest.mark.parametrize(
    ("work", "expected"),
    [
        ([], Gap(0, 0)),
        ([(1, 4)], Gap(1, 3)),
        ([(1, 2), (8, 9)], Gap(1, 1)),
        ([(1, 2), (1, 6)], Gap(2, 4)),
        ([(1, math.inf), (2, 3)], Gap(3, 7)),
        ([(-5, 4)], Gap(0, 4)),
        ([(-5, -1), (11, 12)], Gap(0, 0)),
        ([(7, 15)], Gap(7, 3)),
        ([(5, 4)], Gap(0, 0)),
    ],
    ids=[
        "nothing to do",
        "one record",
        "idle time is no gap",
        "another acceptance ends it",
        "never accepted",
        "pending from before",
        "outside of the phase",
        "cut at the end of the phase",
        "accepted before its acknowledgement was noticed",
    ],
)
def test_the_longest_gap(work: list[tuple[float, float]], expected: Gap) -> None:
    """Time counts only while something is pending, and any acceptance ends a gap."""
    assert longest_gap(work, 0, 10) == expected


@given(st.lists(st.tuples(st.floats(-5, 15), st.floats(0, 20) | st.just(math.inf))))
def test_a_gap_lies_within_its_phase_and_no_acceptance_within_the_gap(pairs: list[tuple[float, float]]) -> None:
    """Whatever the flow."""
    work = [(available, available + delay) for available, delay in pairs]
    gap = longest_gap(work, 0, 10)
    assert 0 <= gap.began <= gap.began + gap.seconds <= 10 + 1e-9
    assert not any(gap.began < accepted < gap.began + gap.seconds - 1e-9 for _, accepted in work)


@pytest.mark.parametrize(
    ("shares", "expected"), [([1, 1, 1], 1), ([1, 0, 0, 0], 0.25), ([0, 0], 0), ([2, 2], 1), ([1, 0.5], 0.9)]
)
def test_jains_index(shares: list[float], expected: float) -> None:
    """Equal shares are fair, one for all is 1/n, nothing for anybody is not fair either."""
    assert jain(shares) == pytest.approx(expected)
