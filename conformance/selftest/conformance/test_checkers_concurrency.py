"""LIM-6 and LIM-7: others keep their concurrency, and who was refused finds it again."""

from __future__ import annotations

from pathlib import Path

import pytest

from isolane.conformance.checkers import concurrency
from isolane.conformance.selftest.conformance.builders import Story
from isolane.conformance.selftest.conformance.limited import CEILING, PUSHED_BACK, Behaviour, Sender, limited, lived
from isolane.conformance.verdict import Finding, Verdict


def judged(made: Story, folder: Path) -> Finding:
    """The one finding."""
    (finding,) = concurrency.check(made.load(folder))
    return finding


def test_who_is_healthy_keeps_its_concurrency(tmp_path: Path) -> None:
    """LIM-6: the median in the control and while the other is refused are figures."""
    finding = judged(lived("LIM-6"), tmp_path)
    assert finding.verdict is Verdict.PASS
    assert finding.figures["concurrency in the control"].value == 4
    assert finding.figures["in fault:pushback"].value == 4


class Sharing(Sender):
    """Its cap falls while the other tenant's cluster refuses."""

    def may_send(self, now: float) -> bool:
        """Whether there is a slot."""
        return self.open < (1 if 110 <= now < 120 else self.cap)


def test_a_cap_that_depends_on_anothers_outcomes_is_a_violation(tmp_path: Path) -> None:
    """LIM-6: the story is that of a record of the healthy tenant which waited."""
    finding = judged(lived("LIM-6", other=Sharing), tmp_path)
    assert finding.verdict is Verdict.FAIL
    assert "records of h0 that waited while only another tenant was sick" in finding.summary


def test_a_starved_harness_says_nothing_of_independence(tmp_path: Path) -> None:
    """LIM-6 is about rates, so the harness must have kept its schedule."""
    made = lived("LIM-6")
    made.event(115, "harness", "load_lag", seconds=3.0)
    assert judged(made, tmp_path).verdict is Verdict.INCONCLUSIVE


def test_without_a_saturated_neighbour_independence_is_not_judged(tmp_path: Path) -> None:
    """LIM-6: a tenant with one request now and then has nothing to lose."""
    made = limited("LIM-6")
    Sender(made, "sick", PUSHED_BACK, rate=2).live(100, 145)
    Sender(made, "h0", rate=2).live(100, 145)
    assert judged(made, tmp_path).verdict is Verdict.INCONCLUSIVE


def after_push_back(kind: type[Sender] = Sender, *, admit: int | None = None) -> Story:
    """A tenant whose cluster refuses everything from 110 to 120, and admits so many at once afterwards."""
    made = limited("LIM-7")
    then = [] if admit is None else [Behaviour(120, 400, admit=admit)]
    if admit is not None:
        made.events.append({"at": 120, "kind": "fault", "name": "admit", "tenant": "sick", "script": {"admit": admit}})
        made.events.append({"at": 149, "kind": "heal", "name": "admit", "tenant": "sick"})
    kind(made, "sick", PUSHED_BACK, *then).live(100, 145)
    return made


@pytest.mark.parametrize(("admit", "reach"), [(None, "≥ 3.2"), (2, "≥ 1.6")])
def test_a_cap_that_grows_again_passes(admit: int | None, reach: str, tmp_path: Path) -> None:
    """LIM-7: up to the ceiling, or to what the cluster admits, whose refusals go on."""
    finding = judged(after_push_back(admit=admit), tmp_path)
    assert finding.verdict is Verdict.PASS
    assert finding.figures["90th percentile of concurrency"].bound == reach


class Shared(Sender):
    """Has its fair part of the workers: two of four."""

    def may_send(self, now: float) -> bool:
        """Whether there is a slot."""
        return super().may_send(now) and self.open < 2


