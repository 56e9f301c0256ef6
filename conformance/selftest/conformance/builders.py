"""Handmade histories: a sane one from a few words, written as files and loaded, to be broken in one way a test."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from isolane.conformance.history import History
from isolane.conformance.history_files import HistoryWriter
from isolane.conformance.history_values import Kind
from isolane.conformance.tokens import Token

RUN = 0x1234
Line = dict[str, Any]

_FILES = (
    *("produced", "attempts", "commits", "dead_letters", "found"),
    *("samples", "scrapes", "fetched", "events", "groups"),
)


@dataclass
class Story:
    """A history in the making: lists of lines, each file's own, that a test may change before `load`."""

    meta: Line
    produced: list[Line] = field(default_factory=list)
    attempts: list[Line] = field(default_factory=list)
    commits: list[Line] = field(default_factory=list)
    dead_letters: list[Line] = field(default_factory=list)
    found: list[Line] = field(default_factory=list)
    samples: list[Line] = field(default_factory=list)
    fetched: list[Line] = field(default_factory=list)
    events: list[Line] = field(default_factory=list)
    groups: list[Line] = field(default_factory=list)
    scrapes: list[Line] = field(default_factory=list)
    output: list[str] = field(default_factory=list)
    requests: int = 0
    offsets: Counter[tuple[int, int]] = field(default_factory=Counter)

    def topic(self, tenant: str) -> int:
        """The number of the tenant's first topic."""
        return next(number for number, topic in enumerate(self.meta["topics"]) if topic["tenant"] == tenant)

    def phase(self, name: str, at: float) -> None:
        """Begin a phase."""
        self.events.append({"at": at, "kind": "phase", "name": name})

    def fault(self, name: str, tenant: str, began: float, ended: float) -> None:
        """A phase with a fault in it."""
        self.phase(f"fault:{name}", began)
        self.events.append({"at": began, "kind": "fault", "name": name, "tenant": tenant, "script": {}})
        self.events.append({"at": ended, "kind": "heal", "name": name, "tenant": tenant})

    def event(self, at: float, kind: str, name: str, **detail: object) -> None:
        """Any other event."""
        self.events.append({"at": at, "kind": kind, "name": name, **detail})

    def produce(
        self,
        tenant: str,
        at: float,
        *,
        partition: int = 0,
        items: int = 1,
        phase: str = "load",
        kind: Kind = "data",
    ) -> Token:
        """Produce a record to the tenant's first topic, acknowledged 2 ms after it was due; its first item's token."""
        return self.produce_to(self.topic(tenant), partition, at, items=items, phase=phase, kind=kind)

    def produce_to(
        self, topic: int, partition: int, at: float, *, items: int = 1, phase: str = "load", kind: Kind = "data"
    ) -> Token:
        """Produce a record to the topic with this number, whoever owns it."""
        offset = self.offsets[topic, partition]
        self.offsets[topic, partition] += 1
        token = Token(RUN, topic, partition, offset)
        self.produced.append(
            {
                "token": str(token),
                "topic": topic,
                "partition": partition,
                "offset": offset,
                "items": items,
                "bytes": 100 * items,
                "scheduled": at,
                "sent": at + 0.001,
                "acked": at + 0.002,
                "phase": phase,
                "kind": kind,
            }
        )
        return token

    def attempt(
        self,
        tenant: str,
        tokens: Sequence[Token | None],
        at: float,
        *,
        took: float | None = 0.005,
        status: int = 200,
        items: int | list[int] | None = 201,
        how: str = "replied",
    ) -> int:
        """A request to the tenant's cluster, answered after `took` seconds (None: never); its number."""
        self.requests += 1
        number = self.requests
        self.attempts.append(
            {
                "e": "arrived",
                "r": number,
                "tenant": tenant,
                "at": at,
                "bytes": 100,
                "open": 1,
                "tokens": [None if token is None else str(token) for token in tokens],
            }
        )
        if took is not None:
            self.attempts.append({"e": "answered", "r": number, "at": at + took, "status": status, "items": items})
            self.attempts.append({"e": "closed", "r": number, "at": at + took, "how": how})
        return number

    def deliver(self, tenant: str, at: float, *, delay: float = 0.05, **produce: Any) -> Token:  # noqa: ANN401 - passed on
        """Produce a record and have it accepted `delay` seconds after it was due."""
        token = self.produce(tenant, at, **produce)
        self.attempt(tenant, [token], at + delay - 0.005)
        return token

    def flow(self, tenant: str, began: float, ended: float, *, rate: float, delay: float = 0.05) -> None:
        """Deliver `rate` records a second, evenly, due in [began, ended)."""
        for number in range(round((ended - began) * rate)):
            self.deliver(tenant, began + number / rate, delay=delay)

    def put_aside(
        self, record: Token, at: float, *, tokens: Sequence[Token] = (), names: bool = True, reason: str = "broken"
    ) -> None:
        """A dead letter about a record, that names it unless told not to, and holds these tokens."""
        places = {str(line["token"]): line for line in self.produced}
        line = places[str(record)]
        place = {name: line[name] if names else None for name in ("topic", "partition", "offset")}
        self.dead_letters.append(
            {"at": at, "seen": at + 0.1, **place, "reason": reason, "tokens": [str(token) for token in tokens]}
        )

    def find(
        self, tenant: str, tokens: Sequence[Token], at: float, seen: float, *, name: str = "", index: str = "logs"
    ) -> None:
        """A search of the tenant's real cluster finds a document, which that of `at` had not found."""
        line = {"e": "found", "tenant": tenant, "index": index, "id": name or str(tokens[0]), "at": at, "seen": seen}
        self.found.append({**line, "tokens": [str(token) for token in tokens]})

    def lose(self, tenant: str, name: str, seen: float, *, index: str = "logs") -> None:
        """A search does not find a document any more."""
        self.found.append({"e": "gone", "tenant": tenant, "index": index, "id": name, "seen": seen})

    def search(self, tenant: str, began: float, *, error: str | None = None) -> None:
        """A search of all of the tenant's real cluster; `error` when it could not be searched."""
        line = {"e": "searched", "tenant": tenant, "began": began, "ended": began + 0.1}
        self.found.append({**line, "documents": 0} if error is None else {**line, "error": error})

    def commit(self, at: float, offsets: dict[str, int], ends: dict[str, int] | None = None) -> None:
        """Observe committed offsets, and the ends of the logs."""
        self.commits.append({"began": at - 0.01, "ended": at, "offsets": offsets, "ends": ends or {}})

    def group(
        self, at: float, members: dict[str, list[str]], *, state: str = "Stable", generation: int | None = None
    ) -> None:
        """The group is seen to have these members, each with these partitions (topic/partition), from now on."""
        self.groups.append({"at": at, "state": state, "generation": generation, "members": members})

    def write(self, folder: Path) -> Path:
        """Write the files of the history; the folder."""
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "meta.json").write_text(json.dumps(self.meta))
        for name in _FILES:
            lines: list[Line] = getattr(self, name)
            if name in {"attempts", "events"}:
                lines = sorted(lines, key=lambda line: float(line["at"]))
            with HistoryWriter(folder / f"{name}.ndjson") as writer:
                for line in lines:
                    writer.write(line)
        (folder / "member-0.log").write_text("".join(f"{line}\n" for line in self.output))
        return folder

    def load(self, folder: Path) -> History:
        """Write the history and load it."""
        return History.load(self.write(folder))


