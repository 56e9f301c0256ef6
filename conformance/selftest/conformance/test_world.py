"""A small world with the reference in it: whatever is done and seen goes to a history that can be judged."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from isolane.conformance import services
from isolane.conformance.checkers import judge
from isolane.conformance.depth import depth
from isolane.conformance.history import History
from isolane.conformance.opening import Plan, Services, opened
from isolane.conformance.shape import Shape, TenantShape
from isolane.conformance.verdict import Verdict
from isolane.fixtures.cluster import Script
from isolane.fixtures.implementations import descriptor

pytestmark = pytest.mark.services

SHAPE = Shape((TenantShape("a", "sick", 2, rate=40), TenantShape("b", "healthy", 2, rate=40)))
PLAN = Plan("small", ("DEL-1", "OFF-1", "TEN-2"), SHAPE, depth("smoke"), seed=1)
REFERENCE = descriptor.find("reference")


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Services]:
    """Kafka and the scripted clusters."""
    with services.started(services.ServiceChoice(), tmp_path_factory.mktemp("services"), print) as started:
        yield started


@pytest.mark.parametrize("keep", [False, True])
def test_of_a_broker_its_log_is_left(*, keep: bool, tmp_path: Path) -> None:
    """And not its data, which are large and which nobody reads, unless they are to be kept."""
    with services.started(services.ServiceChoice(), tmp_path, print, keep=keep):
        assert (tmp_path / "kafka" / "data").exists()
    assert (tmp_path / "kafka" / "kafka.log").exists()
    assert (tmp_path / "kafka" / "data").exists() == keep


def test_a_member_killed_and_started_again_loses_nothing(running: Services, tmp_path: Path) -> None:
    """Load, a fault, kill -9 and a drain leave a history in which every checker passes; nothing is left behind."""
    folder = tmp_path / "small"
    phases: list[str] = []
    with opened(PLAN, REFERENCE, running, folder, phases.append) as world:
        world.members.start()
        world.await_ready(timeout=world.patience)
        world.load_within(1000)
        with world.fault("a", "mixed", Script(items=(201, 429))):
            world.run_for(1)
            world.members.kill()
            world.members.start()
            world.run_for(1)
        assert world.drain(timeout=world.patience)
    history = History.load(folder)
    assert phases == ["ready", "fault:mixed", "drain", "end"]
    assert [event.name for event in history.events if event.kind == "process"] == [
        "started",
        "killed",
        "started",
        "stopped",
    ]
    verdicts = {finding.requirement: finding.verdict for finding in judge(history)}
    assert {name: verdicts[name] for name in PLAN.judges} == dict.fromkeys(PLAN.judges, Verdict.PASS)
    assert history.samples
    assert _members_that_run(folder) == []


def test_an_exception_in_a_story_leaves_no_process(running: Services, tmp_path: Path) -> None:
    """A scenario that is broken off, as by Ctrl-C, ends its member at once; its history stays."""
    folder = tmp_path / "broken"

    def broken_off() -> None:
        with opened(PLAN, REFERENCE, running, folder, print) as world:
            world.members.start()
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        broken_off()
    assert _members_that_run(folder) == []
    assert History.load(folder).meta.scenario == "small"


def test_a_member_that_ends_by_itself_is_told(running: Services, tmp_path: Path) -> None:
    """An implementation that crashes in mid-run is an event of the history, with its exit code."""
    folder = tmp_path / "crashed"
    with opened(PLAN, REFERENCE, running, folder, print) as world:
        world.members.start()
        world.await_ready(timeout=world.patience)
        psutil.Process(world.members.pids[0]).kill()
        world.load_within(1000)
        world.run_for(0.5)
        assert not world.drain(timeout=0.5)
        world.members.kill()
    exits = [event for event in History.load(folder).events if event.name == "exited"]
    assert [event.detail["code"] for event in exits] == [-9]


def _members_that_run(folder: Path) -> list[int]:
    return [
        process.pid
        for process in psutil.Process().children(recursive=True)
        if any(str(folder) in argument for argument in process.cmdline())
    ]
