"""Stored runs: what `isolane verify` left in a folder, to be judged, told and run again."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Self

from isolane.conformance.checkers import judge
from isolane.conformance.history import History, read_meta
from isolane.conformance.history_files import META
from isolane.conformance.history_values import Produced
from isolane.conformance.report import yaml_report
from isolane.conformance.result import Implementation, RunResult, ScenarioRun
from isolane.conformance.tokens import NotATokenError, Token


class NoSuchRecordError(LookupError):
    """Raised for a record that no history of a run has; the message says what is allowed."""


@dataclass(frozen=True)
class StoredRun:
    """A run in its folder, or one of its scenarios by itself.

    Attributes:
        folder: The folder.
        result: What its report says; of a scenario by itself only what its own files tell, with nothing found.
    """

    folder: Path
    result: RunResult

    @classmethod
    def open(cls, folder: Path) -> Self:
        """Open the folder of a run, or of one of its scenarios.

        Raises:
            ReportError: It has no report that can be read.
            HistoryError: It is a scenario's, and what it was cannot be read.
        """
        if (folder / META).exists():
            return cls(folder, _alone(folder))
        return cls(folder, yaml_report.read(folder / yaml_report.NAME))

    @property
    def names(self) -> tuple[str, ...]:
        """The scenarios that the run was asked for; empty for all."""
        alone = (self.folder / META).exists()
        return tuple(scenario.name for scenario in self.result.scenarios) if alone else self.result.names

    @cached_property
    def histories(self) -> dict[str, History]:
        """The history of each scenario that left one, by name.

        Raises:
            HistoryError: One is damaged, or that of a scenario which was completed is missing.
        """
        return {
            scenario.name: History.load(self.folder / scenario.folder)
            for scenario in self.result.scenarios
            if (self.folder / scenario.folder / META).exists() or not scenario.failure
        }

    @cached_property
    def found(self) -> RunResult:
        """The result with what was found: what its report says; where it says nothing, what the checkers find now.

        Raises:
            HistoryError: As for `histories`.
        """
        return self.result if self.result.findings else self.judged()

    def judged(self) -> RunResult:
        """Return the result with what the checkers find in the histories now.

        Raises:
            HistoryError: As for `histories`.
        """
        found = (finding for history in self.histories.values() for finding in judge(history))
        return replace(self.result, findings=tuple(found))

    def find(self, name: str) -> tuple[History, Produced]:
        """Return a record by its token, or by its place as ``TOPIC/PARTITION@OFFSET``, and the history that has it.

        Raises:
            NoSuchRecordError: No history has it, or the name is neither.
            HistoryError: As for `histories`.
        """
        for history, record in self._records():
            if name in {record.token, history.place(record)}:
                return history, record
        try:
            wanted = Token.parse(name).record
        except NotATokenError:
            raise NoSuchRecordError(f"{name!r}: {_hint(self.histories, name)}") from None
        for history in self.histories.values():
            if (found := history.find(wanted)) is not None:
                return history, found
        raise NoSuchRecordError(f"{name!r}: nothing with this token was acknowledged by Kafka in {self.folder}")

    def _records(self) -> Iterator[tuple[History, Produced]]:
        for history in self.histories.values():
            for record in history.produced:
                yield history, record


def _hint(histories: dict[str, History], name: str) -> str:
    topic, _, _ = name.rpartition("/")
    topics = [each.name for history in histories.values() for each in history.meta.topics]
    if topic in topics:
        return f"nothing of {topic} was acknowledged by Kafka with this partition and offset"
    return (
        "allowed: a token (isotok and 24 hexadecimal digits), or TOPIC/PARTITION@OFFSET "
        f"with one of the topics {', '.join(topics)}"
    )


def _alone(folder: Path) -> RunResult:
    meta = read_meta(folder)
    features = tuple(name for name, claimed in meta.features.items() if claimed)
    return RunResult(
        implementation=Implementation(meta.implementation, "", meta.implementation, "", features),
        depth=meta.depth,
        seed=meta.seed,
        started="",
        seconds=0.0,
        scenarios=(ScenarioRun(meta.scenario, ".", meta.judges),),
        findings=(),
        bounds=meta.bounds,
    )
