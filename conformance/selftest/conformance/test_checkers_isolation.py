"""ISO-1 and ISO-3: what the healthy feel is judged, and only if there was something to feel."""

from __future__ import annotations

import math
import random
from dataclasses import replace
from itertools import accumulate
from pathlib import Path

import pytest

from isolane.conformance.checkers import comparison, isolation
from isolane.conformance.checkers.comparison import Comparison, Reading
from isolane.conformance.checkers.rates import Gap, Window
from isolane.conformance.history_values import Produced
from isolane.conformance.selftest.conformance.builders import Story, isolated, story
from isolane.conformance.tokens import Token
from isolane.conformance.verdict import Finding, Verdict


def judged(made: Story, folder: Path) -> Finding:
    """The one finding on the one fault phase of a history."""
    (finding,) = isolation.check(made.load(folder))
    return finding


def reading(*, p99: float = 0.0, share: float = 1.0) -> Reading:
    """What a tenant felt, as far as a comparison needs it."""
    record = Produced(Token(1, 1, 0, 0).record, 1, 0, 0, 1, 1, 0.0, 0.0, 0.0, "control")
    window = Window(0, 5, 100, round(100 * share))
    return Reading("h0", 100, share, [window], window, p99, Gap(0, 0), record)


def shift(made: Story, tenant: str, began: float, ended: float, until: float) -> None:
    """Let everything that the tenant's cluster would have answered in [began, ended) be answered at `until`."""
    moved = {
        line["r"]
        for line in made.attempts
        if line["e"] == "arrived" and line["tenant"] == tenant and began <= line["at"] < ended
    }
    for line in made.attempts:
        if line.get("r") in moved and line["e"] != "arrived":
            line["at"] = until


def drop(made: Story, tenant: str, began: float, ended: float) -> None:
    """Let the requests that the tenant's cluster saw in [began, ended) never have been."""
    gone = {
        line["r"]
        for line in made.attempts
        if line["e"] == "arrived" and line["tenant"] == tenant and began <= line["at"] < ended
    }
    made.attempts = [line for line in made.attempts if line.get("r") not in gone]


@pytest.mark.parametrize(
    ("fault", "requirement"),
    [("slow", "ISO-1"), ("trickle", "ISO-1"), ("pushback-429", "ISO-3"), ("pushback-items", "ISO-3")],
)
def test_isolation_holds_when_the_healthy_feel_nothing(tmp_path: Path, fault: str, requirement: str) -> None:
    """Each kind of fault tries its own requirement, and the figures stand beside the verdict."""
    finding = judged(isolated(fault=fault), tmp_path)
    assert (finding.requirement, finding.verdict, finding.case) == (requirement, Verdict.PASS, f"fault:{fault}")
    assert finding.figures["p99 delay"].value == pytest.approx(0.05)
    assert finding.figures["longest gap"].value < 0.1
    assert finding.figures["Jain's index"].value == pytest.approx(1, abs=0.01)
    assert finding.figures["worst 5 s window / control's"].value == pytest.approx(1, abs=0.02)
    assert finding.figures["control rate"].value == pytest.approx(40, rel=0.02)
    assert finding.figures["fault bites"].value >= 1


def test_a_healthy_tenant_that_waits_for_the_sick_one_is_a_violation(tmp_path: Path) -> None:
    """Three seconds without an acceptance: rate, delay and gap say so, and the story tells of the slowest record."""
    made = isolated()
    shift(made, "h1", 112, 115, 115)
    finding = judged(made, tmp_path)
    assert finding.verdict is Verdict.FAIL
    assert "healthy tenant h1: " in finding.summary
    assert "fell to 0.4" in finding.summary
    assert "p99 delay was 2.9" in finding.summary
    assert "nothing accepted for 3.0 s" in finding.summary
    assert finding.evidence[0] in finding.story[0]
    assert "tenant h1" in finding.story[0]


def test_where_nobody_got_anything_fairness_is_not_the_word(tmp_path: Path) -> None:
    """That nothing was accepted is said; an index of 0 would tell nobody."""
    made = isolated(healthy=2)
    for tenant in ("h0", "h1"):
        shift(made, tenant, 109.9, 120, 125)
    finding = judged(made, tmp_path)
    assert finding.verdict is Verdict.FAIL
    assert "nothing of any of them was accepted in the phase" in finding.summary
    assert "Jain" not in finding.summary


def test_figures_of_the_whole_phase_say_so(tmp_path: Path) -> None:
    """Beside those of the worst window, which say how long it is."""
    figures = judged(isolated(), tmp_path).figures
    assert all("over the whole phase" in str(figures[name]) for name in ("control rate", "rate", "retention"))