def story(*, healthy: int = 2, items: int = 1, judges: tuple[str, ...] = ()) -> Story:
    """An empty history with the tenants `sick` and `h0`, `h1` …, a topic of two partitions each."""
    tenants = [("sick", "sick"), *((f"h{number}", "healthy") for number in range(healthy))]
    return Story(
        {
            "schema": 1,
            "scenario": "handmade",
            "implementation": "nobody",
            "depth": "smoke",
            "seed": 1,
            "run": f"{RUN:04x}",
            "group": "g",
            "tenants": [{"name": name, "role": role, "topics": [at]} for at, (name, role) in enumerate(tenants)],
            "topics": [{"name": f"managed_otlp.logs.{name}", "tenant": name, "partitions": 2} for name, _ in tenants],
            "items_per_record": items,
            "bounds": {"workers": 16, "commit_interval": 1.0},
            "features": {},
            "judges": list(judges),
        }
    )


def isolated(*, fault: str = "slow", healthy: int = 2, rate: float = 20, seconds: int = 10) -> Story:
    """Ten seconds of control, ten or as many of a fault that bites and that nobody else feels, a heal and a drain."""
    healed = 110 + seconds
    made = story(healthy=healthy, judges=("TEN-2", "ISO-1", "ISO-3", "DEL-1", "OFF-1"))
    made.phase("control", 100)
    made.fault(fault, "sick", 110, healed)
    made.phase(f"heal:{fault}", healed)
    made.phase("drain", healed + 5)
    made.phase("end", healed + 6)
    for number in range(healthy):
        made.flow(f"h{number}", 100, healed, rate=rate)
    made.flow("sick", 100, 110, rate=rate)
    stuck = [made.produce("sick", 110 + number / 10) for number in range(10 * seconds)]
    if fault.startswith("pushback"):
        made.attempt("sick", [stuck[0]], 110.1, status=429, items=None)
    else:
        made.attempt("sick", [stuck[0]], 110.1, took=5.0)
    made.attempt("sick", stuck, healed + 1)
    for at in range(101, healed + 7):
        done = [sum(line["topic"] == topic and line["acked"] < at - 1 for line in made.produced) for topic in range(3)]
        done[0] = min(done[0], round(rate) * 10) if at < healed + 2 else len(stuck) + round(rate) * 10
        made.commit(at, {f"{topic}/0": offset for topic, offset in enumerate(done) if offset})
    return made
