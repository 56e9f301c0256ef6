"""Histories are read as they were written, also after a crash, and refuse what cannot be one."""

from __future__ import annotations

import json
import math
import threading
from pathlib import Path

import pytest

from isolane.conformance.history import History, read_meta
from isolane.conformance.history_files import (
    DamagedHistoryError,
    HistoryWriter,
    NotAHistoryError,
    Tail,
    read_lines,
)
from isolane.conformance.history_ledger import Ledger
from isolane.conformance.selftest.conformance.builders import RUN, story
from isolane.conformance.tokens import Token


def test_lines_of_many_threads_stay_whole(tmp_path: Path) -> None:
    """Each line is there once, none is torn by another thread's."""
    with HistoryWriter(tmp_path / "f.ndjson") as writer:

        def write(thread: int) -> None:
            for number in range(200):
                writer.write({"thread": thread, "number": number, "padding": "x" * 100})

        threads = [threading.Thread(target=write, args=(number,)) for number in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    lines = [(line["thread"], line["number"]) for _, line in read_lines(tmp_path / "f.ndjson")]
    assert sorted(lines) == [(thread, number) for thread in range(4) for number in range(200)]


def test_a_line_is_in_the_file_when_write_returns(tmp_path: Path) -> None:
    """What was written survives the writer."""
    with HistoryWriter(tmp_path / "f.ndjson") as writer:
        writer.write({"a": 1})
        assert (tmp_path / "f.ndjson").read_bytes() == b'{"a":1}\n'


def test_a_tail_gives_each_line_once_and_only_when_it_is_complete(tmp_path: Path) -> None:
    """It can follow a writer that is in the middle of a line, and one that has not begun."""
    path = tmp_path / "f.ndjson"
    tail = Tail(path)
    assert tail.poll() == []
    path.write_bytes(b'{"a":1}\n{"a"')
    assert tail.poll() == [{"a": 1}]
    assert tail.poll() == []
    with path.open("ab") as file:
        file.write(b':2}\n{"a":3}\n')
    assert tail.poll() == [{"a": 2}, {"a": 3}]


def test_a_tail_names_the_line_that_is_none(tmp_path: Path) -> None:
    """Line numbers go on from poll to poll."""
    path = tmp_path / "f.ndjson"
    tail = Tail(path)
    path.write_bytes(b"{}\n")
    tail.poll()
    with path.open("ab") as file:
        file.write(b"oops\n")
    with pytest.raises(DamagedHistoryError, match=r"f\.ndjson, line 2: not JSON"):
        tail.poll()


@pytest.mark.parametrize("tail", [b'{"a":2', b'{"a":2}', b"", b"\n"])
def test_a_writer_that_crashed_costs_its_last_line_at_most(tmp_path: Path, tail: bytes) -> None:
    """An unfinished last line is left out; one that only lacks its end of line is not."""
    (tmp_path / "f.ndjson").write_bytes(b'{"a":1}\n' + tail)
    expected = [{"a": 1}, {"a": 2}] if tail == b'{"a":2}' else [{"a": 1}]
    assert [line for _, line in read_lines(tmp_path / "f.ndjson")] == expected


def test_a_damaged_line_in_the_middle_is_named(tmp_path: Path) -> None:
    """Only a crash excuses a broken line, and a crash breaks the last."""
    (tmp_path / "f.ndjson").write_bytes(b'{"a":\n{"a":1}\n')
    with pytest.raises(DamagedHistoryError, match=r"f\.ndjson, line 1"):
        list(read_lines(tmp_path / "f.ndjson"))


def test_a_line_that_is_no_object_is_named(tmp_path: Path) -> None:
    """Valid JSON is not enough."""
    (tmp_path / "f.ndjson").write_bytes(b"[1]\n")
    with pytest.raises(DamagedHistoryError, match=r"line 1: b'\[1\]' is not a JSON object"):
        list(read_lines(tmp_path / "f.ndjson"))


def test_a_history_of_nothing_but_meta_is_empty(tmp_path: Path) -> None:
    """A run that was broken off at once can still be read."""
    (tmp_path / "meta.json").write_text(json.dumps(story().meta))
    history = History.load(tmp_path)
    assert (history.began, history.last, history.phases, history.faults) == (0.0, 0.0, (), ())
    assert [*history.produced, *history.attempts, *history.commits, *history.samples] == []


def test_a_folder_without_meta_is_no_history(tmp_path: Path) -> None:
    """The error says which file is missing."""
    with pytest.raises(NotAHistoryError, match=r"holds no history: meta\.json cannot be read"):
        History.load(tmp_path)


@pytest.mark.parametrize(
    ("field", "value", "message"),
    [
        ("schema", 2, "schema"),
        ("run", "xyz", "run: .*'xyz'"),
        ("seed", "seven", "seed: .*'seven'"),
        (
            "topics",
            [{"name": "t", "tenant": "nobody", "partitions": 1}],
            "topic t belongs to 'nobody'; the tenants are",
        ),
    ],
)
def test_a_wrong_meta_names_its_field(tmp_path: Path, field: str, value: object, message: str) -> None:
    """Field, value and rule, in one line."""
    (tmp_path / "meta.json").write_text(json.dumps(story().meta | {field: value}))
    with pytest.raises(NotAHistoryError, match=message):
        read_meta(tmp_path)


@pytest.mark.parametrize("missing", ["scheduled", "token", "offset"])
def test_a_line_that_lacks_a_field_is_named(tmp_path: Path, missing: str) -> None:
    """File, line and field."""
    made = story()
    made.produce("h0", 1)
    made.produce("h0", 2)
    del made.produced[1][missing]
    with pytest.raises(DamagedHistoryError, match=rf"produced\.ndjson, line 2: '{missing}' is missing"):
        made.load(tmp_path)


def test_a_line_with_a_wrong_value_is_named(tmp_path: Path) -> None:
    """The same for a value of another type."""
    made = story()
    made.produce("h0", 1)
    made.produced[0]["offset"] = "many"
    with pytest.raises(DamagedHistoryError, match=r"produced\.ndjson, line 1: .*'many'"):
        made.load(tmp_path)


@pytest.mark.parametrize(
    ("file", "line"),
    [
        ("attempts", {"e": "arrived", "r": 1, "tenant": "h0", "at": "noon", "bytes": 1, "open": 1, "tokens": []}),
        ("attempts", {"e": "arrived", "r": 1, "tenant": "h0", "at": None, "bytes": 1, "open": 1, "tokens": []}),
        ("attempts", {"e": "arrived", "r": 1, "tenant": "h0", "at": 1, "bytes": "many", "open": 1, "tokens": []}),
        ("attempts", {"e": "connected", "tenant": "h0", "at": "noon"}),
        ("commits", {"began": 1, "ended": 1, "offsets": [1]}),
        ("commits", {"began": 1, "ended": 1, "offsets": None}),
        ("groups", {"at": 1, "state": "Stable", "generation": 1, "members": []}),
        ("events", {"at": 1, "kind": "harness", "name": "load_lag", "seconds": None}),
        ("events", {"at": 1, "kind": "topic", "name": "created", "topic": "t", "partitions": 1}),
        ("events", {"at": 1, "kind": "fault", "name": "slow", "tenant": ["h0"]}),
    ],
)
def test_a_line_with_a_value_of_another_kind_is_named(tmp_path: Path, file: str, line: dict[str, object]) -> None:
    """Whatever it is that cannot be done with it."""
    folder = story().write(tmp_path / "h")
    (folder / f"{file}.ndjson").write_text(json.dumps(line) + "\n")
    with pytest.raises(DamagedHistoryError, match=rf"{file}\.ndjson, line 1: "):
        History.load(folder)


def test_a_record_with_less_than_no_items_is_named(tmp_path: Path) -> None:
    """None at all it may have."""
    made = story()
    made.produce("h0", 1)
    made.produced[0]["items"] = -1
    with pytest.raises(DamagedHistoryError, match=r"produced\.ndjson, line 1: items: -1: 0 or more are wanted"):
        made.load(tmp_path)


def test_an_event_that_lacks_what_its_kind_needs_is_named(tmp_path: Path) -> None:
    """Checkers rely on it later."""
    made = story()
    made.event(1, "harness", "load_lag")
    with pytest.raises(DamagedHistoryError, match=r"events\.ndjson, line 1: 'seconds' is missing"):
        made.load(tmp_path)


def test_each_phase_ends_when_the_next_begins(tmp_path: Path) -> None:
    """The phase `end` closes the last one and has no length."""
    made = story()
    for name, at in (("ready", 1), ("control", 2), ("drain", 5), ("end", 6)):
        made.phase(name, at)
    phases = made.load(tmp_path).phases
    assert [(phase.name, phase.began, phase.ended, phase.complete) for phase in phases] == [
        ("ready", 1, 2, True),
        ("control", 2, 5, True),
        ("drain", 5, 6, True),
        ("end", 6, 6, True),
    ]


def test_a_run_cut_short_leaves_its_last_phase_incomplete(tmp_path: Path) -> None:
    """It lasts until the last thing that is known."""
    made = story()
    made.phase("control", 2)
    made.deliver("h0", 4, delay=0.5)
    (phase,) = made.load(tmp_path).phases
    assert (phase.ended, phase.complete) == (4.5, False)


def test_a_fault_ends_with_its_own_heal(tmp_path: Path) -> None:
    """Not with another tenant's, nor another fault's; one without a heal never ends."""
    made = story()
    made.fault("slow", "sick", 1, 9)
    made.fault("slow", "h0", 2, 3)
    made.fault("slow", "sick", 10, 11)
    made.event(12, "fault", "reset", tenant="sick")
    faults = made.load(tmp_path).faults
    assert [(fault.name, fault.tenant, fault.began, fault.ended) for fault in faults] == [
        ("slow", "sick", 1, 9),
        ("slow", "h0", 2, 3),
        ("slow", "sick", 10, 11),
        ("reset", "sick", 12, math.inf),
    ]


def test_a_record_is_accepted_when_the_last_of_its_items_is(tmp_path: Path) -> None:
    """Items may need different numbers of attempts; being accepted again changes nothing."""
    made = story()
    token = made.produce("h0", 1, items=2)
    second = Token(RUN, token.topic, token.partition, token.sequence, 1)
    made.attempt("h0", [token, second], 1.1, took=0, items=[429, 201])
    made.attempt("h0", [token], 2, took=0)
    made.attempt("h0", [token, second], 3, took=0)
    history = made.load(tmp_path)
    assert history.accepted_at(history.produced[0]) == 2


@pytest.mark.parametrize(
    ("status", "items", "how", "accepted"),
    [
        (200, 201, "replied", True),
        (200, [200], "replied", True),
        (200, 409, "replied", False),
        (200, 201, "lost", True),
        (200, 201, "client_gone", True),
        (200, 429, "replied", False),
        (200, [], "replied", False),
        (200, None, "replied", False),
        (503, None, "replied", False),
    ],
)
def test_what_counts_as_accepted(
    tmp_path: Path, *, status: int, items: int | list[int], how: str, accepted: bool
) -> None:
    """A 2xx for the item itself, whether or not the reply arrived; nothing else: a first 409 is about another's id."""
    made = story()
    token = made.produce("h0", 1)
    made.attempt("h0", [token], 1.1, took=0, status=status, items=items, how=how)
    history = made.load(tmp_path)
    assert (history.accepted_at(history.produced[0]) == 1.1) is accepted
    assert history.accepted.has_item(token.number) is accepted


def test_what_another_tenant_or_another_run_accepts_does_not_count(tmp_path: Path) -> None:
    """A record at the wrong cluster has not been delivered."""
    made = story()
    token = made.produce("h0", 1)
    made.attempt("h1", [token], 1.1)
    stranger = Token(RUN + 1, token.topic, token.partition, token.sequence)
    made.attempt("h0", [stranger], 1.2)
    history = made.load(tmp_path)
    assert not history.accepted.has_item(stranger.number)
    assert history.accepted_at(history.produced[0]) == math.inf


def test_a_request_may_carry_items_without_a_token(tmp_path: Path) -> None:
    """They keep their place, so that statuses stay with their items."""
    made = story()
    token = made.produce("h0", 1)
    made.attempt("h0", [None, token], 1.1, items=[201, 429])
    (attempt,) = made.load(tmp_path).attempts
    assert list(attempt.items()) == [(None, 201), (token.number, 429)]
    assert len(attempt) == 2
    assert attempt.carries(token.record)
    assert not attempt.carries(token.record + 1)


def test_a_ledger_told_live_says_what_is_still_missing() -> None:
    """The run waits on this; a request answered before it was told of belongs to an earlier history."""
    made = story()
    tokens = [made.produce("h0", number) for number in range(3)]
    made.attempt("h0", tokens[:2], 4, items=[201, 503])
    made.attempt("h0", tokens[2:], 5, took=None)
    ledger = Ledger(RUN, {1: "h0"})
    ledger.feed({"e": "answered", "r": 99, "at": 0, "status": 200, "items": 201})
    ledger.feed({"e": "closed", "r": 99, "at": 0, "how": "replied"})
    for line in made.attempts:
        ledger.feed(line)
    everything = {token.record: 1 for token in tokens}
    assert ledger.accepted.missing(everything) == {token.record: 1 for token in tokens[1:]}


def test_attempts_are_kept_with_everything_told_of_them(tmp_path: Path) -> None:
    """One that is never answered stays open; swallowed connections are kept apart."""
    made = story()
    token = made.produce("h0", 1)
    made.attempt("h0", [token], 2, took=None)
    made.attempts.append({"e": "closed", "r": 1, "at": 9, "how": "client_gone"})
    made.attempts.append({"e": "connected", "tenant": "h1", "at": 3})
    history = made.load(tmp_path)
    (attempt,) = history.attempts
    assert (attempt.answered, attempt.status, attempt.closed, attempt.how) == (None, None, 9, "client_gone")
    assert [(each.tenant, each.at) for each in history.connections] == [("h1", 3)]


def test_records_are_found_by_partition_tenant_and_key(tmp_path: Path) -> None:
    """Partitions are in order of offsets even when acknowledgements came out of order."""
    made = story()
    tokens = [made.produce("h0", at) for at in (3, 2, 1)]
    made.produced.reverse()
    history = made.load(tmp_path)
    assert [record.offset for record in history.by_partition[1, 0]] == [0, 1, 2]
    assert [record.scheduled for record in history.by_tenant["h0"]] == [1, 2, 3]
    assert history.by_tenant["h1"] == []
    found = history.find(tokens[0].record)
    assert found is not None
    assert found.token == str(tokens[0])
    assert history.place(found) == "managed_otlp.logs.h0/0@0"


def test_readings_and_samples_keep_their_values(tmp_path: Path) -> None:
    """A reading that failed has its error and no offsets."""
    made = story()
    made.commit(2, {"1/0": 7})
    made.commits.append({"began": 3, "ended": 4, "error": "coordinator gone"})
    made.samples.append({"at": 1, "member": 0, "pid": 5, "rss": 1 << 20, "threads": 3, "fds": 9})
    history = made.load(tmp_path)
    assert [(each.ended, each.offsets, each.error) for each in history.commits] == [
        (2, {(1, 0): 7}, None),
        (4, {}, "coordinator gone"),
    ]
    assert (history.samples[0].member, history.samples[0].rss) == ("0", 1 << 20)
