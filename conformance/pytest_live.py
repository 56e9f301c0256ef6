"""What `pytest --implementation` adds: the conformance tests, the run behind them, its report and exit code.

Under pytest-xdist each worker has services and a run of its own; the controlling process sums up and reports.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from isolane.conformance import engine, regressions, services, sharing
from isolane.conformance.errors import ImplementationNotStartedError
from isolane.conformance.report import files, run_page, table
from isolane.conformance.report.printing import width
from isolane.conformance.requests import RequestError, request
from isolane.conformance.requirements import requirement
from isolane.conformance.result import RunResult
from isolane.conformance.scenarios.model import Scenario
from isolane.conformance.ticker import Ticker
from isolane.conformance.verdict import ExitCode, Outcome, combine
from isolane.fixtures.errors import FixtureError
from isolane.fixtures.implementations.descriptor import DescriptorError

SUITE = Path(__file__).parent / "suite"

_SHARED = "isolane"
"""The name under which processes of one run tell each other what they must know."""


@dataclass(frozen=True, slots=True)
class Declared:
    """A requirement, and a scenario that declares to judge it."""

    requirement: str
    scenario: Scenario


class LiveRun:
    """The run behind a session: services start at the first test, each scenario is lived once."""

    def __init__(self, asked: engine.Request, choice: services.ServiceChoice, stack: ExitStack, worker: str) -> None:
        """Prepare; `stack` ends what is started. `worker` names the process among several; empty: the only one."""
        self.request, self.worker = asked, worker
        self._choice, self._stack = choice, stack
        self._run: engine.Run | None = None
        self.others: list[dict[str, Any]] = []  # what workers have found, as they sent it

    def outcome(self, declared: Declared) -> Outcome:
        """What the scenario says of the requirement; lives the scenario unless a test has before."""
        run = self._run = self._run or self._begun()
        try:
            with sharing.turn(self.request.folder, declared.scenario):
                run.live(declared.scenario)
        except (ImplementationNotStartedError, DescriptorError) as error:
            pytest.exit(f"isolane: {error}", returncode=ExitCode.WRONG_USAGE)
        result = run.result()
        findings = [finding for finding in result.findings if finding.scenario == declared.scenario.name]
        names = (declared.scenario.name,)
        return combine(requirement(declared.requirement), findings, names, result.implementation.features)

    @property
    def result(self) -> RunResult | None:
        """What the run has found until now, its workers' part included; None before it began."""
        return sharing.merged(self.others) if self.others else self._run.result() if self._run else None

    def _begun(self) -> engine.Run:
        ticker = self._stack.enter_context(Ticker(self.request.descriptor.name))
        folder = self.request.folder / self.worker
        try:
            self.request = engine.built(self.request, ticker.say)
            running = self._stack.enter_context(services.started(self._choice, folder, ticker.say))
        except DescriptorError as error:
            pytest.exit(f"isolane: {error}", returncode=ExitCode.WRONG_USAGE)
        except FixtureError as error:
            pytest.exit(f"isolane: {error}", returncode=ExitCode.HARNESS_FAILED)
        return engine.Run(self.request, running, ticker.tell)


_LIVE = pytest.StashKey[LiveRun]()
_STACK = pytest.StashKey[ExitStack]()


