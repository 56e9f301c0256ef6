"""The history of one scenario: what was produced, attempted, accepted, committed, measured and done, on one clock.

A history is a folder of NDJSON files with one writer each (see `history_files`), and ``meta.json``, which says what
the scenario was; when it is over it is sealed (see `history_seal`). Verdicts are functions of it, so a stored run can
be judged again. All times are ``time.monotonic()`` seconds.
"""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate, pairwise
from pathlib import Path
from typing import Self, TypeVar

from pydantic import ValidationError

from isolane.conformance import history_seal
from isolane.conformance import history_values as values
from isolane.conformance.history_files import (
    ATTEMPTS,
    COMMITS,
    DEAD_LETTERS,
    EVENTS,
    FETCHED,
    FOUND,
    GROUPS,
    META,
    OUTPUT,
    PRODUCED,
    SAMPLES,
    SCRAPES,
    DamagedHistoryError,
    Line,
    NotAHistoryError,
    read_lines,
)
from isolane.conformance.history_found import Document, Documents, Search, postpone
from isolane.conformance.history_ledger import AcceptedIndex, Attempt, Connection, Ledger
from isolane.conformance.history_letters import LetterIndex
from isolane.conformance.history_sendings import Sending, by_item
from isolane.conformance.history_values import (
    NOTHING_TO_DELIVER,
    DeadLetter,
    Event,
    Fault,
    Fetched,
    GroupState,
    Meta,
    Observation,
    Phase,
    Produced,
    Sample,
    Scrape,
)

T = TypeVar("T")

GROUP_SEEN = 1.0
"""Seconds within which a change of the consumer group is seen."""


