"""The engine: runs the scenarios that a scope asks for, judges their histories, and tells listeners meanwhile."""

from __future__ import annotations

import os
import platform
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

from isolane.conformance import bounds, history_seal
from isolane.conformance.checkers import judge
from isolane.conformance.clusters import ClusterKind
from isolane.conformance.depth import Depth
from isolane.conformance.errors import HarnessError, ImplementationNotStartedError, NoTrafficError
from isolane.conformance.history import History
from isolane.conformance.history_files import META
from isolane.conformance.measured import Measured
from isolane.conformance.opening import Plan, Services, opened
from isolane.conformance.requirements import CATALOGUE
from isolane.conformance.result import Deviation, Implementation, RunResult, ScenarioRun
from isolane.conformance.scenarios.catalogue import judging
from isolane.conformance.scenarios.model import Scenario
from isolane.conformance.verdict import Finding
from isolane.fixtures.errors import FixtureError
from isolane.fixtures.implementations import building
from isolane.fixtures.implementations.descriptor import Descriptor, DescriptorError
from isolane.fixtures.implementations.versions import version_of


@dataclass(frozen=True, slots=True)
class Progress:
    """Something that a run tells while it goes on: which scenario, and which phase of it begins."""

    scenario: str
    phase: str


Listener = Callable[[Progress], None]
"""Takes what a run tells."""

Judged = Callable[[ScenarioRun, tuple[Finding, ...]], None]
"""Takes a scenario that is over, and what the checkers found in its history."""

BUILD_LOG = "build.log"
"""The file in a run's folder that has the output of the implementation's build, when there was one."""


@dataclass(frozen=True, slots=True)
class Request:
    """What is to be verified.

    Attributes:
        descriptor: The implementation.
        asked: The name or path by which its descriptor was asked for.
        depth: How long to look.
        seed: What load is drawn from.
        scope: Requirement ids; empty for all that the depth declares.
        folder: Where the run's evidence goes.
        names: Of scenarios; empty for all that judge anything in the scope.
        clusters: What the tenants' clusters are.
    """

    descriptor: Descriptor
    asked: str
    depth: Depth
    seed: int
    scope: tuple[str, ...]
    folder: Path
    names: tuple[str, ...] = ()
    clusters: ClusterKind = "scripted"

    @property
    def scenarios(self) -> tuple[Scenario, ...]:
        """The scenarios of the depth that judge anything in the scope, on these clusters."""
        return tuple(each for each in self._declared if each.clusters == self.clusters)

    @property
    def left_out(self) -> tuple[Scenario, ...]:
        """Those that would be run on scripted clusters, which are what a depth is made for."""
        scripted = tuple(each for each in self._declared if each.clusters == "scripted")
        return () if self.clusters == "scripted" else scripted

    @property
    def _declared(self) -> tuple[Scenario, ...]:
        scope = self.scope or tuple(CATALOGUE.requirements)
        found = judging(scope, (self.depth.name,))
        named = (each for each in found if not self.names or each.name in self.names)
        return tuple(each for each in named if not set(scope).isdisjoint(each.judged(self.descriptor)))


def built(request: Request, tell: Callable[[str], None]) -> Request:
    """The request, its implementation built where the descriptor says how; blocks for minutes when sources are new.

    Args:
        request: What is to be verified.
        tell: Takes lines of progress.

    Raises:
        FixtureError: It could not be built; the message says why, and where the build's output is.
    """
    descriptor = building.built(request.descriptor, log=request.folder / BUILD_LOG, tell=tell)
    return replace(request, descriptor=descriptor)


