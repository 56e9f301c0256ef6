"""What `pytest --implementation` adds: the conformance tests, the run behind them, its report and exit code."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import pytest
from rich.console import Console

from isolane.conformance import engine, services
from isolane.conformance.errors import ImplementationNotStartedError
from isolane.conformance.report import files, table
from isolane.conformance.requests import RequestError, request
from isolane.conformance.requirements import requirement
from isolane.conformance.result import RunResult
from isolane.conformance.scenarios.model import Scenario
from isolane.conformance.ticker import Ticker
from isolane.conformance.verdict import ExitCode, Outcome, combine
from isolane.fixtures.errors import FixtureError
from isolane.fixtures.implementations.descriptor import DescriptorError

SUITE = Path(__file__).parent / "suite"


@dataclass(frozen=True, slots=True)
class Declared:
    """A requirement, and a scenario that declares to judge it."""

    requirement: str
    scenario: Scenario


class LiveRun:
    """The run behind a session: services start at the first test, each scenario is lived once."""

    def __init__(self, asked: engine.Request, choice: services.ServiceChoice, stack: ExitStack) -> None:
        """Prepare; `stack` ends what is started."""
        self.request, self._choice, self._stack = asked, choice, stack
        self._run: engine.Run | None = None

    def outcome(self, declared: Declared) -> Outcome:
        """What the scenario says of the requirement; lives the scenario unless a test has before."""
        run = self._run = self._run or self._begun()
        try:
            run.live(declared.scenario)
        except (ImplementationNotStartedError, DescriptorError) as error:
            pytest.exit(f"isolane: {error}", returncode=ExitCode.WRONG_USAGE)
        result = run.result()
        findings = [finding for finding in result.findings if finding.scenario == declared.scenario.name]
        names = (declared.scenario.name,)
        return combine(requirement(declared.requirement), findings, names, result.implementation.features)

    @property
    def result(self) -> RunResult | None:
        """What the run has found until now; None before it began."""
        return self._run.result() if self._run else None

    def _begun(self) -> engine.Run:
        ticker = self._stack.enter_context(Ticker(self.request.descriptor.name))
        try:
            self.request = engine.built(self.request, ticker.say)
            running = self._stack.enter_context(services.started(self._choice, self.request.folder, ticker.say))
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
    if config.getoption("numprocesses", None):
        raise pytest.UsageError("--implementation measures time: run it without --numprocesses")
    stack = config.stash[_STACK] = ExitStack()
    try:
        choice = services.ServiceChoice.parse(config.getoption("services"))
        asked = request(
            config.getoption("implementation"),
            depth_name=config.getoption("depth"),
            seed=config.getoption("seed"),
            out=config.getoption("evidence"),
            clusters=choice.elasticsearch,
        )
    except (DescriptorError, RequestError, services.ServiceChoiceError) as error:
        raise pytest.UsageError(str(error)) from error
    config.stash[_LIVE] = LiveRun(asked, choice, stack)
    if config.args_source is not pytest.Config.ArgsSource.ARGS:
        config.args = [str(SUITE)]
        config.option.markexpr = ""


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Make a test for each requirement of each scenario, in the order in which scenarios are run."""
    if "declared" in metafunc.fixturenames:
        asked = metafunc.config.stash[_LIVE].request
        metafunc.parametrize(
            "declared",
            [
                pytest.param(
                    Declared(name, scenario), id=f"{scenario.name}-{name}", marks=pytest.mark.requirement(name)
                )
                for scenario in asked.scenarios
                for name in scenario.judged(asked.descriptor)
            ],
        )


@pytest.fixture(scope="session")
def live_run(pytestconfig: pytest.Config) -> Iterator[LiveRun]:
    """The run against the implementation; its services end with the session."""
    live = pytestconfig.stash[_LIVE]
    with pytestconfig.stash[_STACK]:
        yield live


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session: pytest.Session, exitstatus: int) -> None:
    """Write the reports; the session ends with the run's exit code, unless pytest itself was stopped."""
    result = session.config.stash[_LIVE].result
    if result is None:
        if exitstatus == pytest.ExitCode.NO_TESTS_COLLECTED:
            session.exitstatus = ExitCode.WRONG_USAGE
        return
    files.write(result, session.config.stash[_LIVE].request.folder)
    if exitstatus in {pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED}:
        session.exitstatus = result.exit_code


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """Print the table by requirement, and where the evidence is."""
    live = config.stash[_LIVE]
    if live.result is not None:
        terminalreporter.section("isolane")
        console = Console(force_terminal=terminalreporter.hasmarkup)
        with console.capture() as captured:
            table.show(live.result, console)
        terminalreporter.write(captured.get())
        terminalreporter.line(f"Evidence: {live.request.folder}")