@pytest.mark.parametrize(("other", "verdict"), [(24, Verdict.PASS), (1, Verdict.FAIL)])
def test_a_tenant_need_not_reach_the_workers_of_others(other: float, verdict: Verdict, tmp_path: Path) -> None:
    """LIM-7: with as many workers as one cap's ceiling two tenants that need them share them, and one has them all."""
    made = limited("LIM-7")
    made.meta["bounds"]["workers"] = CEILING
    Shared(made, "sick", PUSHED_BACK).live(100, 150)
    Shared(made, "h0", rate=other).live(100, 150)
    assert judged(made, tmp_path).verdict is verdict


class Stuck(Sender):
    """Once halved, its cap never rises again."""

    def learn(self, began: float, now: float, status: int) -> None:
        """Take a sample."""
        if status != 200:
            self.ceiling = 1
        super().learn(began, now, status)


def test_a_cap_that_stays_down_is_a_violation(tmp_path: Path) -> None:
    """LIM-7: a few bad samples hold it at its floor for ever."""
    finding = judged(after_push_back(Stuck), tmp_path)
    assert finding.verdict is Verdict.FAIL
    assert "records that waited while the cap did not grow again" in finding.summary


def test_too_few_requests_say_nothing_of_growth(tmp_path: Path) -> None:
    """LIM-7 gives it a number of requests, and not a time."""
    made = after_push_back(Stuck)
    made.attempts = [line for line in made.attempts if line["at"] < 130]
    finding = judged(made, tmp_path)
    assert finding.verdict is Verdict.INCONCLUSIVE
    assert "requests came after the spell" in finding.summary


def test_a_tenant_that_needs_few_slots_need_not_grow(tmp_path: Path) -> None:
    """LIM-7: without work that waits nothing is to be seen."""
    made = limited("LIM-7")
    Stuck(made, "sick", PUSHED_BACK, rate=2).live(100, 180)
    assert judged(made, tmp_path).verdict is Verdict.INCONCLUSIVE


def test_a_spell_in_which_something_was_accepted_is_none(tmp_path: Path) -> None:
    """LIM-7 is about 100 % push-back."""
    finding = judged(with_one_accepted(3), tmp_path)
    assert finding.verdict is Verdict.INCONCLUSIVE
    assert "no tenant went through a spell" in finding.summary


@pytest.mark.parametrize("which", [0, -1])
def test_a_request_at_the_edge_of_a_spell_may_be_accepted(which: int, tmp_path: Path) -> None:
    """LIM-7: a fault is told a moment before it bites, and its end a moment after."""
    assert judged(with_one_accepted(which), tmp_path).verdict is Verdict.PASS


def with_one_accepted(which: int) -> Story:
    """A spell in which all requests were refused but for one, by its number."""
    made = after_push_back()
    line = [line for line in made.attempts if line["e"] == "answered" and line["status"] == 429][which]
    line |= {"status": 200, "items": 201}
    return made


def test_a_spell_that_the_run_did_not_outlive_says_nothing_of_growth(tmp_path: Path) -> None:
    """LIM-7 begins where it ends."""
    made = after_push_back()
    made.events = [line for line in made.events if line["kind"] != "heal"]
    finding = judged(made, tmp_path)
    assert finding.verdict is Verdict.INCONCLUSIVE
    assert finding.summary == "the run ended before the spell did"


def test_who_waits_and_is_never_sent_has_waited(tmp_path: Path) -> None:
    """LIM-7: also where nothing is left that waited and was sent in the end."""
    made = after_push_back(Stuck)
    arrivals = [line for line in made.attempts if line["e"] == "arrived" and line["at"] >= 120]
    window, later = arrivals[: 20 * CEILING], {line["r"] for line in arrivals[20 * CEILING :]}
    sent = {token for line in window for token in line["tokens"]}
    made.attempts = [line for line in made.attempts if line["r"] not in later]
    made.produced = [line for line in made.produced if line["token"] not in sent]
    finding = judged(made, tmp_path)
    assert finding.verdict is Verdict.FAIL
    assert finding.story
