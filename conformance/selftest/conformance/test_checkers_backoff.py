"""DEL-7: waits between refusals grow, spread, and are no shorter than the cluster asks for."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import accumulate
from pathlib import Path
from random import Random

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


def test_one_short_wait_among_those_that_grew_is_chance(tmp_path: Path) -> None:
    """Full jitter is any time up to the one that grows."""
    assert judged(refused([(0.2, 0.4, 0.01, 1.6)]), tmp_path, backoff.check).verdict is Verdict.PASS


def test_retries_at_once_between_waits_that_grow_fail(tmp_path: Path) -> None:
    """FB-21: a gateway asks twice more each time before its sender waits."""
    waits = [seconds for wait in GROWING for seconds in (0.002, 0.003, wait)]
    finding = judged(refused([waits]), tmp_path, backoff.check)
    assert finding.verdict is Verdict.FAIL
    assert "tried again at once" in finding.summary


def test_waits_that_differ_widely_and_do_not_grow_are_inconclusive(tmp_path: Path) -> None:
    """Chance may have made the early ones long, and the late ones short."""
    finding = judged(refused([(0.4, 1.1, 0.2, 1.5, 0.3)]), tmp_path, backoff.check)
    assert finding.verdict is Verdict.INCONCLUSIVE
    assert "differ too much" in finding.summary


def textbook(random: Random, kind: str, base: float) -> Iterator[float]:
    """Waits without an end, as those who back off with jitter make them; or without growth, with some jitter or any."""
    top = wait = base
    while True:
        if kind == "full":
            wait = random.uniform(0, top)
        elif kind == "equal":
            wait = random.uniform(top / 2, top)
        elif kind == "decorrelated":
            wait = min(30.0, random.uniform(base, 3 * wait))
        else:
            jitter = {"constant": 0.2, "any": 1.0}[kind]
            wait = base * (1 + random.uniform(-jitter, jitter))
        top = min(30.0, 2 * top)
        yield wait


def drawn(seed: int, kind: str, base: float, *, requests: int = 2, seconds: float = 12.0) -> list[list[float]]:
    """The waits of some requests that are refused for so many seconds, and take five milliseconds each."""
    random = Random(seed)
    found = []
    for _ in range(requests):
        spent, own = random.uniform(0.05, 0.15), list[float]()
        for wait in textbook(random, kind, base):
            spent += wait + 0.005
            if spent >= seconds:
                break
            own.append(wait + 0.005)
        found.append(own)
    return found


def flawed(kind: str, base: float, *, seeds: int) -> int:
    """In how many of so many faults the waits are found to be wrong."""
    return sum(
        backoff.flaw(
            [
                backoff.Wait(token, number, seconds)
                for token, own in enumerate(drawn(seed, kind, base))
                for number, seconds in enumerate(own, 1)
            ]
        )
        is not None
        for seed in range(seeds)
    )


@pytest.mark.parametrize("kind", ["full", "equal", "decorrelated"])
@pytest.mark.parametrize("base", [0.1, 0.2, 0.5, 1.0])
def test_no_textbook_jitter_is_found_wrong(kind: str, base: float) -> None:
    """At most once in a thousand faults, whatever comes of chance."""
    assert flawed(kind, base, seeds=2000) <= 2


@pytest.mark.parametrize("base", [0.0, 0.1, 0.5, 1.0])
def test_a_constant_wait_is_found_wrong_with_any_jitter_of_a_fifth(base: float) -> None:
    """Always: its waits are all alike."""
    assert flawed("constant", base, seeds=50) == 50


def test_a_storm_is_found_wrong_whatever_its_jitter() -> None:
    """Waits may be of any length up to a tenth of a second: after two hundred refusals none has grown."""
    assert flawed("any", 0.05, seeds=50) == 50
    assert backoff.flaw([backoff.Wait(1, number, 0.05) for number in range(1, 8000)])


@pytest.mark.parametrize("kind", ["full", "equal", "decorrelated"])
def test_a_history_of_textbook_jitter_does_not_fail(kind: str, tmp_path: Path) -> None:
    """The whole judge, on two requests that are refused for ten seconds."""
    for seed in range(10):
        made = refused(drawn(seed, kind, 0.5, seconds=9.0))
        assert judged(made, tmp_path / str(seed), backoff.check).verdict is not Verdict.FAIL


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
