"""POI-3: while dead letters cannot be written only the partitions that need it wait."""

from __future__ import annotations

from pathlib import Path

from isolane.conformance.checkers import destination
from isolane.conformance.selftest.conformance.builders import Story
from isolane.conformance.selftest.conformance.faulty import ENDED, faulty, judged
from isolane.conformance.tokens import Token
from isolane.conformance.verdict import Verdict


def closed(*, commits_until: float = ENDED, seen: float = 20.5) -> tuple[Story, Token]:
    """A record to be put aside in one partition, put aside after the heal; two others go on, committed until then."""
    made = faulty("letters")
    culprit = made.produce("sick", 11)
    made.attempt("sick", [culprit], 11, items=[400])
    made.put_aside(culprit, seen - 0.1, tokens=[culprit])
    for second in range(10, 20):
        made.deliver("sick", second, partition=1)
        made.deliver("h0", second)
        if second < commits_until:
            made.commit(second + 0.5, {"0/1": second - 9, "1/0": second - 9})
    made.commit(25, {"0/0": 1, "0/1": 10, "1/0": 10})
    return made, culprit


def test_the_others_going_on_passes(tmp_path: Path) -> None:
    """Other partitions of the same tenant, and other tenants."""
    finding = judged(closed()[0], tmp_path, destination.check)
    assert finding.verdict is Verdict.PASS, finding.summary
    assert finding.figures["partitions that do not"].value == 2
    assert finding.figures["partitions that need it"].value == 1


def test_others_that_wait_fail(tmp_path: Path) -> None:
    """FB-45: nothing of them needed it, and nothing of them was committed."""
    finding = judged(closed(commits_until=13)[0], tmp_path, destination.check)
    assert finding.verdict is Verdict.FAIL
    assert "not committed past in time" in finding.summary
    assert finding.evidence


def every(interval: float, *, delay: float = 0.05) -> Story:
    """The same for longer, with a commit that often, of what was accepted so long after it came."""
    made = faulty("letters")
    made.meta["bounds"]["commit_interval"] = interval
    made.events = [event for event in made.events if event["kind"] == "fault" or event["name"] == "outcomes"]
    made.event(40, "heal", "letters", tenant="sick")
    made.phase("drain", 45)
    made.phase("end", 60)
    culprit = made.produce("sick", 11)
    made.attempt("sick", [culprit], 11, items=[400])
    made.put_aside(culprit, 41, tokens=[culprit])
    due = [10 + number / 10 for number in range(300)]
    for at in due:
        made.deliver("h0", at, delay=delay)
    for number in range(400):
        at = 10 + number / 10
        committed = 10.03 + interval * ((at - 10.03) // interval)
        made.commit(at, {"1/0": sum(each + delay <= committed for each in due)})
    return made


def test_a_commit_may_take_its_interval(tmp_path: Path) -> None:
    """OFF-4 allows as much: what came right after a commit waits for the next, for five seconds by Kafka's default."""
    assert judged(every(5.0), tmp_path, destination.check).verdict is Verdict.PASS


def test_an_acceptance_may_not_take_the_commits_time_as_well(tmp_path: Path) -> None:
    """A record that waits for nothing is accepted soon, however seldom commits are made."""
    assert judged(every(5.0, delay=5.5), tmp_path, destination.check).verdict is Verdict.FAIL


def test_a_destination_that_took_letters_was_not_down(tmp_path: Path) -> None:
    """The fault must have bitten."""
    assert judged(closed(seen=15)[0], tmp_path, destination.check).verdict is Verdict.INCONCLUSIVE


def test_a_run_that_ended_meanwhile_decides_nothing(tmp_path: Path) -> None:
    """What would have followed is not known."""
    made, _ = closed()
    made.events = [event for event in made.events if event["kind"] != "heal"]
    made.dead_letters.clear()
    assert judged(made, tmp_path, destination.check).verdict is Verdict.INCONCLUSIVE


def test_nothing_to_put_aside_proves_nothing(tmp_path: Path) -> None:
    """Nobody needed it."""
    made, _ = closed()
    made.attempts = made.attempts[3:]
    assert judged(made, tmp_path, destination.check).verdict is Verdict.INCONCLUSIVE


def test_a_starved_harness_is_no_reason_to_fail(tmp_path: Path) -> None:
    """The readings of commits came late."""
    made, _ = closed(commits_until=13)
    made.event(18, "harness", "sampler_gap", seconds=4)
    assert judged(made, tmp_path, destination.check).verdict is Verdict.INCONCLUSIVE


def test_tenants_with_troubles_of_their_own_do_not_count(tmp_path: Path) -> None:
    """Whoever waits for a sick cluster does not wait for the dead letters."""
    made, _ = closed()
    made.event(12, "fault", "slow", tenant="h1", script={})
    made.produce("h1", 12)
    finding = judged(made, tmp_path, destination.check)
    assert (finding.verdict, finding.figures["partitions that do not"].value) == (Verdict.PASS, 2)
