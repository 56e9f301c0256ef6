"""Histories of as many events as are asked for, written line by line: nothing of them is ever held."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Literal

import orjson

from isolane.conformance.history_files import ATTEMPTS, COMMITS, EVENTS, PRODUCED, SAMPLES, Line
from isolane.conformance.requirements import CATALOGUE
from isolane.conformance.selftest.conformance.builders import RUN, story
from isolane.conformance.tokens import Token

Shape = Literal["sane", "refused", "lost"]
"""Each record is accepted at once; each is refused five times before; every second one is never accepted."""

TENANTS, PARTITIONS, RATE = ("sick", "h0", "h1"), 2, 1000
PLACES = len(TENANTS) * PARTITIONS


def write(folder: Path, events: int, shape: Shape) -> int:
    """Write a history of at least so many lines into a new folder; how many records it has.

    Every requirement is judged in it.
    """
    judges = tuple(CATALOGUE.requirements)
    folder.mkdir()
    (folder / "meta.json").write_text(json.dumps(story(judges=judges).meta))
    records = written = 0
    with ExitStack() as stack:
        files = {
            name: stack.enter_context((folder / name).open("wb"))
            for name in (PRODUCED, ATTEMPTS, COMMITS, SAMPLES, EVENTS)
        }

        def put(lines: Iterator[tuple[str, Line]]) -> int:
            count = 0
            for name, line in lines:
                files[name].write(orjson.dumps(line, option=orjson.OPT_APPEND_NEWLINE))
                count += 1
            return count

        while written < events:
            written += put(_record(records, shape))
            records += 1
        put(_frame(records))
    return records


def _record(number: int, shape: Shape) -> Iterator[tuple[str, Line]]:
    """What becomes of one record, and what is observed at every fiftieth."""
    due, offset = number / RATE, number // PLACES
    topic, partition = number % len(TENANTS), number // len(TENANTS) % PARTITIONS
    token = str(Token(RUN, topic, partition, offset))
    where = {"token": token, "topic": topic, "partition": partition, "offset": offset}
    when = {"scheduled": due, "sent": due + 0.001, "acked": due + 0.002}
    yield PRODUCED, {**where, **when, "items": 1, "bytes": 100, "phase": "load", "kind": "data"}
    refusals = 5 if shape == "refused" else 0
    for attempt in range(refusals + 1):
        request, at = number * (refusals + 1) + attempt, due + 0.01 + attempt / 10
        accepted = attempt == refusals and not (shape == "lost" and number % 2)
        answer = {"status": 200, "items": 201} if accepted else {"status": 429, "items": None}
        arrival = {"tenant": TENANTS[topic], "bytes": 100, "open": 1, "tokens": [token]}
        yield ATTEMPTS, {"e": "arrived", "r": request, "at": at, **arrival}
        yield ATTEMPTS, {"e": "answered", "r": request, "at": at + 0.005, **answer}
        yield ATTEMPTS, {"e": "closed", "r": request, "at": at + 0.005, "how": "replied"}
    if number % 50 == 0:
        yield COMMITS, _observation(due, max(0, offset - RATE))
        yield SAMPLES, {"at": due, "member": "0", "pid": 1, "rss": 100 << 20, "threads": 5, "fds": 20}


def _frame(records: int) -> Iterator[tuple[str, Line]]:
    """Phases with a fault in the middle, and the last commits."""
    end = records / RATE
    fault = {"name": "slow", "tenant": "sick"}
    yield EVENTS, {"at": 0.0, "kind": "phase", "name": "control"}
    yield EVENTS, {"at": end / 3, "kind": "phase", "name": "fault:slow"}
    yield EVENTS, {"at": end / 3, "kind": "fault", **fault, "script": {}}
    yield EVENTS, {"at": 2 * end / 3, "kind": "heal", **fault}
    yield EVENTS, {"at": 2 * end / 3, "kind": "phase", "name": "drain"}
    yield COMMITS, _observation(end + 20, records // PLACES)
    yield EVENTS, {"at": end + 30, "kind": "phase", "name": "end"}


def _observation(at: float, offset: int) -> Line:
    places = [f"{topic}/{partition}" for topic in range(len(TENANTS)) for partition in range(PARTITIONS)]
    return {"began": at, "ended": at + 0.01, "offsets": dict.fromkeys(places, offset), "ends": {}}