@dataclass(frozen=True)
class History:
    """All that is known of one scenario's run; does not change once loaded.

    Sequences are in the order of their files, except `attempts`, which are in order of arrival. Clusters that are
    scripted tell of attempts, real ones of searches and of the documents that were there in the end. `output` has the
    lines that the members printed, one member after the other.
    """

    folder: Path
    meta: Meta
    produced: Sequence[Produced]
    attempts: Sequence[Attempt]
    connections: Sequence[Connection]
    documents: Sequence[Document]
    searches: Sequence[Search]
    accepted: AcceptedIndex
    commits: Sequence[Observation]
    samples: Sequence[Sample]
    scrapes: Sequence[Scrape]
    fetched: Sequence[Fetched]
    events: Sequence[Event]
    groups: Sequence[GroupState]
    dead_letters: Sequence[DeadLetter]
    output: Sequence[str]

    @classmethod
    def load(cls, folder: Path) -> Self:
        """Read a history; a missing file is an empty one, and an unfinished last line is left out.

        Raises:
            NotAHistoryError: The folder has no readable ``meta.json``.
            DamagedHistoryError: A line lacks what belongs to it, or is no JSON; or a file is not what it was when the
                history was sealed.
        """
        history_seal.check(folder)
        meta = read_meta(folder)
        ledger = Ledger(meta.run_number, meta.owners)
        found = Documents(ledger.accepted)
        _each(folder / ATTEMPTS, ledger.feed)
        _each(folder / FOUND, found.feed)
        history = cls(
            folder=folder,
            meta=meta,
            produced=_each(folder / PRODUCED, values.produced),
            attempts=sorted(ledger.attempts.values(), key=lambda attempt: attempt.arrived),
            connections=ledger.connections,
            documents=found.stored,
            searches=found.searches,
            accepted=ledger.accepted,
            commits=_each(folder / COMMITS, values.observation),
            samples=_each(folder / SAMPLES, values.sample),
            scrapes=_each(folder / SCRAPES, values.scrape),
            fetched=_each(folder / FETCHED, values.fetched),
            events=_each(folder / EVENTS, values.event),
            groups=_each(folder / GROUPS, values.group),
            dead_letters=_each(folder / DEAD_LETTERS, values.dead_letter),
            output=[
                line
                for path in sorted(folder.glob(OUTPUT))
                for line in path.read_text(encoding="utf-8", errors="replace").splitlines()
            ],
        )
        postpone(history.accepted, history.by_tenant, history.faults)
        return history

    @property
    def scenario(self) -> str:
        """The scenario's name."""
        return self.meta.scenario

    @cached_property
    def began(self) -> float:
        """When the first thing happened; 0 for a history in which nothing did."""
        return min(self._times(), default=0.0)

    @cached_property
    def last(self) -> float:
        """When the last thing happened; 0 for a history in which nothing did."""
        return max(self._times(), default=0.0)

    @cached_property
    def phases(self) -> tuple[Phase, ...]:
        """The phases in order; each ends when the next begins."""
        marks = [(event.name, event.at) for event in self.events if event.kind == "phase"]
        phases = [Phase(name, began, ended) for (name, began), (_, ended) in pairwise(marks)]
        if marks:
            name, began = marks[-1]
            phases.append(Phase(name, began, began) if name == "end" else Phase(name, began, self.last, complete=False))
        return tuple(phases)

    @cached_property
    def faults(self) -> tuple[Fault, ...]:
        """The faults in order of injection, each with the heal that ended it."""
        heals: dict[tuple[str, str], list[float]] = defaultdict(list)
        for event in self.events:
            if event.kind == "heal":
                heals[event.name, event.detail["tenant"]].append(event.at)
        faults = []
        for event in self.events:
            if event.kind == "fault":
                ends = heals[event.name, event.detail["tenant"]]
                ended = next((at for at in ends if at >= event.at), math.inf)
                faults.append(
                    Fault(event.name, event.detail["tenant"], event.at, ended, event.detail.get("script", {}))
                )
        return tuple(faults)

    @cached_property
    def by_partition(self) -> Mapping[tuple[int, int], Sequence[Produced]]:
        """The produced records of each (topic number, partition), in order of their offsets."""
        partitions: dict[tuple[int, int], list[Produced]] = defaultdict(list)
        for record in self.produced:
            partitions[record.topic, record.partition].append(record)
        return {key: sorted(records, key=lambda record: record.offset) for key, records in partitions.items()}

    @cached_property
    def advances(self) -> Mapping[tuple[int, int], Sequence[tuple[float, int]]]:
        """The committed offsets of each (topic number, partition) as they were first seen: (when, offset), in order.

        A reading that shows what the one before has shown is left out; one that shows less is not.
        """
        partitions: dict[tuple[int, int], list[tuple[float, int]]] = defaultdict(list)
        for seen in self.commits:
            for partition, offset in seen.offsets.items():
                known = partitions[partition]
                if not known or known[-1][1] != offset:
                    known.append((seen.ended, offset))
        return partitions

    def committed_past(self, record: Produced) -> float:
        """Return when a committed offset beyond the record was first seen; infinity when none ever was."""
        times, highest = self._highest.get((record.topic, record.partition), ((), ()))
        first = bisect_right(highest, record.offset)
        return times[first] if first < len(times) else math.inf

    @cached_property
    def by_tenant(self) -> Mapping[str, Sequence[Produced]]:
        """The produced records of each tenant, in order of their schedule; every tenant is there."""
        owners = self.meta.owners
        tenants: dict[str, list[Produced]] = {tenant.name: [] for tenant in self.meta.tenants}
        for record in self.produced:
            if record.topic in owners:
                tenants[owners[record.topic]].append(record)
        for records in tenants.values():
            records.sort(key=lambda record: record.scheduled)
        return tenants

    def accepted_at(self, record: Produced) -> float:
        """Return when the record's tenant's cluster had accepted all of it; infinity when it never did."""
        return self.accepted.accepted_at(record.record, record.items)

    def finished_at(self, record: Produced) -> float:
        """Return when nothing more was owed for the record; infinity when something still is.

        That is when each of its items was accepted or put aside as a dead letter. With nothing to deliver it is before
        anybody can have read it, and so it is with a record that cannot be decoded where such are skipped, once it was
        committed past: from outside nobody sees when.
        """
        if record.kind in NOTHING_TO_DELIVER or self._was_skipped(record):
            return record.sent
        return self._letters.finished_at(record.record, record.place, record.items, self.accepted)

    def interrupted(self, began: float, ended: float) -> bool:
        """Return whether members or topics changed between two moments."""
        return bisect_left(self._interruptions, began) < bisect_right(self._interruptions, ended)

    @cached_property
    def vagueness(self) -> float:
        """By how many seconds something may have been accepted later than is said: 0 where clusters are scripted.

        What is found in a real one came after the search before, and is taken for as early as that.
        """
        return max((document.seen - document.at for document in self.documents), default=0.0)

    def letters(self, record: Produced) -> list[DeadLetter]:
        """Return the dead letters about a record, in the order in which they were found."""
        return self._letters.about(record.record, record.place)

    def _was_skipped(self, record: Produced) -> bool:
        skips = record.kind == "poison" and self.meta.dead_letter.undecodable in {None, "skip"}
        return skips and self.committed_past(record) < math.inf

    @cached_property
    def _letters(self) -> LetterIndex:
        index = LetterIndex(self.meta.run_number)
        for letter in self.dead_letters:
            index.add(letter)
        return index

    @cached_property
    def sendings(self) -> Mapping[int, Sequence[Sending]]:
        """What was sent of each item, by the number of its token, in order of arrival."""
        return by_item(self.attempts)

    def find(self, record: int) -> Produced | None:
        """Return the produced record with this key."""
        return self._by_key.get(record)

    def phase(self, name: str) -> Phase | None:
        """Return the first phase of this name."""
        return next((phase for phase in self.phases if phase.name == name), None)

    def place(self, record: Produced) -> str:
        """Return where the record lies in Kafka, as ``topic/partition@offset``."""
        return f"{self.topic(record.topic)}/{record.partition}@{record.offset}"

    def topic(self, number: int) -> str:
        """Return the name of the topic with this number."""
        topics = self.meta.topics
        return topics[number].name if number < len(topics) else f"topic {number}"

    @cached_property
    def _highest(self) -> Mapping[tuple[int, int], tuple[Sequence[float], Sequence[int]]]:
        """When committed offsets were first seen, and the highest that were seen until then."""
        return {
            place: ([at for at, _ in seen], list(accumulate((offset for _, offset in seen), max)))
            for place, seen in self.advances.items()
        }

    @cached_property
    def _interruptions(self) -> Sequence[float]:
        """When members or topics changed, sorted; what is seen in the group alone may have happened a little earlier.

        A member that gets no processor time for longer than its session is expelled, and comes back, without a process
        having ended.
        """
        changes = [event.at for event in self.events if event.kind in {"process", "topic"}]
        return sorted([*changes, *(state.at - GROUP_SEEN for state in self.groups[1:])])

    @cached_property
    def _by_key(self) -> dict[int, Produced]:
        return {record.record: record for record in self.produced}

    def _times(self) -> list[float]:
        return [
            *(event.at for event in self.events),
            *(record.scheduled for record in self.produced),
            *(record.acked for record in self.produced),
            *(attempt.arrived for attempt in self.attempts),
            *(at for attempt in self.attempts for at in (attempt.answered, attempt.closed) if at is not None),
            *(search.ended for search in self.searches),
            *(observation.ended for observation in self.commits),
            *(sample.at for sample in self.samples),
            *(letter.seen for letter in self.dead_letters),
        ]


def read_meta(folder: Path) -> Meta:
    """Read ``meta.json``.

    Raises:
        NotAHistoryError: It is missing, unreadable, or says something else than a scenario.
    """
    path = folder / META
    try:
        return Meta.model_validate_json(path.read_bytes())
    except OSError as error:
        raise NotAHistoryError(f"{folder} holds no history: {META} cannot be read ({error.strerror})") from error
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(map(str, first["loc"])) or "content"
        raise NotAHistoryError(f"{path}: {where}: {first['msg']} (found {first['input']!r:.60})") from error


def _each(path: Path, read: Callable[[Line], T]) -> list[T]:
    values = []
    for number, line in read_lines(path):
        try:
            values.append(read(line))
        except KeyError as error:
            raise DamagedHistoryError(f"{path}, line {number}: {error.args[0]!r} is missing or unknown") from error
        except (AttributeError, TypeError, ValueError, OverflowError) as error:
            raise DamagedHistoryError(f"{path}, line {number}: {error}") from error
    return values
