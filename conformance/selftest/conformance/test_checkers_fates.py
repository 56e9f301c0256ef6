"""What became of a record is said in one sentence, and what the unfinished ones share is counted."""

from __future__ import annotations

from pathlib import Path

import pytest

from isolane.conformance.checkers.fates import MOST_GROUPS, at_ends, by_phase, fate, in_common, unfinished
from isolane.conformance.history import History
from isolane.conformance.selftest.conformance import builders
from isolane.conformance.selftest.conformance.builders import Story
from isolane.conformance.tokens import Token


def told(made: Story, folder: Path) -> str:
    """The fate of the only record of the healthy tenant h0."""
    history = made.load(folder)
    return fate(history, history.by_tenant["h0"][0])


def test_an_accepted_record_says_when_and_when_it_was_committed(tmp_path: Path) -> None:
    """Times count from its acknowledgement, which comes 2 ms after it was due."""
    made = builders.story()
    made.deliver("h0", 10, delay=0.102)
    made.commit(11.002, {"1/0": 1})
    assert told(made, tmp_path) == "accepted after 0.100 s; seen committed past after 1.000 s"


def test_a_commit_before_the_acceptance_is_said_to_be_early(tmp_path: Path) -> None:
    """It would have been lost, had the process died between."""
    made = builders.story()
    made.deliver("h0", 10, delay=3.002)
    made.commit(11.002, {"1/0": 1})
    assert told(made, tmp_path) == "accepted after 3.000 s; seen committed past after 1.000 s, 2.000 s too early"


def test_a_lost_record_that_no_request_carried(tmp_path: Path) -> None:
    """Committed past, and never sent: it was dropped inside the implementation."""
    made = builders.story()
    made.produce("h0", 10)
    made.commit(11.002, {"1/0": 1})
    sentence = "lost: never finished, seen committed past after 1.000 s; no request ever carried it"
    assert told(made, tmp_path) == sentence


def test_a_left_record_says_how_it_was_tried(tmp_path: Path) -> None:
    """The last attempt with an item that no cluster has is told, with its answer."""
    made = builders.story()
    token = made.produce("h0", 10, items=2)
    both = [token, Token(token.run, token.topic, 0, token.sequence, 1)]
    made.attempt("h0", both, 11, status=503, items=None)
    made.attempt("h0", both, 12, items=[201, 429])
    sentence = "left: never finished, never committed past; 2 requests ever carried it, the last refused for now (429)"
    assert told(made, tmp_path) == sentence


def test_a_record_that_was_put_aside_or_has_nothing_to_deliver(tmp_path: Path) -> None:
    """Both are ends, and neither is an acceptance."""
    made = builders.story()
    token = made.produce("h0", 10)
    made.put_aside(token, 11.002, tokens=[token])
    made.produce("h1", 10, kind="tombstone")
    history = made.load(tmp_path)
    assert fate(history, history.by_tenant["h0"][0]) == "put aside as a dead letter after 1.000 s; never committed past"
    assert fate(history, history.by_tenant["h1"][0]) == "nothing to deliver (tombstone); never committed past"


def test_searches_of_real_clusters_are_not_requests(tmp_path: Path) -> None:
    """Where requests cannot be seen, nothing is said of them."""
    made = builders.story()
    made.produce("h0", 10)
    made.search("h0", 12)
    assert told(made, tmp_path) == "left: never finished, never committed past; no search found it"
    history = made.load(tmp_path / "again")
    assert in_common(history, unfinished(history)) == (
        "     1 of tenant h0, produced in load: found by no search, not committed past",
    )


def lossy(folder: Path) -> History:
    """Three records lost unsent in one phase, one refused in another, one delivered."""
    made = builders.story()
    for at in (10, 11, 12):
        made.produce("h0", at, phase="capacity")
    made.attempt("h1", [made.produce("h1", 13, phase="crash")], 14, status=503, items=None)
    made.deliver("sick", 15)
    made.commit(16, {"1/0": 3})
    return made.load(folder)


