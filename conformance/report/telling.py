"""What `isolane why` and `isolane trace` print: from a verdict to the life of one record, and to what it shares.

Lines are as long as they are: what is copied from them, or searched in them, is never broken.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from rich.console import Group, RenderableType
from rich.text import Text

from isolane.conformance.checkers.fates import at_ends, by_phase, fate, in_common, unfinished
from isolane.conformance.checkers.story import meanwhile, title, whole_story
from isolane.conformance.checkers.words import complaints, naming
from isolane.conformance.history import History
from isolane.conformance.history_values import Produced
from isolane.conformance.phases import explained
from isolane.conformance.requirements import CATALOGUE, Requirement
from isolane.conformance.result import RunResult
from isolane.conformance.stored import NoSuchRecordError, StoredRun
from isolane.conformance.verdict import Finding, Outcome, Verdict

NEIGHBOURS = 3
"""Records of the partition that are told before a traced one, and after it."""

MOST_NAMED = 10
"""Unfinished records of a scenario that are named; of more, their number."""

_NOT_SEEN = frozenset({Verdict.NOT_JUDGED, Verdict.NOT_CLAIMED})
"""Of what has one of these the run has nothing to bring again."""

_STYLES = {Verdict.PASS: "green", Verdict.FAIL: "bold red", Verdict.INCONCLUSIVE: "yellow"}


@dataclass(slots=True)
class _Told:
    """What was told already, and need not be again.

    Attributes:
        lives: The requirement under which each story was told.
        scenarios: The names of those of which it was told what is the same for all of their records.
        phases: The phases that were named, in that order, to be explained at the end.
    """

    lives: dict[tuple[str, ...], str] = field(default_factory=dict)
    scenarios: set[str] = field(default_factory=set)
    phases: list[str] = field(default_factory=list)


def why(run: StoredRun, result: RunResult, outcomes: Iterable[Outcome]) -> RenderableType:
    """Return why the outcomes of a run are what they are, each with the life of one record where it is a violation.

    Raises:
        HistoryError: A history of the run cannot be read.
    """
    told = _Told()
    parts = [part for outcome in outcomes for part in _outcome(run, result, outcome, told)]
    return Group(*parts, *_phases(told.phases))


def trace(run: StoredRun, history: History, record: Produced) -> RenderableType:
    """Return the whole life of one record, and how its neighbours in the partition fared."""
    head, *lines = whole_story(history, record)
    around = history.by_partition[record.topic, record.partition]
    at = around.index(record)
    near = around[max(0, at - NEIGHBOURS) : at + NEIGHBOURS + 1]
    return Group(
        Text(head, style="bold"),
        Text(f"{fate(history, record)} ({record.kind}, {record.size:,} bytes, scenario {history.scenario})"),
        *_block("Its life, in seconds from its acknowledgement by Kafka", lines),
        *_block(
            "Beside it in its partition",
            [f"{'→' if each is record else ' '} @{each.offset}  {fate(history, each)}" for each in near],
        ),
        *_block("Lines of the implementation's output that name it", naming(history, record)),
        *_phases([record.phase, *(each.name for each in meanwhile(history, record, "phase"))]),
        *_commands([f"isolane why {shlex.quote(str(run.folder))}"]),
    )


def traceable(run: StoredRun) -> RenderableType:
    """Return the names of the first records of each scenario that were never finished, and how a record is traced.

    Raises:
        HistoryError: A history of the run cannot be read.
    """
    left = {name: unfinished(history) for name, history in run.histories.items()}
    some = (*left.values(), *(history.produced for history in run.histories.values()))
    example = next((records[0].token for records in some if records), "TOKEN")
    return Group(
        *(part for name, history in run.histories.items() for part in _left(history, left[name])),
        *_commands([f"isolane trace {shlex.quote(str(run.folder))} {example}"]),
    )


def _left(history: History, left: Sequence[Produced]) -> Iterator[RenderableType]:
    if not left:
        yield Text(f"Every record of {history.scenario} was finished.")
        return
    yield Text(f"{len(left):,} records of {history.scenario} were never finished", style="bold")
    yield from (Text(f"    {title(history, record)}: {fate(history, record)}") for record in left[:MOST_NAMED])
    if len(left) > MOST_NAMED:
        yield Text(f"    and {len(left) - MOST_NAMED:,} more")


def _outcome(run: StoredRun, result: RunResult, outcome: Outcome, told: _Told) -> Iterator[RenderableType]:
    requirement, style = outcome.requirement, _STYLES.get(outcome.verdict, "dim")
    yield Text.assemble((f"{requirement.id} ", "bold"), (outcome.verdict.value, style), f"  {_level(requirement)}")
    yield Text(f"  {requirement.statement}", style="italic")
    if not outcome.findings:
        yield Text(f"\n  {outcome.reason}")
    shown = [each for each in outcome.findings if each.verdict is outcome.verdict]
    for finding in shown:
        yield Text.assemble("\n", (f"In {finding.scenario} {finding.case}".rstrip(), "bold"), f": {finding.summary}")
        figures = "; ".join(f"{name}: {figure}" for name, figure in finding.figures.items())
        if figures:
            yield Text(f"  {figures}", style="dim")
        if finding.story:
            yield from _suffering(run, finding, told)
    again = () if outcome.verdict in _NOT_SEEN else (result.reproduce(requirement.id),)
    yield from _commands([*_traces(run, shown), f"isolane explain {requirement.id}", *again])


def _suffering(run: StoredRun, finding: Finding, told: _Told) -> Iterator[RenderableType]:
    if finding.story in told.lives:
        yield Text(f"\n  {finding.story[0]}: its life is told under {told.lives[finding.story]} above")
        return
    told.lives[finding.story] = finding.requirement
    yield from _block("One record's life, in seconds from its acknowledgement by Kafka", finding.story)
    found = _record(run, finding)
    if found is None:
        return
    history, record = found
    told.phases += [record.phase, *([] if history.phase(finding.case) is None else [finding.case])]
    yield from _block("What became of it", [fate(history, record)])
    yield from _block("Lines of the implementation's output that name it", naming(history, record))
    if history.scenario not in told.scenarios:
        told.scenarios.add(history.scenario)
        left = unfinished(history)
        told.phases += [each.phase for each in left]
        yield from _around(history, left)


def _around(history: History, left: Sequence[Produced]) -> Iterator[RenderableType]:
    """Tell what all records of a scenario that are left unfinished have in common, and what was complained of."""
    heading = f"All {len(left):,} records of {history.scenario} that were never finished, by what they have in common"
    shared = [*in_common(history, left), f" {by_phase(left)}", *at_ends(history, left)]
    yield from _block(heading, shared if left else [])
    counted = [f"{count:6,} times: {line}" for count, line in complaints(history)]
    yield from _block(f"What the implementation complained of in {history.scenario}, numbers aside", counted)


def _record(run: StoredRun, finding: Finding) -> tuple[History, Produced] | None:
    """Return the record that a finding's story is about, where it has one and the scenario's history has it."""
    token = finding.story[0].partition(" ")[0]
    try:
        return run.find(token)
    except NoSuchRecordError:
        return None


def _traces(run: StoredRun, findings: Sequence[Finding]) -> Iterator[str]:
    tokens = dict.fromkeys(token for finding in findings for token in finding.evidence[:1])
    for token in list(tokens)[:NEIGHBOURS]:
        yield f"isolane trace {shlex.quote(str(run.folder))} {token}"


def _level(requirement: Requirement) -> str:
    return f"{requirement.level.words}, profile {CATALOGUE.profile_of(requirement)}"


def _block(heading: str, lines: Sequence[str]) -> Iterator[RenderableType]:
    if lines:
        yield Text(f"\n  {heading}", style="bold dim")
        yield from (Text(f"    {line}") for line in lines)


def _phases(names: Iterable[str]) -> Iterator[RenderableType]:
    found = explained(names)
    width = max(map(len, found), default=0)
    yield from _block("What the phases are", [f"{name:{width}}  {meaning}" for name, meaning in found.items()])


def _commands(lines: Sequence[str]) -> Iterator[RenderableType]:
    yield from _block("Go on with", lines)
    yield Text()