def test_a_stall_just_below_two_seconds_still_breaks_the_rate(tmp_path: Path) -> None:
    """The bounds do not depend on one another."""
    made = isolated()
    shift(made, "h1", 112, 113.8, 113.8)
    finding = judged(made, tmp_path)
    assert finding.verdict is Verdict.FAIL
    assert "nothing accepted" not in finding.summary


def test_a_small_delay_that_the_bounds_allow_is_none(tmp_path: Path) -> None:
    """400 ms more than the control's 50 is within control + 500 ms, and within a tenth of a window."""
    made = isolated()
    shift(made, "h0", 112, 112.4, 112.4)
    assert judged(made, tmp_path).verdict is Verdict.PASS


def test_records_that_are_delivered_only_after_the_fault_count_with_their_true_delay(tmp_path: Path) -> None:
    """A stall cannot be hidden by the end of the phase."""
    made = isolated()
    shift(made, "h0", 119.2, 120.1, 124)
    finding = judged(made, tmp_path)
    assert finding.verdict is Verdict.FAIL
    assert finding.figures["p99 delay"].value == pytest.approx(4.8, abs=0.1)
    assert "nothing accepted" not in finding.summary


def test_records_that_are_never_accepted_have_an_endless_delay(tmp_path: Path) -> None:
    """They are not left out of the quantile."""
    made = isolated()
    drop(made, "h0", 113, 113.4)
    finding = judged(made, tmp_path)
    assert finding.verdict is Verdict.FAIL
    assert "endless" in finding.summary


def test_the_fault_does_not_set_the_bound_that_it_is_held_against(tmp_path: Path) -> None:
    """Records of the control that the fault holds up afterwards do not raise the control's delay."""
    made = isolated()
    shift(made, "h0", 109.7, 115, 115)
    finding = judged(made, tmp_path)
    assert finding.verdict is Verdict.FAIL
    assert finding.figures["control p99 delay"].value < 0.5
    assert "p99 delay was 4.9" in finding.summary


@pytest.mark.parametrize(("control", "bound"), [(0.05, 0.55), (0.25, 0.75), (1.0, 3.0)])
def test_the_delay_that_is_allowed_grows_with_the_control(control: float, bound: float) -> None:
    """The larger of three times the control's, and half a second more."""
    assert Comparison(reading(p99=control), reading(p99=0)).delay_bound == pytest.approx(bound)


@pytest.mark.parametrize(("control", "fault", "ratio"), [(1.0, 0.9, 0.9), (0.8, 0.8, 1.0), (1.5, 0.95, 0.95)])
def test_rates_are_held_against_the_controls_own_worst_window(control: float, fault: float, ratio: float) -> None:
    """But a control that worked off a backlog sets no higher bar than keeping up."""
    assert Comparison(reading(share=control), reading(share=fault)).ratio == pytest.approx(ratio)


def test_a_gap_begins_when_kafka_has_the_records(tmp_path: Path) -> None:
    """While Kafka itself stalls the implementation has nothing to deliver; the delay still counts from the schedule."""
    made = isolated()
    shift(made, "h0", 112, 115, 115)
    for line in made.produced:
        if line["topic"] == made.topic("h0") and 112 <= line["scheduled"] < 115:
            line["acked"] = 114.9
    history = made.load(tmp_path)
    phase = history.phase("fault:slow")
    assert phase is not None
    felt = comparison.read(history, phase, comparison.tenant(history, "h0"))
    assert felt is not None
    assert felt.gap.seconds < 0.2
    assert felt.p99 > 2.5


def test_a_tenant_that_the_fault_was_injected_for_is_not_among_the_healthy(tmp_path: Path) -> None:
    """Whatever its part in the scenario."""
    made = isolated()
    made.event(110, "fault", "slow", tenant="h1")
    made.event(120, "heal", "slow", tenant="h1")
    shift(made, "h1", 112, 115, 115)
    finding = judged(made, tmp_path)
    assert finding.verdict is Verdict.PASS
    assert "healthy tenants (1)" in finding.summary


def test_a_tenant_starved_throughout_is_unfair(tmp_path: Path) -> None:
    """Jain's index sees what each tenant got of what it was offered."""
    made = isolated(healthy=2)
    drop(made, "h1", 110, 120)
    finding = judged(made, tmp_path)
    assert finding.verdict is Verdict.FAIL
    assert finding.figures["Jain's index"].value == pytest.approx(0.5, abs=0.05)
    assert "Jain's index" in finding.summary


