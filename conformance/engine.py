"""The engine: runs the scenarios that a scope asks for, judges their histories, and tells listeners meanwhile."""

from __future__ import annotations

import os
import platform
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from isolane.conformance import bounds
from isolane.conformance.checkers import judge
from isolane.conformance.depth import Depth
from isolane.conformance.errors import HarnessError, NoTrafficError
from isolane.conformance.history import History
from isolane.conformance.opening import Plan, Services, opened
from isolane.conformance.result import Implementation, RunResult, ScenarioRun
from isolane.conformance.scenarios.catalogue import SCENARIOS, judging
from isolane.conformance.scenarios.model import Scenario
from isolane.conformance.verdict import Finding
from isolane.fixtures.errors import FixtureError
from isolane.fixtures.implementations.descriptor import Descriptor, DescriptorError
from isolane.fixtures.implementations.versions import version_of


@dataclass(frozen=True, slots=True)
class Progress:
    """Something that a run tells while it goes on: which scenario, and which phase of it begins."""

    scenario: str
    phase: str


Listener = Callable[[Progress], None]


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
    """

    descriptor: Descriptor
    asked: str
    depth: Depth
    seed: int
    scope: tuple[str, ...]
    folder: Path

    @property
    def scenarios(self) -> tuple[Scenario, ...]:
        """The scenarios that judge anything in the scope."""
        return judging(frozenset(self.scope)) if self.scope else SCENARIOS


def verify(request: Request, services: Services, listener: Listener) -> RunResult:
    """Run every scenario of the request and judge; blocks for minutes.

    A scenario that cannot go on ends the run: what was seen until then is judged, and the result says the rest.

    Raises:
        ImplementationNotStartedError: Its command could not be run, or ended before it took a record.
        DescriptorError: Its template or command line is wrong.
    """
    began, started = time.monotonic(), datetime.now(UTC).isoformat(timespec="seconds")
    findings: list[Finding] = []
    runs: list[ScenarioRun] = []
    failure = ""
    for scenario in request.scenarios:
        if failure:
            runs.append(ScenarioRun(scenario.name, scenario.name, scenario.judges, failure=f"not run: {failure}"))
            continue
        run = live(request, scenario, services, listener)
        runs.append(run)
        failure = run.failure
        findings += judge(History.load(request.folder / run.folder))
    return RunResult(
        implementation=_implementation(request),
        depth=request.depth.name,
        seed=request.seed,
        started=started,
        seconds=round(time.monotonic() - began, 1),
        scenarios=tuple(runs),
        findings=tuple(findings),
        scope=request.scope,
        bounds=bounds.effective(request.descriptor),
        machine=_machine(),
    )


def live(request: Request, scenario: Scenario, services: Services, listener: Listener) -> ScenarioRun:
    """Let the implementation live through one scenario; its history lies below the request's folder."""
    began = time.monotonic()
    failure, harness_failed = "", False
    plan = Plan(
        scenario.name, scenario.judges, scenario.shape(request.descriptor), request.depth, request.seed,
    )  # fmt: skip
    try:
        with opened(
            plan,
            request.descriptor,
            services,
            request.folder / scenario.name,
            lambda phase: listener(Progress(scenario.name, phase)),
        ) as world:
            scenario.story(world, request.depth)
    except NoTrafficError as error:
        failure = str(error)
    except DescriptorError:
        raise
    except (HarnessError, FixtureError) as error:
        failure, harness_failed = str(error), True
    return ScenarioRun(
        scenario.name,
        scenario.name,
        scenario.judges,
        seconds=round(time.monotonic() - began, 1),
        failure=failure,
        harness_failed=harness_failed,
    )


def _implementation(request: Request) -> Implementation:
    descriptor = request.descriptor
    features = tuple(sorted(name for name, claimed in descriptor.features.items() if claimed))
    return Implementation(descriptor.name, version_of(descriptor), request.asked, descriptor.digest, features)


def _machine() -> dict[str, str | int | float]:
    return {
        "system": platform.system(),
        "architecture": platform.machine(),
        "cores": os.cpu_count() or 0,
        "python": platform.python_version(),
    }
