"""LIM-8: slots that members tell of are never granted beyond the cap, and are all back when nothing is under way."""

from __future__ import annotations

from pathlib import Path

import pytest

from isolane.conformance.checkers import told_slots
from isolane.conformance.checkers.told_slots import GRANTS, RELEASES
from isolane.conformance.selftest.conformance.builders import Story, story
from isolane.conformance.verdict import Finding, Verdict

BEGAN, ENDED = 100.0, 130.0

Metrics = dict[float, tuple[float, float]]
"""Cap and slots of the sick tenant from a time on."""


def judged(made: Story, folder: Path) -> dict[str, Finding]:
    """The findings by case."""
    return {finding.case: finding for finding in told_slots.check(made.load(folder))}


def verdicts(made: Story, folder: Path) -> dict[str, Verdict]:
    """The verdicts by case."""
    return {case: finding.verdict for case, finding in judged(made, folder).items()}


BOTH = {GRANTS: Verdict.PASS, RELEASES: Verdict.PASS}

HELD: Metrics = {0: (1, 1), 110: (2, 2), 120: (1, 2), 121: (1, 0)}
"""The cap is raised by the success at 110, and halved at 120; all is delivered at 121."""


def lived(told: Metrics | None = None) -> Story:
    """Two requests wait ten seconds each for their answers; in the end nothing is under way."""
    made = story(healthy=0, judges=("LIM-8",))
    made.meta["features"] = {"adaptive_limiter": True}
    made.meta["bounds"] |= {"cap_floor": 1, "cap_ceiling": 4, "request_timeout": 10, "probe_interval": 5}
    made.meta["metrics"] = {"map": {"cap": "own_cap", "slots": 'own{kind="slots"}'}, "labels": {"tenant": "customer"}}
    made.event(90, "process", "started", member=0)
    made.phase("control", 90)
    tokens = [made.produce("sick", 90) for _ in range(3)]
    made.attempt("sick", tokens[:1], 99.99, took=9.9)
    made.attempt("sick", tokens[1:2], 109.995, took=9.9, status=429, items=None)
    made.attempt("sick", tokens[2:], 109.995, took=10.9)
    made.attempt("sick", tokens[1:2], 120.05, took=0.8)
    made.phase("rest", 122)
    made.phase("end", 130)
    tell(made, told or HELD)
    return made


def tell(made: Story, told: Metrics, *, member: str = "0") -> None:
    """Let a member tell of the sick tenant every half second."""
    for number in range(round((ENDED - BEGAN) * 2)):
        at = BEGAN + number / 2 + 0.2
        cap, held = next(told[since] for since in sorted(told, reverse=True) if since <= at)
        text = f'own_cap{{customer="sick"}} {cap}\nown{{customer="sick",kind="slots"}} {held}\n'
        made.scrapes.append({"began": at - 0.01, "at": at, "member": member, "text": text})


def at(made: Story, moment: float) -> dict[str, object]:
    """The scrape nearest to a moment."""
    return min(made.scrapes, key=lambda line: abs(line["at"] - moment))


def test_slots_within_the_cap_that_come_back_pass(tmp_path: Path) -> None:
    """Also while a cap that was halved is smaller than what is under way."""
    assert verdicts(lived(), tmp_path) == BOTH


def test_a_rise_beyond_every_cap_is_a_violation(tmp_path: Path) -> None:
    """Nothing was accepted that could have raised the cap in between."""
    found = judged(lived(HELD | {104: (1, 2)}), tmp_path)
    assert found[GRANTS].verdict is Verdict.FAIL
    assert found[GRANTS].summary == (
        "member 0 held 2 slots of sick in control, 1 before, and its cap can have been 1 at most since"
    )
    assert found[RELEASES].verdict is Verdict.PASS


@pytest.mark.parametrize(
    ("told", "verdict"),
    [
        (HELD | {104: (1, 2), 104.5: (2, 2)}, Verdict.FAIL),
        (HELD | {104: (2, 2)}, Verdict.PASS),
        (HELD | {103.5: (2, 1), 104: (1, 2)}, Verdict.PASS),
        (HELD | {103.5: (3, 1), 104: (2, 1), 104.5: (1, 3)}, Verdict.PASS),
        (HELD | {103.5: (3, 1), 104: (2, 1), 106: (1, 3)}, Verdict.FAIL),
        (HELD | {104: (1.5, 2)}, Verdict.PASS),
        (HELD | {110: (1, 2)}, Verdict.PASS),
        (HELD | {110: (1, 3)}, Verdict.FAIL),
        (HELD | {104: (4, 4)}, Verdict.PASS),
    ],
    ids=[
        "raised too late",
        "raised meanwhile, which is for LIM-2",
        "halved meanwhile",
        "halved in a scrape that told the slots first",
        "halved long before",
        "a part of a slot",
        "raised by a success and halved at once",
        "one success, and two more",
        "all of the ceiling",
    ],
)
def test_a_grant_is_held_against_what_the_cap_can_have_been(told: Metrics, verdict: Verdict, tmp_path: Path) -> None:
    """What is told of the cap and of the slots need not be of one moment, and much can happen between two scrapes."""
    assert verdicts(lived(told), tmp_path)[GRANTS] is verdict