def test_an_implementation_that_flushes_once_a_second_is_held_against_its_own_rhythm(tmp_path: Path) -> None:
    """Windows that catch four or five flushes are no loss of rate, as the control has them too."""
    made = isolated()
    for second in range(100, 120):
        for tenant in ("h0", "h1"):
            shift(made, tenant, second, second + 1, second + 1)
    finding = judged(made, tmp_path)
    assert finding.verdict is Verdict.PASS
    assert finding.figures["p99 delay"].value > 0.9


def lingering(made: Story, tenant: str, until: float, *, slower: float = math.inf) -> None:
    """Send five records a second or so to a tenant, of each partition all that came within 1.0 s of the first.

    For 5 s from `slower` on it gets what it had 4 s to get; that is made up for afterwards.
    """
    load = random.Random(1)
    due = list(accumulate(load.uniform(0.1, 0.3) for _ in range(round(5 * (until - 100)))))
    due = [100 + at for at in due if at < until - 100]
    for partition in (0, 1):
        batch: list[Token | None] = []
        ready = 0.0
        for at in due[partition::2]:
            if batch and at > ready:
                made.attempt(tenant, batch, _slowed(ready, slower))
                batch = []
            ready = ready if batch else at + 1.0
            batch.append(made.produce(tenant, at, partition=partition))
        made.attempt(tenant, batch, _slowed(ready, slower))


def _slowed(at: float, since: float) -> float:
    if at < since:
        return at
    return since + 1.25 * (at - since) if at < since + 4 else max(at, since + 5 + (at - since - 4) / 2)


@pytest.mark.parametrize(("slower", "verdict"), [(math.inf, Verdict.PASS), (130, Verdict.FAIL), (133.3, Verdict.FAIL)])
def test_a_batch_more_or_less_is_no_loss_of_rate(slower: float, verdict: Verdict, tmp_path: Path) -> None:
    """A window of few records may lack one that the control's worst windows had; a fifth of all for 5 s it may not."""
    made = isolated(healthy=0, seconds=60)
    made.meta |= story(healthy=1).meta
    lingering(made, "h0", 170, slower=slower)
    finding = judged(made, tmp_path)
    assert finding.verdict is verdict, finding.summary
    assert ("its rate in the worst 5 s fell" in finding.summary) == (verdict is Verdict.FAIL)


@pytest.mark.parametrize(("accepted", "counted", "undecided"), [(18, 17, True), (19, 17, False), (18, 19, False)])
def test_where_one_record_less_would_break_the_bound_nothing_is_said(
    accepted: int, counted: int, *, undecided: bool
) -> None:
    """Of twenty in a window two may be missing; only where the rate was low as it was counted is that worth a doubt."""
    window = Window(0, 5, 20, accepted)
    control = replace(reading(), windows=[Window(0, 5, 20, 20)])
    fault = replace(reading(), windows=[window], counted=Window(0, 5, 20, counted))
    compared = Comparison(control, fault)
    assert compared.breaches() == []
    assert compared.undecided is undecided


@pytest.mark.parametrize("fault", ["slow", "pushback-429"])
def test_a_fault_that_did_not_bite_proves_nothing(tmp_path: Path, fault: str) -> None:
    """Without a request that was held or pushed back in the phase the verdict is inconclusive, not green."""
    made = isolated(fault=fault)
    drop(made, "sick", 110, 120)
    finding = judged(made, tmp_path)
    assert finding.verdict is Verdict.INCONCLUSIVE
    assert "did not bite" in finding.summary


def test_a_fault_must_have_bitten_each_tenant_that_it_was_injected_for(tmp_path: Path) -> None:
    """One that was spared does not hide behind another."""
    made = isolated()
    made.event(110, "fault", "slow", tenant="h1")
    made.event(120, "heal", "slow", tenant="h1")
    assert "did not bite" in judged(made, tmp_path).summary


def test_a_phase_without_an_injected_fault_proves_nothing(tmp_path: Path) -> None:
    """The name of a phase is no fault."""
    made = isolated()
    made.events = [event for event in made.events if event["kind"] != "fault"]
    assert "no fault was injected" in judged(made, tmp_path).summary


def test_without_traffic_nothing_is_proven(tmp_path: Path) -> None:
    """A healthy tenant that nothing was produced for cannot have suffered."""
    made = isolated()
    made.produced = [line for line in made.produced if line["topic"] != 1]
    finding = judged(made, tmp_path)
    assert finding.verdict is Verdict.INCONCLUSIVE
    assert "healthy tenant h0 was offered fewer than 20 records" in finding.summary


