"""LIM-1 to LIM-3: caps begin at the floor, rise by steps, and fall at once."""

from __future__ import annotations

from pathlib import Path

import pytest

from isolane.conformance.checkers import caps
from isolane.conformance.checkers.caps import Cap, Sample
from isolane.conformance.history_ledger import Attempt
from isolane.conformance.selftest.conformance.builders import Story
from isolane.conformance.selftest.conformance.limited import (
    CEILING,
    PUSHED_BACK,
    SLOW_AFTER,
    SLOWED,
    Behaviour,
    Sender,
    limited,
    lived,
)
from isolane.conformance.verdict import Finding, Verdict

IDS = ("LIM-1", "LIM-2", "LIM-3")


def judged(made: Story, folder: Path) -> dict[str, Finding]:
    """The findings by requirement."""
    return {finding.requirement: finding for finding in caps.check(made.load(folder))}


def verdicts(made: Story, folder: Path) -> list[Verdict]:
    """The verdicts on LIM-1, LIM-2 and LIM-3."""
    found = judged(made, folder)
    return [found[name].verdict for name in IDS]


P, F, I = Verdict.PASS, Verdict.FAIL, Verdict.INCONCLUSIVE  # noqa: E741 - three letters for three verdicts


def test_a_cap_as_the_requirements_have_it_passes(tmp_path: Path) -> None:
    """With figures: where it began, what it reached, and which halvings were seen."""
    found = judged(lived(*IDS), tmp_path)
    assert {each.verdict for each in found.values()} == {P}
    assert found["LIM-1"].figures["most slots before the first success"].value == 1
    assert found["LIM-2"].figures["most slots held"].value == CEILING
    assert found["LIM-3"].figures["halvings by a request that was refused"].value >= 1
    assert found["LIM-3"].figures["halvings by a request that was slow"].value >= 1


class ByTheLetter(Sender):
    """Every success raises, every bad sample halves, whenever its attempt began."""

    def learn(self, began: float, now: float, status: int) -> None:
        """Take a sample."""
        self.halved_at = float("-inf")
        super().learn(began, now, status)


class Damped(Sender):
    """Raised only by a success at saturation; the end of an attempt that was refused is not one."""

    def learn(self, began: float, now: float, status: int) -> None:
        """Take a sample."""
        before, saturated = self.cap, self.open + 1 >= self.cap
        super().learn(began, now, status)
        self.cap = self.cap if saturated else min(self.cap, before)


@pytest.mark.parametrize("kind", [ByTheLetter, Damped])
def test_both_readings_conform(kind: type[Sender], tmp_path: Path) -> None:
    """What the requirements leave open is not held against anybody."""
    assert verdicts(lived(*IDS, sick=kind, other=kind), tmp_path) == [P, P, P]


class RoundedUp(Sender):
    """Halves five to three: half of it, or one slot more than that."""

    ceiling = 8

    def halved(self) -> float:
        """What half the cap is."""
        return (self.cap + 1) // 2


class NotRounded(RoundedUp):
    """Has a cap of two and a half, and grants a slot while it holds fewer."""

    def halved(self) -> float:
        """What half the cap is."""
        return self.cap / 2


@pytest.mark.parametrize("kind", [RoundedUp, NotRounded])
def test_half_of_an_odd_cap_may_be_rounded_either_way(kind: type[Sender], tmp_path: Path) -> None:
    """LIM-2, LIM-3: the requirement says that the cap halves, and not which whole number that is."""
    made = limited(*IDS)
    made.meta["bounds"]["cap_ceiling"] = 8
    kind(made, "sick", PUSHED_BACK, Behaviour(120, 139, admit=4), rate=60).live(100, 145)
    kind(made, "h0", SLOWED, rate=60).live(100, 150)
    assert verdicts(made, tmp_path) == [P, P, P]


class Eager(Sender):
    """Begins with two."""

    floor = 2


def test_a_start_above_the_floor_is_a_violation(tmp_path: Path) -> None:
    """LIM-1: the story is that of a record that was sent too early."""
    found = judged(lived(*IDS, sick=Eager), tmp_path)
    assert found["LIM-1"].verdict is F
    assert "records sent with more than 1 slots before anything was accepted: 1" in found["LIM-1"].summary
    assert found["LIM-1"].story


class Jumping(Sender):
    """Is at its ceiling after the first success."""

    def learn(self, began: float, now: float, status: int) -> None:
        """Take a sample."""
        super().learn(began, now, status)
        self.cap = self.ceiling if status == 200 and now - began <= SLOW_AFTER else self.cap


def test_a_jump_to_the_ceiling_is_a_violation(tmp_path: Path) -> None:
    """LIM-2: after one success the cap is two."""
    assert verdicts(lived(*IDS, other=Jumping), tmp_path) == [P, F, P]


class TooHigh(Sender):
    """Takes one more than the ceiling."""

    ceiling = CEILING + 1


def test_a_cap_above_the_ceiling_is_a_violation(tmp_path: Path) -> None:
    """LIM-2: even by one."""
    assert verdicts(lived(*IDS, other=TooHigh), tmp_path)[1] is F


class Timid(Sender):
    """Never rises above two."""

    ceiling = 2


def test_a_cap_that_never_reaches_the_ceiling_is_a_violation(tmp_path: Path) -> None:
    """LIM-2: a healthy cluster with work that waits is used up to the ceiling."""
    found = judged(lived(*IDS, other=Timid), tmp_path)
    assert found["LIM-2"].verdict is F
    assert "records that waited while h0's healthy cluster had slots to spare" in found["LIM-2"].summary


