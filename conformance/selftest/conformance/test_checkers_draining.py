"""What a drain has left that was still going on, or before the next probe was due, may have been about to come."""

from __future__ import annotations

from pathlib import Path

from isolane.conformance.checkers import cases, delivery, draining, environment, retries
from isolane.conformance.history import History
from isolane.conformance.selftest.conformance.builders import Story, story
from isolane.conformance.verdict import Finding, Verdict
from isolane.conformance.world import STILL


def slow(*, stops: float = 50, ends: float = 50) -> Story:
    """A backlog of which a record is accepted every half second of the drain, until then; some are left."""
    made = story(judges=("DEL-1",))
    made.phase("control", 0)
    backlog = [made.produce("h0", 1) for _ in range(100)]
    made.phase("drain", 10)
    for number, token in enumerate(backlog):
        at = 10.2 + number / 2
        if at < stops:
            made.attempt("h0", [token], at)
    made.phase("end", ends)
    return made


def probed(fault: str = "pushback", *, ends: float = 138, status: int = 503) -> Story:
    """A tenant that is tried again 60 s after each refusal, as it publishes; its cluster is well again at 100."""
    made = story(judges=("DEL-1", "DEL-2"))
    made.meta["bounds"] |= {"probe_interval": 60.0, "request_timeout": 30.0}
    made.fault(fault, "sick", 1, 100)
    tokens = [made.produce("sick", 2), made.produce("sick", 3)]
    for at in (5, 35, 95):
        made.attempt("sick", tokens, at, status=status, items=None)
    made.phase("drain", 110)
    made.phase("end", ends)
    return made


def judged(made: Story, folder: Path) -> Finding:
    """The finding on DEL-1."""
    (finding,) = delivery.check(made.load(folder))
    return finding


def left(history: History) -> str | None:
    """Why nothing can be said of the records that are left."""
    records = [record for record in history.produced if history.finished_at(record) > history.last]
    assert cases.undecided(history, records) == cases.pending(history, records)
    return cases.pending(history, records)


def test_who_delivers_to_the_last_moment_has_not_left_anything_yet(tmp_path: Path) -> None:
    """DEL-1 has no bound of time."""
    finding = judged(slow(), tmp_path)
    assert finding.verdict is Verdict.INCONCLUSIVE
    assert "the drain was still going on when it was given up: something came 0.3 s before" in finding.summary
    assert left(slow().load(tmp_path / "cases")) is not None


def test_a_drain_that_stood_still_was_over(tmp_path: Path) -> None:
    """The harness waits for as long as that: what has not come by then is left."""
    assert draining.LATELY <= STILL
    assert judged(slow(stops=40, ends=50), tmp_path / "still").verdict is Verdict.FAIL
    assert judged(slow(stops=0, ends=15), tmp_path / "nothing").verdict is Verdict.FAIL
    assert left(slow(stops=40, ends=50).load(tmp_path / "cases")) is None


def test_what_came_before_the_drain_is_no_sign_of_it(tmp_path: Path) -> None:
    """A drain in which nothing comes is not going on."""
    made = slow(stops=0, ends=15)
    made.flow("h1", 0, 9, rate=1)
    assert judged(made, tmp_path).verdict is Verdict.FAIL


def test_what_is_committed_past_is_lost_however_the_drain_goes_on(tmp_path: Path) -> None:
    """Nobody reads it again."""
    made = slow()
    made.commit(49, {"1/0": 100})
    assert judged(made, tmp_path / "slow").verdict is Verdict.FAIL
    assert left(made.load(tmp_path / "cases")) is None
    made = probed()
    made.commit(120, {"0/0": 1})
    assert judged(made, tmp_path / "probed").verdict is Verdict.FAIL


def test_what_was_not_due_to_be_tried_again_is_not_left(tmp_path: Path) -> None:
    """LIM-4: the next probe may come as late after the heal as is published, after an attempt that is open still."""
    finding = judged(probed(), tmp_path / "DEL-1")
    assert finding.verdict is Verdict.INCONCLUSIVE
    assert "the next attempt was not due: its cluster was well for 38 s, and is tried again within 90 s" in (
        finding.summary
    )
    (finding,) = retries.check(probed().load(tmp_path / "DEL-2"))
    assert finding.verdict is Verdict.INCONCLUSIVE
    assert "not due" in finding.summary
    (finding,) = environment.check(probed("denied", status=403).load(tmp_path / "DEL-5"))
    assert finding.verdict is Verdict.INCONCLUSIVE
    assert "not due" in finding.summary


def test_a_probe_that_is_overdue_excuses_nothing(tmp_path: Path) -> None:
    """Nor does one that has come, nor what was never published."""
    assert judged(probed(ends=191), tmp_path / "overdue").verdict is Verdict.FAIL
    made = probed()
    made.attempt("sick", [None], 105)
    assert judged(made, tmp_path / "another's").verdict is Verdict.INCONCLUSIVE
    made.attempt("sick", [made.produce("sick", 4)], 105, status=400, items=None)
    assert judged(made, tmp_path / "itself").verdict is Verdict.FAIL
    made = probed()
    del made.meta["bounds"]["probe_interval"]
    assert judged(made, tmp_path / "not published").verdict is Verdict.FAIL


def test_a_tenant_whose_cluster_was_always_well_has_no_probe_to_wait_for(tmp_path: Path) -> None:
    """One record that cannot be excused is enough."""
    made = probed()
    made.produce("h0", 4)
    assert judged(made, tmp_path).verdict is Verdict.FAIL


def test_what_was_accepted_and_is_not_committed_waits_for_no_probe(tmp_path: Path) -> None:
    """OFF-5 and REB-4 count that as left, too."""
    made = probed()
    made.attempt("sick", [made.produce("sick", 4)], 4.1)
    history = made.load(tmp_path)
    assert cases.pending(history, history.produced[:2]) is not None
    assert cases.pending(history, history.produced) is None


def test_a_fault_without_an_end_is_waited_for_by_nobody(tmp_path: Path) -> None:
    """There is no heal after which it could be tried again."""
    made = probed()
    made.events = [event for event in made.events if event["kind"] != "heal"]
    assert judged(made, tmp_path).verdict is Verdict.FAIL