@pytest.mark.parametrize("when", [101.5, 103.0])
@pytest.mark.parametrize(("status", "verdict"), [(200, Verdict.PASS), (429, Verdict.FAIL)])
def test_a_cap_that_is_told_late_may_have_been_raised_by_what_was_accepted(
    when: float, status: int, verdict: Verdict, tmp_path: Path
) -> None:
    """By a success just before the scrape that the slots are held against, or since; not by what was refused."""
    made = lived(HELD | {104: (1, 2)})
    made.attempt("sick", [None], when - 0.005, status=status, items=201 if status == 200 else None)
    assert verdicts(made, tmp_path)[GRANTS] is verdict


def test_slots_above_the_ceiling_are_a_violation_whatever_the_cap(tmp_path: Path) -> None:
    """No tenant may ever hold so many."""
    found = judged(lived(HELD | {104: (5, 5)}), tmp_path)[GRANTS]
    assert found.verdict is Verdict.FAIL
    assert found.summary.endswith("5 slots of sick in control, and the ceiling is 4")


def test_a_rise_that_a_starved_machine_may_explain_proves_nothing(tmp_path: Path) -> None:
    """Whoever tells of the cap may have heard late of what raised it."""
    made = lived(HELD | {104: (1, 2)})
    made.event(103, "harness", "sampler_gap", seconds=2.0)
    found = judged(made, tmp_path)[GRANTS]
    assert found.verdict is Verdict.INCONCLUSIVE
    assert "but the harness was starved in control" in found.summary


def test_parts_that_are_added_up_prove_no_grant(tmp_path: Path) -> None:
    """A slot that moved from one part to the next between two looks is counted twice; at rest nothing moves."""
    made = lived()
    for line in made.scrapes:
        line["text"] += 'own{customer="sick",kind="slots",partition="1"} 0\n'
    assert verdicts(made, tmp_path) == BOTH | {GRANTS: Verdict.INCONCLUSIVE}


def test_a_cap_that_was_never_held_proves_nothing(tmp_path: Path) -> None:
    """Nobody was ever at it."""
    made = lived({since: (cap + 2, held) for since, (cap, held) in HELD.items()})
    assert verdicts(made, tmp_path) == BOTH | {GRANTS: Verdict.INCONCLUSIVE}


def test_a_slot_that_is_not_given_back_is_a_violation(tmp_path: Path) -> None:
    """Everything was delivered, and nothing is open."""
    found = judged(lived(HELD | {121: (2, 1)}), tmp_path)[RELEASES]
    assert found.verdict is Verdict.FAIL
    assert found.summary == "member 0 held 1 slots of sick in rest, and nothing of sick was under way: leaked"


def test_a_slot_that_is_given_back_late_is_no_leak(tmp_path: Path) -> None:
    """What was answered long ago, and is told of as held once more, is not there in the end."""
    assert verdicts(lived(HELD | {121: (2, 1), 129: (2, 0)}), tmp_path) == BOTH


def test_what_is_told_by_who_was_told_to_stop_does_not_count(tmp_path: Path) -> None:
    """Whoever ends gives everything back."""
    made = lived(HELD | {121: (2, 1), 128.5: (2, 0)})
    made.event(128.4, "signal", "terminated", member=0)
    assert verdicts(made, tmp_path)[RELEASES] is Verdict.FAIL


def test_a_tenant_all_of_whose_slots_leaked_has_nothing_open_either(tmp_path: Path) -> None:
    """What waits is never sent: after an attempt's longest, and the longest between two, that is no excuse."""
    told = HELD | {121: (1, 2)}
    longest = lived(told)
    longest.produce("sick", 112)
    assert verdicts(longest, tmp_path / "soon")[RELEASES] is Verdict.INCONCLUSIVE
    shorter = lived(told)
    shorter.produce("sick", 112)
    shorter.meta["bounds"] |= {"request_timeout": 3, "probe_interval": 2}
    assert verdicts(shorter, tmp_path / "later")[RELEASES] is Verdict.FAIL
    del shorter.meta["bounds"]["probe_interval"]
    assert verdicts(shorter, tmp_path / "unpromised")[RELEASES] is Verdict.INCONCLUSIVE


def test_who_has_only_just_begun_may_hold_a_slot_that_no_cluster_has_seen(tmp_path: Path) -> None:
    """While something waits to be sent, for as long as that may take."""
    made = lived(HELD | {121: (1, 1)})
    made.meta["bounds"] |= {"request_timeout": 3, "probe_interval": 2}
    made.produce("sick", 112)
    made.event(123, "process", "killed", member=0)
    made.event(124.5, "process", "started", member=0)
    assert verdicts(made, tmp_path)[RELEASES] is Verdict.INCONCLUSIVE