class Run:
    """One run under way: lives scenarios when they are asked for, judges their histories, and sums up.

    For one thread. A scenario that cannot go on ends the run: what was seen until then is judged, the others are not
    run, and the result says why.
    """

    def __init__(self, request: Request, services: Services, listener: Listener, judged: Judged | None = None) -> None:
        """Begin; nothing is started yet. `listener` hears of each phase, `judged` of each scenario that is over."""
        self._request, self._services, self._listener, self._judged = request, services, listener, judged
        self._began, self._started = time.monotonic(), datetime.now(UTC).isoformat(timespec="seconds")
        self._runs: dict[str, ScenarioRun] = {}
        self._findings: list[Finding] = []

    def live(self, scenario: Scenario) -> ScenarioRun:
        """Let the implementation live through a scenario, unless it has; blocks for a minute and more.

        Raises:
            ImplementationNotStartedError: Its command could not be run, or ended before it took a record, in the first
                scenario; in a later one that is how the scenario failed, and what was seen before is kept.
            DescriptorError: Its template or command line is wrong.
        """
        if scenario.name not in self._runs:
            failure = next((run.failure for run in self._runs.values() if run.failure), "")
            run = (
                _not_run(scenario, self._request.descriptor, failure)
                if failure
                else _lived(self._request, scenario, self._services, self._listener, first=not self._runs)
            )
            found: tuple[Finding, ...] = ()
            folder = self._request.folder / run.folder
            if not failure and (folder / META).exists():  # a service may fail before there is any history
                history_seal.write(folder)
                history = History.load(folder)
                found, run = tuple(judge(history)), replace(run, measured=Measured.of(history))
            self._findings += found
            self._runs[scenario.name] = run
            if self._judged is not None:
                self._judged(run, found)
        return self._runs[scenario.name]

    def result(self) -> RunResult:
        """What the run found; scenarios that were not asked for are missing in it."""
        request = self._request
        return RunResult(
            implementation=_implementation(request),
            depth=request.depth.name,
            seed=request.seed,
            started=self._started,
            seconds=round(time.monotonic() - self._began, 1),
            scenarios=tuple(self._runs.values()),
            findings=tuple(self._findings),
            scope=request.scope,
            names=request.names,
            bounds=bounds.effective(request.descriptor),
            services=self._services.described,
            clusters=request.clusters,
            left_out=tuple(each.name for each in request.left_out),
            machine=_machine(),
        )


def verify(request: Request, services: Services, listener: Listener, judged: Judged | None = None) -> RunResult:
    """Run every scenario of the request and judge; blocks for minutes. The listeners are those of `Run`.

    Raises:
        ImplementationNotStartedError: See `Run.live`.
        DescriptorError: Its template or command line is wrong.
    """
    run = Run(request, services, listener, judged)
    for scenario in request.scenarios:
        run.live(scenario)
    return run.result()


def _not_run(scenario: Scenario, descriptor: Descriptor, failure: str) -> ScenarioRun:
    return ScenarioRun(
        scenario.name, scenario.name, scenario.judged(descriptor), failure=f"not run: {failure}", title=scenario.title
    )


def _lived(request: Request, scenario: Scenario, services: Services, listener: Listener, *, first: bool) -> ScenarioRun:
    began = time.monotonic()
    failure, harness_failed = "", False
    descriptor = scenario.adapt(request.descriptor)
    judges = scenario.judged(descriptor)
    plan = Plan(scenario.name, judges, scenario.shape(descriptor), request.depth, request.seed)
    folder = request.folder / scenario.name
    try:
        with opened(plan, descriptor, services, folder, partial(_told, listener, scenario)) as world:
            scenario.story(world, request.depth)
    except NoTrafficError as error:
        failure = str(error)
    except ImplementationNotStartedError as error:
        if first:
            raise
        failure = str(error)
    except DescriptorError:
        raise
    except (HarnessError, FixtureError) as error:
        failure, harness_failed = str(error), True
    seconds = round(time.monotonic() - began, 1)
    return ScenarioRun(scenario.name, folder.name, judges, seconds, failure, harness_failed, scenario.title)


def _told(listener: Listener, scenario: Scenario, phase: str) -> None:
    listener(Progress(scenario.name, phase))


def _implementation(request: Request) -> Implementation:
    descriptor = request.descriptor
    features = tuple(sorted(name for name, claimed in descriptor.features.items() if claimed))
    about = descriptor.implementation
    return Implementation(
        name=descriptor.name,
        version=version_of(descriptor),
        descriptor=request.asked,
        descriptor_hash=descriptor.digest,
        features=features,
        notes=about.notes,
        deviations=tuple(Deviation(each.id, each.reason, each.issue or "") for each in descriptor.known_deviation),
        url=about.url or "",
        language=about.language or "",
    )


def _machine() -> dict[str, str | int | float]:
    return {
        "system": platform.system(),
        "architecture": platform.machine(),
        "cores": os.cpu_count() or 0,
        "python": platform.python_version(),
    }
