"""DEL-7: waits between refusals grow, spread, and are no shorter than the cluster asks for."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate
from pathlib import Path

import pytest

from isolane.conformance.checkers import backoff
from isolane.conformance.selftest.conformance.builders import Story
from isolane.conformance.selftest.conformance.faulty import faulty, judged
from isolane.conformance.verdict import Verdict

GROWING = (0.2, 0.4, 0.8, 1.6)


def refused(waits: Sequence[Sequence[float]], name: str = "backoff-items", **script: object) -> Story:
    """A record for each list of waits, refused after each of them, and accepted in the end."""
    made = faulty(name, **script)
    for number, own in enumerate(waits):
        token = made.produce("sick", 11)
        for at in accumulate(own, initial=11 + number / 100):
            made.attempt("sick", [token], at, took=0.0, items=[429])
        made.attempt("sick", [token], 21)
    return made


def test_waits_that_grow_pass(tmp_path: Path) -> None:
    """The median after each number of refusals is told."""
    finding = judged(refused([GROWING]), tmp_path, backoff.check)
    assert finding.verdict is Verdict.PASS, finding.summary
    assert finding.figures["median wait after refusal 3"].value == pytest.approx(0.8)
    assert finding.figures["growth of the wait"].value == pytest.approx(6)


def test_a_constant_wait_fails(tmp_path: Path) -> None:
    """FB-21: the load on a struggling cluster does not fall."""
    finding = judged(refused([(0.2,) * 6, (0.25,) * 6]), tmp_path, backoff.check)
    assert finding.verdict is Verdict.FAIL
    assert "do not grow" in finding.summary


def test_one_long_wait_among_many_is_no_growth(tmp_path: Path) -> None:
    """A busy machine makes single waits long."""
    waits = [0.1] * 20
    waits[12] = 3.0
    assert judged(refused([waits]), tmp_path, backoff.check).verdict is Verdict.FAIL


def test_little_growth_over_few_refusals_is_inconclusive(tmp_path: Path) -> None:
    """Jitter may hide a factor for a while."""
    assert judged(refused([(1.0, 0.9, 1.2)]), tmp_path, backoff.check).verdict is Verdict.INCONCLUSIVE


def test_waiting_for_a_turn_is_no_reason_to_fail(tmp_path: Path) -> None:
    """A first wait that took long, as for a free worker, does not hide that later ones grow."""
    assert judged(refused([(6, 0.4, 0.8, 1.6)]), tmp_path, backoff.check).verdict is Verdict.PASS


def test_a_wait_cut_short_fails(tmp_path: Path) -> None:
    """One that grew, and then begins anew with nothing, is no back-off."""
    finding = judged(refused([(0.2, 0.4, 0.01, 1.6)]), tmp_path, backoff.check)
    assert finding.verdict is Verdict.FAIL
    assert "sooner than after their first refusals" in finding.summary


def test_waits_that_are_all_equal_fail(tmp_path: Path) -> None:
    """Without jitter all come back at once; with too few nothing is said of it."""
    finding = judged(refused([GROWING] * 5), tmp_path / "equal", backoff.check)
    assert finding.verdict is Verdict.FAIL
    assert "do not spread" in finding.summary
    spread = [[wait * (1 - number / 50) for wait in GROWING] for number in range(5)]
    assert judged(refused(spread), tmp_path / "spread", backoff.check).verdict is Verdict.PASS
    assert judged(refused([GROWING] * 4), tmp_path / "few", backoff.check).verdict is Verdict.PASS


def test_an_acceptance_begins_anew(tmp_path: Path) -> None:
    """Refusals are counted in a row."""
    made = refused([(0.2, 0.4)])
    assert judged(made, tmp_path, backoff.check).verdict is Verdict.INCONCLUSIVE


def test_what_came_back_after_the_heal_is_no_wait(tmp_path: Path) -> None:
    """The cluster was healthy again; when that was noticed says nothing of growth."""
    assert judged(refused([(0.2, 9.5)]), tmp_path, backoff.check).figures["waits seen"].value == 1


@pytest.mark.parametrize(("wait", "verdict"), [(3.1, Verdict.PASS), (2.9, Verdict.PASS), (2.0, Verdict.FAIL)])
def test_the_time_that_the_cluster_names_is_waited(wait: float, verdict: Verdict, tmp_path: Path) -> None:
    """To within a twentieth, for rounding and clocks."""
    finding = judged(refused([(wait,)], "after", retry_after=3), tmp_path, backoff.check)
    assert finding.verdict is verdict
    assert finding.figures["shortest wait"].value == pytest.approx(wait)


def test_nothing_refused_while_a_time_was_named_is_inconclusive(tmp_path: Path) -> None:
    """Nothing was asked."""
    assert judged(faulty("after", retry_after=3), tmp_path, backoff.check).verdict is Verdict.INCONCLUSIVE