@pytest.mark.parametrize("under_way", ["a request", "a fault", "a record"])
def test_while_anything_may_be_under_way_nothing_is_at_rest(under_way: str, tmp_path: Path) -> None:
    """A cluster that cannot be reached sees no request."""
    made = lived(HELD | {121: (2, 1)})
    if under_way == "a request":
        made.attempt("sick", [None], 121, took=8.8)
    elif under_way == "a fault":
        made.event(121, "fault", "away", tenant="sick", script={"refuse": True})
    else:
        made.attempt("sick", [made.produce("sick", 121)], 129.9)
    assert verdicts(made, tmp_path)[RELEASES] is Verdict.INCONCLUSIVE


def test_fewer_slots_than_none_are_a_violation(tmp_path: Path) -> None:
    """One was released twice."""
    found = judged(lived(HELD | {121: (2, -1)}), tmp_path)[RELEASES]
    assert found.verdict is Verdict.FAIL
    assert found.summary == "member 0 held -1 slots of sick in control: one was released twice"


def test_a_slot_that_is_released_before_its_request_is_over_is_a_violation(tmp_path: Path) -> None:
    """Two requests are open all through a scrape, and one slot is told of."""
    found = judged(lived(HELD | {112: (2, 1), 113: (2, 2)}), tmp_path)[RELEASES]
    assert found.verdict is Verdict.FAIL
    assert found.summary == (
        "member 0 held 1 slots of sick in control, and 2 of its requests were open all the time: "
        "released too early, or not told"
    )


def test_requests_that_come_or_go_near_a_scrape_hold_no_slot_for_certain(tmp_path: Path) -> None:
    """Neither do those that were given up, of which a cluster may learn late."""
    made = lived()
    for moment, took in ((104.0, 0.9), (104.5, 0.9)):
        made.attempt("sick", [None], moment, took=took)
    number = made.attempt("sick", [None], 104, took=None)
    made.attempts.append({"e": "closed", "r": number, "at": 106, "how": "client_gone"})
    at(made, 104.7)["text"] = 'own_cap{customer="sick"} 1\nown{customer="sick",kind="slots"} 1\n'
    assert verdicts(made, tmp_path)[RELEASES] is Verdict.PASS


@pytest.mark.parametrize("when", ["while another one lives", "just after it", "just after a change of the tenants"])
def test_requests_that_may_be_another_process_s_hold_no_slot_here(when: str, tmp_path: Path) -> None:
    """Clusters do not see whose they are, and who was configured anew knows nothing of what went on before."""
    made = lived(HELD | {112: (2, 1), 113: (2, 2)})
    if when == "just after a change of the tenants":
        made.event(109.9, "tenants", "changed", without=[], elsewhere=[])
    else:
        made.event(95, "process", "started", member=1)
        made.event(128 if when == "while another one lives" else 109.9, "process", "killed", member=1)
    assert verdicts(made, tmp_path)[RELEASES] is Verdict.PASS


def test_each_process_is_judged_by_itself(tmp_path: Path) -> None:
    """A cap begins anew with each, and what had leaked in one is gone with it; the last is seen to the end."""
    made = lived({0: (2, 2), 115: (1, 1), 121: (1, 0)})
    made.event(110.1, "process", "killed", member=0)
    made.event(114.9, "process", "started", member=0)
    made.scrapes = [line for line in made.scrapes if not 110 < line["at"] < 115]
    assert verdicts(made, tmp_path) == BOTH
    leaked = lived({0: (2, 2), 115: (1, 1)})
    leaked.events, leaked.scrapes = made.events, leaked.scrapes
    assert verdicts(leaked, tmp_path / "leaked")[RELEASES] is Verdict.FAIL


def test_scrapes_that_are_too_few_prove_nothing(tmp_path: Path) -> None:
    """Of one of the tenants, or at rest, or in another format."""
    few = lived()
    few.scrapes = few.scrapes[-4:]
    assert verdicts(few, tmp_path / "few") == {"": Verdict.INCONCLUSIVE}
    busy = lived()
    busy.scrapes = [line for line in busy.scrapes if line["at"] < 122.5]
    assert verdicts(busy, tmp_path / "busy") == BOTH | {RELEASES: Verdict.INCONCLUSIVE}
    strange = lived()
    strange.scrapes[7]["text"] = 'own_cap{customer="sick" 1'
    assert verdicts(strange, tmp_path / "strange") == {"": Verdict.INCONCLUSIVE}


def test_what_is_not_declared_or_not_mapped_is_not_judged(tmp_path: Path) -> None:
    """Not even to say that it cannot be."""
    undeclared = lived()
    undeclared.meta["judges"] = []
    assert verdicts(undeclared, tmp_path / "undeclared") == {}
    for name in ("cap", "slots"):
        unmapped = lived()
        del unmapped.meta["metrics"]["map"][name]
        assert verdicts(unmapped, tmp_path / name) == {}