@pytest.mark.parametrize("at", [105, 115])
def test_a_starved_harness_judges_nobody(tmp_path: Path, at: float) -> None:
    """Neither in the control nor in the fault; even where the figures look like a violation."""
    made = isolated()
    shift(made, "h1", 112, 115, 115)
    made.event(at, "harness", "sampler_gap", seconds=1.5)
    finding = judged(made, tmp_path)
    assert finding.verdict is Verdict.INCONCLUSIVE
    assert "starved" in finding.summary


def late(made: Story, began: float, seconds: float, *, first: str = "sent") -> None:
    """Let the load of the healthy be late for two seconds, from its leaving or from its acknowledgement on."""
    times = {"sent", "acked", "at"} - ({"sent"} if first == "acked" else set())
    tardy = {line["token"]: line for line in made.produced if began <= line["scheduled"] < began + 2 and line["topic"]}
    requests = {line["r"] for line in made.attempts if line["e"] == "arrived" and line["tokens"][0] in tardy}
    for line in (*tardy.values(), *(line for line in made.attempts if line["r"] in requests)):
        for time in times & line.keys():
            line[time] += seconds


@pytest.mark.parametrize(("first", "what"), [("sent", "load lag"), ("acked", "Kafka's acknowledgement lag")])
def test_load_that_was_late_is_held_against_nobody(tmp_path: Path, first: str, what: str) -> None:
    """A delay counts from when a record was due: what exceeds a bound by no more than it was late says nothing."""
    made = isolated()
    late(made, 112, 0.7, first=first)
    finding = judged(made, tmp_path)
    assert finding.verdict is Verdict.INCONCLUSIVE
    assert f"{what} of 0.70 s" in finding.summary
    assert finding.figures["p99 delay"].value == pytest.approx(0.75, abs=0.01)


def test_who_holds_the_bounds_although_load_left_late_has_held_them(tmp_path: Path) -> None:
    """It adds to what is measured, so nobody passes because of it."""
    made = isolated()
    late(made, 112, 0.4)
    assert judged(made, tmp_path).verdict is Verdict.PASS


def test_load_that_left_late_is_no_excuse_for_what_is_far_worse(tmp_path: Path) -> None:
    """Only for as many seconds as it was late by."""
    made = isolated()
    late(made, 112, 0.3)
    shift(made, "h1", 112, 115, 115)
    assert judged(made, tmp_path).verdict is Verdict.FAIL


def stall(made: Story, began: float, seconds: float, *, kafka: bool) -> None:
    """Let Kafka acknowledge nothing for a while, or the clusters' process answer nothing; then all of it at once."""
    ended = began + seconds
    held = {line["token"] for line in made.produced if began <= line["acked"] < ended}
    for line in made.produced:
        if kafka and line["token"] in held:
            line["acked"] = ended
    for line in made.attempts:
        if began <= line["at"] < ended and (not kafka or line.get("tenant") != "sick"):
            line["at"] = ended + 0.01


def test_a_moment_in_which_kafka_stands_still_is_held_against_nobody(tmp_path: Path) -> None:
    """It is too short for the slowest 1 % of a long phase, and long enough for a tenth of one window."""
    made = isolated(seconds=80)
    stall(made, 150, 0.7, kafka=True)
    finding = judged(made, tmp_path)
    assert finding.figures["p99 delay"].value == pytest.approx(0.05)
    assert finding.figures["worst 5 s window / control's"].value < 0.9
    assert finding.verdict is Verdict.INCONCLUSIVE
    assert "Kafka's acknowledgement lag of 0.6" in finding.summary


@pytest.mark.parametrize("at", [116, 150])
def test_a_moment_in_which_kafka_stands_still_excuses_no_other(at: float, tmp_path: Path) -> None:
    """Neither what takes longer than it did, nor what happened at another time."""
    made = isolated(seconds=80)
    stall(made, 150, 0.6, kafka=True)
    shift(made, "h1", at, at + 1.5, at + 1.5)
    assert judged(made, tmp_path).verdict is Verdict.FAIL


def test_a_record_that_was_late_excuses_no_more_than_itself(tmp_path: Path) -> None:
    """A window lacks as many records as were late, however late they were."""
    made = isolated(seconds=80)
    shift(made, "h1", 150, 151.5, 151.5)
    tardy = next(line for line in made.produced if line["scheduled"] > 151 and line["topic"] == made.topic("h1"))
    tardy["acked"] += 2.0
    assert judged(made, tmp_path).verdict is Verdict.FAIL