def test_a_run_that_ends_in_the_control_proves_nothing_of_the_rise(tmp_path: Path) -> None:
    """LIM-2: the cap was on its way up."""
    made = lived(*IDS)
    for name in ("events", "attempts"):
        setattr(made, name, [line for line in getattr(made, name) if line["at"] <= 101])
    made.produced = [line for line in made.produced if line["acked"] <= 101]
    finding = judged(made, tmp_path)["LIM-2"]
    assert finding.verdict is I
    assert finding.summary == "the run ended before its control was over"


def test_a_tenant_with_little_to_send_proves_nothing_of_the_rise(tmp_path: Path) -> None:
    """LIM-2 is not judged where nobody needed the slots."""
    made = limited(*IDS)
    Sender(made, "sick", rate=2).live(100, 145)
    assert judged(made, tmp_path)["LIM-2"].verdict is I


class Deaf(Sender):
    """Is never halved."""

    def learn(self, began: float, now: float, status: int) -> None:
        """Take a sample."""
        if status == 200:
            super().learn(began, now, status)


def test_a_cap_that_is_not_halved_by_refusals_is_a_violation(tmp_path: Path) -> None:
    """LIM-3: requests come although the tenant holds as many slots as its new cap."""
    found = judged(lived(*IDS, sick=Deaf), tmp_path)
    assert [found[name].verdict for name in IDS] == [P, P, F]
    assert "records sent while the tenant held as many slots as its halved cap" in found["LIM-3"].summary


class Late(Sender):
    """Learns of a bad sample two seconds after it."""

    def live(self, began: float, ended: float) -> None:
        """Begin with nothing learnt."""
        self.bad: list[tuple[float, float, int]] = []
        super().live(began, ended)

    def learn(self, began: float, now: float, status: int) -> None:
        """Take a sample, or keep it."""
        if status != 200:
            self.bad.append((began, now, status))
            while self.bad and self.bad[0][1] < now - 2:
                super().learn(*self.bad.pop(0))
        else:
            super().learn(began, now, status)


def test_a_cap_that_is_halved_late_is_a_violation(tmp_path: Path) -> None:
    """LIM-3: at once means at once."""
    assert verdicts(lived(*IDS, sick=Late), tmp_path)[2] is F


def test_without_a_slow_request_halving_is_not_judged(tmp_path: Path) -> None:
    """LIM-3 names three causes; refusals and slowness must both have been met."""
    made = limited(*IDS)
    Sender(made, "h0").live(100, 150)
    finding = judged(made, tmp_path)["LIM-3"]
    assert finding.verdict is I
    assert "no request was refused or slow" in finding.summary


def test_without_promised_bounds_nothing_is_judged(tmp_path: Path) -> None:
    """The descriptor says nothing to hold anybody to."""
    made = lived(*IDS)
    del made.meta["bounds"]["cap_floor"]
    assert verdicts(made, tmp_path) == [I, I, I]


def test_caps_of_several_lives_are_not_judged(tmp_path: Path) -> None:
    """Each process begins anew, and what an older one left open would be held against it."""
    made = lived(*IDS)
    made.event(130, "process", "started", member=0, pid=2, code=None)
    assert caps.check(made.load(tmp_path)) == []


def test_the_cap_allows_what_was_granted_before_a_halving_for_a_moment() -> None:
    """A request may be on its way; and what began before the halving is no news."""
    cap = Cap(1, 8, 8)
    assert cap.take(Sample.REFUSED, began=9.5, now=10)
    assert (cap.value, cap.allowed(10.1), cap.allowed(10.5)) == (4, 8, 4)
    assert not cap.take(Sample.REFUSED, began=10.2, now=10.4)
    assert cap.take(Sample.SLOW, began=10.4, now=13)
    assert cap.value == 2


def test_the_highest_half_of_an_odd_cap_is_rounded_up() -> None:
    """What is followed is the most that any conforming cap may be."""
    cap = Cap(1, 8, 5)
    assert cap.take(Sample.REFUSED, began=9.5, now=10)
    assert cap.value == 3


def attempt(**known: object) -> Attempt:
    """A request with one item that arrived at 100."""
    base = {"request": 1, "tenant": "a", "arrived": 100.0, "size": 1, "concurrent": 1, "packed": bytes(12)}
    return Attempt(**(base | known))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("known", "sample"),
    [
        ({"answered": 101.0, "status": 200, "statuses": 201}, Sample.GOOD),
        ({"answered": 104.0, "status": 200, "statuses": 201}, Sample.SLOW),
        ({"answered": 104.0, "status": 401}, Sample.SLOW),
        ({"answered": 101.0, "status": 429}, Sample.REFUSED),
        ({"answered": 101.0, "status": 200, "statuses": 429}, Sample.REFUSED),
        ({"answered": 101.0, "status": 403}, Sample.NOTHING),
        ({"answered": 101.0, "status": 200, "statuses": 403}, Sample.NOTHING),
        ({"closed": 110.0, "how": "client_gone"}, Sample.GIVEN_UP),
        ({"closed": 110.0, "how": "cut"}, Sample.NOTHING),
        ({}, Sample.NOTHING),
    ],
)
def test_only_what_is_certain_is_a_sample(known: dict[str, object], sample: Sample) -> None:
    """Errors of the environment say nothing of the load, and neither does what nobody answered or gave up."""
    assert caps.sample_of(attempt(**known), slow_after=2.0) is sample
