"""The story of a record tells what happened to it, in order, and no more than one can read."""

from __future__ import annotations

from pathlib import Path

from isolane.conformance.checkers.story import MOST_ATTEMPTS, story, whole_story
from isolane.conformance.selftest.conformance import builders
from isolane.conformance.tokens import Token


def test_a_story_has_everything_that_happened_to_the_record_in_order(tmp_path: Path) -> None:
    """Birth, attempts with their answers, the commits around it, deaths and faults; times from its acknowledgement."""
    made = builders.story()
    made.produce("h0", 0)
    token = made.produce("h0", 10, items=2, phase="control")
    both = [token, Token(token.run, token.topic, 0, token.sequence, 1)]
    made.attempt("h0", both, 10.1, status=503, items=None)
    made.event(10.5, "fault", "mixed", tenant="sick", script={})
    made.attempt("h0", both, 11.002, items=[201, 429])
    made.event(11.5, "process", "killed", member=0, pid=1, code=-9)
    made.attempt("h0", both, 12.002, took=None)
    made.attempts.append({"e": "closed", "r": 3, "at": 12.1, "how": "client_gone"})
    made.attempt("h0", both, 13.002, items=[409, 201], how="lost")
    made.commit(9, {"1/0": 1})
    made.commit(14.002, {"1/0": 2})
    made.commit(15, {"1/0": 2})
    history = made.load(tmp_path)
    assert story(history, history.produced[1]) == (
        f"{token} = managed_otlp.logs.h0/0@1, 2 items, tenant h0",
        "   -1.002 s  committed offset 1 observed: not past this record",
        "   -0.002 s  scheduled (control)",
        "   +0.000 s  acknowledged by Kafka",
        "   +0.098 s  request 1 to h0's cluster: 503 after 0.005 s",
        "   +0.498 s  fault mixed at sick's cluster",
        "   +1.000 s  request 2 to h0's cluster: 200, its items 201/429, 1 of 2 accepted after 0.005 s",
        "   +1.498 s  member 0 killed",
        "   +2.000 s  request 3 to h0's cluster: no answer, then client_gone",
        "   +3.000 s  request 4 to h0's cluster: 200, its items 201/409, 2 of 2 accepted after 0.005 s, then lost",
        "   +4.000 s  committed offset 2 observed: past this record",
    )


def test_a_record_that_was_tried_for_ever_keeps_a_short_story(tmp_path: Path) -> None:
    """The first and the last attempts are told, those between are counted."""
    made = builders.story()
    token = made.produce("h0", 0)
    for number in range(100):
        made.attempt("h0", [token], 1 + number, status=429, items=None)
    history = made.load(tmp_path)
    lines = story(history, history.produced[0])
    told = [line for line in lines if "request " in line]
    assert len(told) == MOST_ATTEMPTS
    assert "request 1 " in told[0]
    assert "request 100 " in told[-1]
    assert any("… 88 more attempts" in line for line in lines)
    assert "never accepted" in lines[-1]


def test_a_record_that_waits_says_what_the_clusters_were_busy_with(tmp_path: Path) -> None:
    """So that a healthy tenant's story names the sick one that held every worker."""
    made = builders.story()
    for _ in range(2):
        made.attempt("sick", [made.produce("sick", 0)], 0.1, took=5)
    made.attempt("h1", [made.produce("h1", 0)], 0.1, took=3)
    made.attempt("h1", [made.produce("h1", 0)], 0.1, took=0.5)
    token = made.produce("h0", 0.998)
    made.attempt("h0", [token], 6)
    history = made.load(tmp_path)
    record = history.find(token.record)
    assert record is not None
    line = "   +1.000 s  not sent yet; requests open at this moment: 2 at sick's cluster, 1 at h1's cluster"
    assert line in story(history, record)


def test_a_record_that_waits_says_who_was_refused_meanwhile(tmp_path: Path) -> None:
    """A cluster that pushes back holds no request open: who waits for its retries is seen by its answers."""
    made = builders.story()
    for at, items in ((1.1, [429]), (1.5, [201]), (1.9, None), (2.5, None)):
        made.attempt("sick", [made.produce("sick", 0)], at, status=200 if items else 503, items=items)
    token = made.produce("h0", 0.998)
    made.attempt("h0", [token], 6)
    history = made.load(tmp_path)
    record = history.find(token.record)
    assert record is not None
    told = "requests open at this moment: none anywhere; refused in the second before: 2 at sick's cluster"
    assert f"   +1.000 s  not sent yet; {told}" in story(history, record)