def test_a_moment_in_which_the_clusters_stand_still_is_held_against_nobody(tmp_path: Path) -> None:
    """They last answered at 113.0, and were asked again at 113.4: they may have stood still from any time between."""
    made = isolated()
    stall(made, 113, 0.8, kafka=False)
    finding = judged(made, tmp_path / "unseen")
    assert (finding.verdict, finding.figures["p99 delay"].value > 0.7) == (Verdict.FAIL, True)
    made.event(113.8, "harness", "cluster_lag", seconds=0.4, since=113.0)
    finding = judged(made, tmp_path / "seen")
    assert finding.verdict is Verdict.INCONCLUSIVE
    assert "cluster lag of 0.7" in finding.summary


def test_clusters_that_stood_still_excuse_nobody_for_longer_than_that(tmp_path: Path) -> None:
    """A record that waited for three seconds waited for them for some part of a second."""
    made = isolated()
    stall(made, 113, 0.4, kafka=False)
    made.event(113.4, "harness", "cluster_lag", seconds=0.4, since=113.0)
    shift(made, "h1", 112, 115, 115)
    assert judged(made, tmp_path).verdict is Verdict.FAIL


@pytest.mark.parametrize(("first", "what"), [("sent", "load lag"), ("acked", "Kafka's acknowledgement lag")])
def test_a_control_whose_load_was_late_is_no_measure(tmp_path: Path, first: str, what: str) -> None:
    """What came all at once after that says little of how it fares without."""
    made = isolated()
    late(made, 102, 0.3, first=first)
    finding = judged(made, tmp_path)
    assert finding.verdict is Verdict.INCONCLUSIVE
    assert f"starved in control: {what} of 0.30 s (allowed 0.25 s)" in finding.summary


@pytest.mark.parametrize("first", ["sent", "acked"])
@pytest.mark.parametrize(("delay", "verdict"), [(0.6, Verdict.PASS), (0.7, Verdict.FAIL)])
def test_a_control_whose_load_was_a_little_late_widens_the_bound_by_a_tenth_of_a_second(
    tmp_path: Path, first: str, delay: float, verdict: Verdict
) -> None:
    """A moment in which Kafka stands still makes no control worthless: what it took beyond that does not count."""
    made = isolated()
    late(made, 102, 0.2, first=first)
    shift(made, "h1", 112, 112.3, 112.1 + delay)
    finding = judged(made, tmp_path)
    assert finding.figures["p99 delay"].value == pytest.approx(delay, abs=0.01)
    assert finding.figures["control p99 delay"].value == pytest.approx(0.15, abs=0.01)
    assert finding.verdict is verdict


def test_a_harness_starved_elsewhere_does_no_harm(tmp_path: Path) -> None:
    """Only the two phases that are compared matter."""
    made = isolated()
    made.event(123, "harness", "load_lag", seconds=2.0)
    assert judged(made, tmp_path).verdict is Verdict.PASS


def test_without_a_control_there_is_nothing_to_compare_with(tmp_path: Path) -> None:
    """A history of a fault alone is inconclusive."""
    made = isolated()
    made.events[0]["name"] = "ready"
    assert "no control" in judged(made, tmp_path).summary


def test_a_control_that_was_not_steady_measures_nothing(tmp_path: Path) -> None:
    """Otherwise a bad control would excuse any fault."""
    made = isolated()
    shift(made, "h1", 102, 106, 106)
    finding = judged(made, tmp_path)
    assert finding.verdict is Verdict.INCONCLUSIVE
    assert "tenant h1 was not steady in the control" in finding.summary


def test_a_fault_phase_that_was_cut_short_is_inconclusive(tmp_path: Path) -> None:
    """The run may have ended because of the harness."""
    made = isolated()
    made.events = [event for event in made.events if event["at"] < 120]
    assert "the run ended in fault:slow" in judged(made, tmp_path).summary


def test_a_fault_phase_of_a_moment_is_inconclusive(tmp_path: Path) -> None:
    """Shorter than the gap that it must not have."""
    made = isolated()
    made.phase("heal:slow", 111)
    assert "lasted 1.0 s" in judged(made, tmp_path).summary


def test_phases_of_kinds_not_known_are_left_to_others(tmp_path: Path) -> None:
    """A checker says nothing about what it does not judge."""
    made = isolated(fault="mixed")
    assert isolation.check(made.load(tmp_path)) == []


def test_a_scenario_without_healthy_tenants_is_inconclusive(tmp_path: Path) -> None:
    """Nobody could have felt anything."""
    assert "no healthy tenant" in judged(isolated(healthy=0), tmp_path).summary
