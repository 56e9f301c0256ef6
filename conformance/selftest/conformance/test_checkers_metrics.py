"""OPS-1: what members tell of themselves is in the format that scrapers expect, is complete, and is true."""

from __future__ import annotations

from pathlib import Path

import pytest

from isolane.conformance.checkers import metrics
from isolane.conformance.metrics_text import OF_PARTITIONS, OF_TENANTS, NotExpositionError, Pattern, samples_of
from isolane.conformance.selftest.conformance.builders import Story, story
from isolane.conformance.verdict import Finding, Verdict

NAMES = (*OF_TENANTS, *OF_PARTITIONS)
SLOW = 2.0

Values = dict[str, float]


def judged(made: Story, folder: Path) -> dict[str, Finding]:
    """The findings by metric."""
    return {finding.case: finding for finding in metrics.check(made.load(folder))}


def text(values: dict[str, dict[str, float]]) -> str:
    """The exposition of samples: by metric, by labels."""
    return "".join(
        f"own_{name}{{{labels}}} {value}\n" for name, samples in values.items() for labels, value in samples.items()
    )


def told(at: float) -> dict[str, dict[str, float]]:
    """What is true at a moment: `sick` has one request of ten records after the other, `h0` and `h1` have none."""
    done = float(int((at - 100) // SLOW))
    tenants = {f'tenant="{name}"': 0.0 for name in ("sick", "h0", "h1")}
    places = {
        f'topic="managed_otlp.logs.{name}",partition="{number}"': 0.0
        for name in ("sick", "h0", "h1")
        for number in (0, 1)
    }
    sick, place = 'tenant="sick"', 'topic="managed_otlp.logs.sick",partition="0"'
    return {
        "cap": dict.fromkeys(tenants, 1.0),
        "slots": tenants | {sick: 1.0},
        "waiters": tenants | {sick: 5.0},
        "attempts": tenants | {sick: done},
        "delivered": tenants | {sick: 10 * done},
        "lag": places | {place: 100 - 10 * done},
        "in_flight_records": places | {place: 10.0},
        "in_flight_bytes": places | {place: 1000.0},
        "paused": places | {place: 1.0},
    }


def scraped(changes: dict[str, dict[str, float]] | None = None, without: str = "") -> Story:
    """A hundred records of a slow tenant wait; every half second the metrics are read, with these changes."""
    made = story(judges=("OPS-1",))
    made.meta["features"]["metrics"] = True
    made.meta["bounds"] |= {"cap_floor": 1, "cap_ceiling": 8, "in_flight_records": 10, "in_flight_bytes": 1000}
    made.meta["metrics"] = {"map": {name: f"own_{name}" for name in NAMES}, "labels": {}}
    tokens = [made.produce("sick", 90) for _ in range(100)]
    for number in range(8):
        made.attempt("sick", tokens[10 * number : 10 * number + 10], 100 + SLOW * number, took=SLOW - 0.001)
    made.phase("metrics", 100)
    made.phase("measured", 110)
    for number in range(20):
        at = 100.25 + number / 2
        values = told(at)
        for name, samples in (changes or {}).items():
            values[name] = values[name] | samples
        values.pop(without, None)
        made.scrapes.append({"began": at - 0.01, "at": at, "member": "0", "text": text(values)})
        made.commit(at, {"0/0": round(10 * ((at - 100) // SLOW))}, {"0/0": 100})
    return made


def test_what_is_true_passes(tmp_path: Path) -> None:
    """Every metric is told of every tenant, or of every partition, and agrees with what was seen."""
    found = judged(scraped(), tmp_path)
    assert set(found) == set(NAMES)
    assert {finding.verdict for finding in found.values()} == {Verdict.PASS}, found


SICK, PLACE = 'tenant="sick"', 'topic="managed_otlp.logs.sick",partition="0"'
IDLE = 'topic="managed_otlp.logs.h0",partition="1"'


@pytest.mark.parametrize(
    ("name", "sample"),
    [
        ("cap", {SICK: 9.0}),
        ("slots", {SICK: 2.0}),
        ("slots", {'tenant="h0"': 1.0}),
        ("waiters", {SICK: 0.0}),
        ("attempts", {SICK: 7.0}),
        ("delivered", {SICK: 30.0}),
        ("lag", {PLACE: 101.0}),
        ("in_flight_records", {PLACE: 11.0}),
        ("in_flight_records", {PLACE: 0.0}),
        ("in_flight_records", {PLACE: 1.0}),
        ("in_flight_bytes", {PLACE: 0.0}),
        ("in_flight_bytes", {PLACE: 1.0}),
        ("paused", {IDLE: 1.0}),
        ("paused", {PLACE: 0.5}),
    ],
)
def test_what_is_not_true_is_a_violation(name: str, sample: Values, tmp_path: Path) -> None:
    """Of the metric concerned, and of no other."""
    found = judged(scraped({name: sample}), tmp_path)
    wrong = {each for each, finding in found.items() if finding.verdict is Verdict.FAIL}
    assert wrong == {name}


@pytest.mark.parametrize("name", ["lag", "paused"])
def test_what_is_true_only_of_who_has_read_ahead_is_in_doubt(name: str, tmp_path: Path) -> None:
    """Sixty of a hundred records wait all the time: nothing lags, or nothing is held back, if all of them are held."""
    found = judged(scraped({name: {PLACE: 0.0}}), tmp_path)
    doubtful = {each for each, finding in found.items() if finding.verdict is Verdict.INCONCLUSIVE}
    assert doubtful == {name}
    assert found[name].summary.endswith("; that is right only where all of them had been read ahead")
    assert {finding.verdict for each, finding in found.items() if each != name} == {Verdict.PASS}


def test_a_lag_of_what_was_not_read_is_one(tmp_path: Path) -> None:
    """What is in flight was read, and so it may be left out."""
    made = scraped({"lag": {PLACE: 50.0}})
    assert judged(made, tmp_path)["lag"].verdict is Verdict.PASS


def test_a_cap_cannot_have_risen_before_anything_was_accepted(tmp_path: Path) -> None:
    """Each request that is accepted raises it by one; a process begins with the least, and a next one again."""
    made = scraped({"cap": {SICK: 2.0}})
    made.meta["features"]["adaptive_limiter"] = True
    assert "2 of sick, and it cannot have risen above 1 yet" in judged(made, tmp_path / "early")["cap"].summary
    for line in made.scrapes[:3]:
        line["text"] = text(told(line["at"]))
    assert judged(made, tmp_path / "risen")["cap"].verdict is Verdict.PASS
    made.event(120, "process", "started", member=0, pid=2, code=None)
    made.scrapes.append({**made.scrapes[-1], "began": 121, "at": 121.01})
    assert judged(made, tmp_path / "anew")["cap"].verdict is Verdict.FAIL


@pytest.mark.parametrize(
    ("status", "slow_after", "verdict"), [(200, 3.0, "FAIL"), (200, 2.0, "PASS"), (503, 3.0, "PASS")]
)
def test_a_cap_is_not_below_what_is_open_unless_it_was_lowered(
    status: int, slow_after: float, verdict: str, tmp_path: Path
) -> None:
    """Two requests are open for two seconds each; a bad answer, or a slow one, would have halved the cap meanwhile."""
    made = scraped({"slots": {SICK: 2.0}})
    made.meta["bounds"]["slow_after"] = slow_after
    tokens = [made.produce("sick", 90) for _ in range(50)]
    for number in range(5):
        sent = tokens[10 * number : 10 * number + 10]
        made.attempt("sick", sent, 100.5 + SLOW * number, took=SLOW - 0.001, status=status)
    assert judged(made, tmp_path)["cap"].verdict is Verdict[verdict]


def test_attempts_are_told_by_outcome(tmp_path: Path) -> None:
    """One sum for what was accepted and what was refused tells of neither."""
    made = scraped()
    for line in made.attempts:
        if line["r"] == 2 and "status" in line:
            line |= {"status": 503, "items": None}
    assert "not told by outcome" in judged(made, tmp_path / "sum")["attempts"].summary
    for line in made.scrapes:
        one = 'own_attempts{tenant="sick",outcome="retryable"} 1\nown_attempts{tenant="sick"}'
        line["text"] = line["text"].replace('own_attempts{tenant="sick"}', one)
    assert judged(made, tmp_path / "parts")["attempts"].verdict is Verdict.PASS


@pytest.mark.parametrize(("slots", "verdict"), [(0.0, Verdict.FAIL), (1.0, Verdict.FAIL), (2.0, Verdict.PASS)])
def test_slots_are_held_against_requests_that_come_and_go_all_the_time(
    slots: float, verdict: Verdict, tmp_path: Path
) -> None:
    """Two requests are always open, and one of them ends every second: there is no moment of rest to compare in."""
    made = scraped({"slots": {SICK: slots}})
    tokens = [made.produce("sick", 90) for _ in range(50)]
    for number in range(5):
        made.attempt("sick", tokens[10 * number : 10 * number + 10], 101 + SLOW * number, took=SLOW - 0.001)
    assert judged(made, tmp_path)["slots"].verdict is verdict


@pytest.mark.parametrize(
    ("name", "sample", "verdict"),
    [
        ("slots", {SICK: 2.0}, Verdict.INCONCLUSIVE),
        ("attempts", {SICK: 7.0}, Verdict.INCONCLUSIVE),
        ("delivered", {SICK: 30.0}, Verdict.INCONCLUSIVE),
        ("lag", {PLACE: 101.0}, Verdict.INCONCLUSIVE),
        ("cap", {SICK: 9.0}, Verdict.FAIL),
        ("paused", {IDLE: 1.0}, Verdict.FAIL),
    ],
)
def test_a_starved_harness_may_have_seen_at_another_time_what_it_compares(
    name: str, sample: Values, verdict: Verdict, tmp_path: Path
) -> None:
    """What depends on no moment is as wrong as ever."""
    made = scraped({name: sample})
    made.event(105, "harness", "cluster_lag", seconds=0.8)
    assert judged(made, tmp_path)[name].verdict is verdict


@pytest.mark.parametrize("name", NAMES)
def test_what_is_not_told_is_a_violation(name: str, tmp_path: Path) -> None:
    """The map names it, and there is no such sample; or the map does not name it."""
    assert judged(scraped(without=name), tmp_path / "told")[name].verdict is Verdict.FAIL
    made = scraped()
    del made.meta["metrics"]["map"][name]
    assert judged(made, tmp_path / "mapped")[""].verdict is Verdict.FAIL


def test_a_counter_that_falls_is_a_violation(tmp_path: Path) -> None:
    """While the process lives it only grows."""
    made = scraped()
    made.scrapes[10]["text"] = text(told(100.25))
    found = judged(made, tmp_path)
    assert {name for name, finding in found.items() if finding.verdict is Verdict.FAIL} >= {"attempts", "delivered"}


def test_another_format_is_a_violation(tmp_path: Path) -> None:
    """No scraper could read it."""
    made = scraped()
    made.scrapes[3]["text"] = '{"cap": 1}'
    assert judged(made, tmp_path)[""].verdict is Verdict.FAIL


def test_other_names_of_labels_are_followed(tmp_path: Path) -> None:
    """The descriptor says what they are."""
    made = scraped()
    made.meta["metrics"]["labels"] = {"tenant": "customer"}
    for line in made.scrapes:
        line["text"] = line["text"].replace("tenant=", "customer=")
    assert {finding.verdict for finding in judged(made, tmp_path).values()} == {Verdict.PASS}


def test_metrics_that_are_not_claimed_are_not_judged(tmp_path: Path) -> None:
    """And those that were not read often enough prove nothing."""
    made = scraped()
    made.scrapes = made.scrapes[:3]
    assert judged(made, tmp_path / "few")[""].verdict is Verdict.INCONCLUSIVE
    made.meta["features"]["metrics"] = False
    assert judged(made, tmp_path / "unclaimed") == {}


def test_a_pattern_selects_by_labels() -> None:
    """A name alone takes all samples of that name."""
    samples = samples_of('a_total{outcome="ok"} 1\na_total{outcome="no"} 2\n')
    assert [Pattern.parse('a_total{outcome="ok"}').matches(sample) for sample in samples] == [True, False]
    assert all(Pattern.parse("a_total").matches(sample) for sample in samples)
    with pytest.raises(NotExpositionError):
        samples_of("a{ 1\n")