def test_unfinished_records_are_in_order_of_their_acknowledgement(tmp_path: Path) -> None:
    """Those of all tenants together; what was delivered is not among them."""
    history = lossy(tmp_path)
    assert [record.scheduled for record in unfinished(history)] == [10, 11, 12, 13]


def test_what_unfinished_records_have_in_common_is_counted(tmp_path: Path) -> None:
    """By tenant, phase, what was tried last, and whether they were committed past; the most first."""
    history = lossy(tmp_path)
    assert in_common(history, unfinished(history)) == (
        "     3 of tenant h0, produced in capacity: never sent to a cluster, committed past",
        "     1 of tenant h1, produced in crash: refused for now (503), not committed past",
    )


def test_unfinished_records_are_counted_by_phase(tmp_path: Path) -> None:
    """All of them, so that it is seen whether records were lost without a fault; the first phase first."""
    assert by_phase(unfinished(lossy(tmp_path))) == "in all, by phase: capacity 3, crash 1"


@pytest.mark.parametrize("groups", [MOST_GROUPS, MOST_GROUPS + 3])
def test_of_many_groups_the_rest_is_a_number(groups: int, tmp_path: Path) -> None:
    """No record is left out of the count."""
    made = builders.story()
    for number in range(groups):
        for _ in range(2):
            made.produce("h0", 10 + number, phase=f"p{number}")
    history = made.load(tmp_path)
    lines = in_common(history, unfinished(history))
    assert len(lines) == min(groups, MOST_GROUPS + 1)
    assert sum(int(line.split()[0]) for line in lines) == 2 * groups


def test_lost_records_are_counted_at_the_end_of_a_member(tmp_path: Path) -> None:
    """Each at the first end when it was committed past, which the next reading shows; what came later is not."""
    made = builders.story()
    for at in (10, 11, 12, 12.5):
        made.produce("h0", at)
    made.deliver("h1", 11, delay=5)
    made.commit(12.6, {"1/0": 2})
    made.event(13, "process", "killed", member=0)
    made.commit(13.1, {"1/0": 3, "2/0": 1})
    made.event(13.2, "process", "started", member=0)
    made.produce("h0", 14)
    made.event(15.5, "process", "exited", member=1)
    made.commit(15.7, {"1/0": 5})
    made.produce("h0", 17)
    made.commit(18, {"1/0": 6})
    made.event(19, "process", "stopped", member=0)
    history = made.load(tmp_path)
    killed, exited = at_ends(history, unfinished(history))
    assert killed == (
        "     3 were unfinished and committed past when member 0 was killed, 3.000 s into the run, "
        "by offsets read 0.100 s later; the oldest had come 2.998 s before"
    )
    assert exited == (
        "     2 more were unfinished and committed past when member 1 ended by itself, 5.500 s into the run, "
        "by offsets read 0.200 s later; the oldest had come 2.998 s before"
    )


def test_what_is_not_committed_past_is_not_lost_with_a_member(tmp_path: Path) -> None:
    """It is there to be read again; nor is anything said of the harness' own stops, when the scenario is over."""
    made = builders.story()
    made.produce("h0", 10)
    made.event(11, "process", "killed", member=0)
    made.commit(12, {"1/0": 0})
    made.commit(13, {"1/0": 1})
    made.phase("end", 20)
    made.event(20.1, "process", "stopped", member=0)
    made.commit(21, {"1/0": 1})
    history = made.load(tmp_path)
    assert at_ends(history, unfinished(history)) == ()


def test_of_many_ends_the_rest_is_a_number(tmp_path: Path) -> None:
    """Those with most records are told, in the order in which they came."""
    made = builders.story()
    for number in range(MOST_GROUPS + 2):
        for _ in range(1 if number < 2 else 2):
            made.produce("h0", 10 + number)
        made.event(10.5 + number, "process", "killed", member=number)
        made.commit(10.6 + number, {"1/0": len(made.produced)})
    history = made.load(tmp_path)
    *lines, rest = at_ends(history, unfinished(history))
    assert [line.partition(" member ")[2][0] for line in lines] == [*"23456789"]
    assert rest == "     2 more at 2 other ends of a member"