def test_a_record_that_nothing_happened_to_has_a_story_too(tmp_path: Path) -> None:
    """Produced, and never seen again."""
    made = builders.story()
    made.produce("h0", 0)
    made.commit(2, {"1/0": 0})
    made.meta["topics"][1]["tenant"] = None
    history = made.load(tmp_path)
    lines = story(history, history.produced[0])
    assert lines[0].endswith("1 item, owned by no tenant")
    assert [line.split("  ")[-1] for line in lines[1:]] == [
        "scheduled (load)",
        "acknowledged by Kafka",
        "not sent yet; requests open at this moment: none anywhere",
        "committed offset 0 observed: not past this record",
        "end of the history: never accepted",
    ]


def test_a_dead_letter_is_told_with_its_reason(tmp_path: Path) -> None:
    """It is an end, as an acceptance is."""
    made = builders.story()
    token = made.produce("h0", 10)
    made.attempt("h0", [token], 11, items=[400])
    made.put_aside(token, 12, tokens=[token], reason="mapping")
    history = made.load(tmp_path)
    lines = story(history, history.produced[0])
    assert lines[-1].endswith("found among the dead letters: mapping")


def test_of_many_faults_elsewhere_only_the_number_is_told(tmp_path: Path) -> None:
    """Where a dozen clusters are wrong at once, a story is about its own."""
    made = builders.story(healthy=10)
    made.produce("h0", 10)
    for number in range(1, 10):
        made.event(10 + number, "fault", "slow", tenant=f"h{number}", script={})
    made.event(15.5, "fault", "mixed", tenant="h0", script={})
    history = made.load(tmp_path)
    lines = [line.strip() for line in story(history, history.produced[0])]
    assert "+0.998 s  from here on 9 faults and heals at other clusters" in lines
    assert "+5.498 s  fault mixed at h0's cluster" in lines
    assert not any("fault slow" in line for line in lines)


def test_a_story_says_who_had_the_partition_and_when_it_moved(tmp_path: Path) -> None:
    """As Kafka's group coordinator told it; only changes are told."""
    made = builders.story()
    token = made.produce("h0", 9.998)
    for at, owner in ((5, "one"), (8, "two"), (11, None), (12, "three"), (13, "three"), (30, "four")):
        made.group(at, {owner: ["1/0"]} if owner else {"one": ["2/0"]})
    made.attempt("h0", [token], 20)
    history = made.load(tmp_path)
    assert [line for line in story(history, history.produced[0]) if "partition" in line] == [
        "   +0.000 s  its partition is with two",
        "   +1.000 s  its partition is with no member now",
        "   +2.000 s  its partition is with three now",
    ]


def test_who_had_a_partition_may_be_seen_first_after_the_record(tmp_path: Path) -> None:
    """Where the group was not there yet when it came."""
    made = builders.story()
    made.produce("h0", 9.998)
    made.group(11, {"one": ["1/0"]})
    history = made.load(tmp_path)
    assert "   +1.000 s  its partition is with one" in story(history, history.produced[0])


def test_a_whole_story_leaves_nothing_out(tmp_path: Path) -> None:
    """Each of a hundred attempts, every change of the committed offset, every phase and fault meanwhile."""
    made = builders.story(healthy=10)
    made.produce("h0", 5)
    token = made.produce("h0", 10)
    made.phase("control", 11)
    for number in range(100):
        made.attempt("h0", [token], 12 + number, status=429, items=None)
    for number in range(1, 10):
        made.event(20 + number, "fault", "slow", tenant=f"h{number}", script={})
    made.attempt("h0", [token], 120)
    for at, offset in ((4, 0), (6, 0), (7, 1), (119, 1), (121, 2), (122, 3)):
        made.commit(at, {"1/0": offset})
    history = made.load(tmp_path)
    lines = whole_story(history, history.produced[1])
    assert sum("request " in line for line in lines) == 101
    assert sum("fault slow at" in line for line in lines) == 9
    assert [line.split("  ")[-1] for line in lines if "committed offset" in line or "phase" in line] == [
        "committed offset 1 observed: not past this record",
        "phase control begins",
        "committed offset 2 observed: past this record",
    ]