def pytest_configure(config: pytest.Config) -> None:
    """Read the options, and point pytest at the conformance tests unless it was pointed elsewhere.

    Raises:
        pytest.UsageError: An option is wrong.
    """
    given: dict[str, Any] = getattr(config, "workerinput", {}).get(_SHARED, {})
    stack = config.stash[_STACK] = ExitStack()
    try:
        choice = services.ServiceChoice.parse(config.getoption("services"))
        asked = request(
            config.getoption("implementation"),
            depth_name=config.getoption("depth"),
            seed=given.get("seed", config.getoption("seed")),
            out=Path(given["folder"]) if given else config.getoption("evidence"),
            clusters=choice.elasticsearch,
            joining=bool(given) or config.option.collectonly,
        )
    except (DescriptorError, RequestError, services.ServiceChoiceError) as error:
        raise pytest.UsageError(str(error)) from error
    config.stash[_LIVE] = LiveRun(asked, choice, stack, given.get("worker", ""))
    if config.args_source is not pytest.Config.ArgsSource.ARGS:
        config.args = [str(SUITE)]
        config.option.markexpr = ""


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config) -> Any:  # noqa: ANN401 - see below
    """Let a scenario stay with one worker, and all that measure time with the same one."""
    from isolane.conformance.pytest_grouping import GroupScheduling  # noqa: PLC0415 - pytest-xdist may not be there

    groups = {_id_of(each): sharing.group_of(each.scenario) for each in _declared(config)}
    return GroupScheduling(config, groups)


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node: Any) -> None:  # noqa: ANN401 - a class of pytest-xdist's, which may not be there
    """Tell a worker which run it belongs to."""
    asked = node.config.stash[_LIVE].request
    name = node.gateway.id
    node.workerinput[_SHARED] = {"seed": asked.seed, "folder": str(asked.folder), "worker": f"services-{name}"}


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:  # noqa: ANN401 - see above
    """Take what a worker has found."""
    found = getattr(node, "workeroutput", {}).get(_SHARED)
    if found is not None:
        node.config.stash[_LIVE].others.append(found)


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Make a test for each requirement of each scenario, in the order in which scenarios are run."""
    if "declared" in metafunc.fixturenames:
        metafunc.parametrize(
            "declared",
            [
                pytest.param(each, id=_id_of(each), marks=pytest.mark.requirement(each.requirement))
                for each in _declared(metafunc.config)
            ],
        )


def _declared(config: pytest.Config) -> Iterator[Declared]:
    asked = config.stash[_LIVE].request
    for scenario in asked.scenarios:
        for name in scenario.judged(asked.descriptor):
            yield Declared(name, scenario)


def _id_of(declared: Declared) -> str:
    return f"{declared.scenario.name}-{declared.requirement}"


@pytest.fixture(scope="session")
def live_run(pytestconfig: pytest.Config) -> Iterator[LiveRun]:
    """The run against the implementation; its services end with the session."""
    live = pytestconfig.stash[_LIVE]
    with pytestconfig.stash[_STACK]:
        yield live


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session: pytest.Session, exitstatus: int) -> None:
    """Write the reports; the session ends with the run's exit code, unless pytest itself was stopped.

    Where a test failed and no verdict did, something else is wrong: that is not green.
    """
    live = session.config.stash[_LIVE]
    if live.result is None:
        if exitstatus == pytest.ExitCode.NO_TESTS_COLLECTED:
            session.exitstatus = ExitCode.WRONG_USAGE
        return
    if live.worker:
        output: dict[str, Any] = vars(session.config)["workeroutput"]
        output[_SHARED] = sharing.packed(live.result)
        return
    result = _excused(session.config, live.result)
    files.write(result, live.request.folder)
    failed_otherwise = exitstatus == pytest.ExitCode.TESTS_FAILED and live.result.exit_code is ExitCode.CONFORMS
    if exitstatus in {pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED} and not failed_otherwise:
        session.exitstatus = result.exit_code


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """Print the table by requirement, and where the evidence is."""
    live = config.stash[_LIVE]
    if live.result is not None:
        result = _excused(config, live.result)
        terminalreporter.section("isolane")
        wide = width(terminal=terminalreporter.isatty())
        console = Console(force_terminal=terminalreporter.hasmarkup, width=wide)
        with console.capture() as captured:
            table.show(result, console)
        terminalreporter.write(captured.get())
        for line in regressions.lines(result, None):
            terminalreporter.line(line)
        terminalreporter.line(f"Page: {live.request.folder / run_page.NAME}")
        terminalreporter.line(f"Evidence: {live.request.folder}")


def _excused(config: pytest.Config, result: RunResult) -> RunResult:
    return regressions.excused(result, allow_known=config.getoption("allow_known"))
