"""An implementation's output is quoted where it names a record, and counted where it complains."""

from __future__ import annotations

from pathlib import Path

from isolane.conformance.checkers.words import LONGEST, MOST, complaints, naming, telling_apart
from isolane.conformance.selftest.conformance import builders


def test_lines_that_name_a_record_are_found_by_token_and_by_place(tmp_path: Path) -> None:
    """Topic, partition and offset must all be there, as whole numbers, wherever they stand."""
    made = builders.story()
    token = [made.produce("h0", at, partition=1) for at in range(12)][-1]
    topic = "managed_otlp.logs.h0"
    named = [
        f'error skipping {{"topic": "{topic}", "partition": 1, "offset": 11}}',
        f"cannot parse {token}",
        f"{topic}[1]@11 dropped",
        f"{topic} [1] @ 11 dropped",
        f"{topic}-1 offset 11: no OTLP",
        f"{topic}/1 at offset 11: no OTLP",
    ]
    others = [f"assigned {topic}[1 11 12]", f"assigned {topic}: [0, 1, 11]", f"revoked {topic}[1, 11]"]
    others += [f"2026-03-01T10:01:11 {topic}: polled", f"{topic}-1 has 11 records", f"{topic}-1 offset 111"]
    others += [f"{topic}[1]@111 dropped", f"{topic}[2]@11 dropped", "other.topic[1]@11 dropped", f"1 of 11 of {topic}"]
    made.output = [*named, *others, f"{topic} partition=1 offset=12", f"{topic} partition=2 offset=11"]
    history = made.load(tmp_path)
    record = history.find(token.record)
    assert record is not None
    assert naming(history, record) == tuple(named)[:MOST]
    assert telling_apart(history, [record], []) == {record.record: named[0]}
    made.output = others
    assert telling_apart(made.load(tmp_path), [record], []) == {}


def test_lines_that_are_written_of_every_record_tell_none_apart(tmp_path: Path) -> None:
    """A line that names others as well, itself, says which record it is about."""
    made = builders.story()
    for at in range(3):
        made.produce("h0", at)
    topic = "managed_otlp.logs.h0"
    made.output = [f"DEBUG committed {topic}/0 offset {offset}" for offset in range(3)]
    other, record, behind = made.load(tmp_path).produced
    assert telling_apart(made.load(tmp_path), [record], [other]) == {}
    line = f"skipped {topic}/0 offset 1, the next is {topic}/0 offset 2"
    made.output = [*made.output, line]
    assert telling_apart(made.load(tmp_path), [record], [other, behind]) == {record.record: line}


def test_complaints_are_counted_by_kind(tmp_path: Path) -> None:
    """Numbers, times and ids do not make a kind of their own; what is no complaint is passed over."""
    made = builders.story()
    made.output = ["2026-01-01 INFO started"]
    made.output += [f"2026-01-0{day}T0{day}:00 ERROR queue is full, record {day}a" for day in range(1, 4)]
    made.output += ["WARN slow"]
    assert complaints(made.load(tmp_path)) == (
        (3, "2026-01-01T01:00 ERROR queue is full, record 1a"),
        (1, "WARN slow"),
    )


def test_quotations_are_few_and_short(tmp_path: Path) -> None:
    """An implementation that prints a stack for every record does not bury the report."""
    made = builders.story()
    made.output = [f"error {'abcdefghijk'[kind]} {'x' * 10_000}" for kind in range(MOST + 3)]
    quoted = complaints(made.load(tmp_path))
    assert len(quoted) == MOST
    assert all(len(line) == LONGEST + len(" … ") for _, line in quoted)


def test_a_long_line_keeps_its_end(tmp_path: Path) -> None:
    """Structured loggers put the cause there."""
    made = builders.story()
    made.output = [f"error skipped {'x' * 10_000} queue is full"]
    ((_, line),) = complaints(made.load(tmp_path))
    assert line.startswith("error skipped xxx")
    assert line.endswith("xxx queue is full")
