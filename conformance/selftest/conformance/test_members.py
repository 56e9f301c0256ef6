"""Members: processes that are started, frozen, configured anew and stopped, and what the history hears of it."""

from __future__ import annotations

import json
import os
import signal
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import psutil
import pytest

from isolane.conformance.errors import ImplementationNotStartedError
from isolane.conformance.history_files import EVENTS, HistoryWriter
from isolane.conformance.members import Members
from isolane.fixtures.implementations import descriptor
from isolane.fixtures.implementations.rendering import TenantView, WorldView

PROGRAM = """
import pathlib, signal, sys
config = pathlib.Path(sys.argv[1])
if "colour: -1" in config.read_text():
    sys.exit("colour: -1 is no colour")
if "colour: 0" in config.read_text():
    sys.exit(0)
signal.signal(signal.SIGHUP, lambda *_: print("told:", config.read_text().split("tenants: ")[1], flush=True))
print("ready", flush=True)
while True:
    signal.pause()
"""

DESCRIPTOR = """
schema = 1
implementation = {name = "own", version = "1"}
run = {start = ["{python}", "{descriptor}/own.py", "{config}"]}
limits = {workers = 1}
[config]
template = "own.j2"
path = "own.yaml"
tenant_change = "reload"
[[config.wrong]]
replace = "colour: 1"
by = "colour: -1"
names = "colour"
[[config.wrong]]
replace = "colour: 1"
by = "colour: 0"
names = "shade"
[[config.wrong]]
replace = "colour: 1"
by = "colour: 2"
names = "hue"
"""

VIEW = WorldView("x:1", "g", "^t$", tuple(TenantView(name, (name,), name, f"http://{name}") for name in ("a", "b")))


@pytest.fixture
def members(tmp_path: Path) -> Iterator[Members]:
    """Members of a small implementation."""
    (tmp_path / "own.py").write_text(PROGRAM)
    (tmp_path / "own.j2").write_text("colour: 1\ntenants: {% for t in world.tenants %}{{ t.endpoint }} {% endfor %}\n")
    (tmp_path / "own.toml").write_text(DESCRIPTOR)
    with HistoryWriter(tmp_path / EVENTS) as events:
        made = Members(descriptor.load(tmp_path / "own.toml"), VIEW, tmp_path, events)
        yield made
        made.kill_all()


def told(folder: Path) -> list[dict[str, Any]]:
    """The events of the history."""
    return [json.loads(line) for line in (folder / EVENTS).read_text().splitlines()]


def until_it_says(folder: Path, words: str, within: float = 20) -> None:
    """Wait for words of a member's output."""
    deadline = time.monotonic() + within
    while words not in (folder / "member-0.log").read_text():
        assert time.monotonic() < deadline, (folder / "member-0.log").read_text()
        time.sleep(0.01)


def until_it_is(members: Members, *, stopped: bool, within: float = 20) -> None:
    """Wait until the system has stopped the member, or lets it go on."""
    deadline = time.monotonic() + within
    while (psutil.Process(members.pids[0]).status() == psutil.STATUS_STOPPED) != stopped:
        assert time.monotonic() < deadline
        time.sleep(0.01)


def test_each_wrong_configuration_is_tried_and_how_it_ended_is_told(members: Members, tmp_path: Path) -> None:
    """One is refused, one ends as if all were well, one runs until it is killed; no member is started for that."""
    members.try_wrong(timeout=5)
    refused, ended, ran = told(tmp_path)
    assert (refused["kind"], refused["name"], refused["field"], refused["code"]) == ("wrong", "refused", "colour", 1)
    assert refused["words"] == "colour: -1 is no colour"
    assert (ended["name"], ended["field"], ended["code"]) == ("accepted", "shade", 0)
    assert (ran["name"], ran["field"], ran["code"]) == ("accepted", "hue", None)
    assert ran["seconds"] >= 5
    assert members.pids == {}
    assert psutil.Process().children(recursive=True) == []


def test_a_frozen_member_does_nothing_until_it_is_thawed(members: Members, tmp_path: Path) -> None:
    """Both are events of the history; it counts as running meanwhile."""
    members.start()
    until_it_says(tmp_path, "ready")
    members.freeze()
    until_it_is(members, stopped=True)
    members.thaw()
    until_it_is(members, stopped=False)
    assert [event["name"] for event in told(tmp_path)] == ["started", "frozen", "thawed"]


def test_when_a_member_was_told_to_stop_is_told(members: Members, tmp_path: Path) -> None:
    """It comes before its end, and is no event of the process."""
    members.start()
    members.stop()
    started, asked, stopped = told(tmp_path)
    assert (asked["kind"], asked["name"]) == ("signal", "terminated")
    assert started["at"] < asked["at"] < stopped["at"]


def test_a_member_that_has_ended_by_itself_is_told_as_that_whatever_is_done_to_it(
    members: Members, tmp_path: Path
) -> None:
    """It is the implementation's end, and not the suite's: the story goes on without it."""
    for deed in (members.stop, members.freeze, members.thaw, members.kill):
        members.start()
        (pid,) = members.pids.values()
        os.kill(pid, signal.SIGKILL)
        while members.pids:
            time.sleep(0.01)
        deed()
    assert [line["name"] for line in told(tmp_path)] == ["started", "exited"] * 4


def test_members_that_run_are_told_of_tenants_that_changed(members: Members, tmp_path: Path) -> None:
    """Their files are written first; the next change begins from all tenants again."""
    members.start()
    until_it_says(tmp_path, "ready")
    members.reconfigure(lambda tenant: replace(tenant, endpoint="http://c") if tenant.name == "a" else tenant)
    until_it_says(tmp_path, "told: http://c http://b")
    members.reconfigure(lambda tenant: tenant if tenant.name == "a" else None)
    until_it_says(tmp_path, "told: http://a")
    assert [event["name"] for event in told(tmp_path)] == ["started", "reloaded", "reloaded"]


def test_members_started_later_find_the_change_in_their_files(members: Members, tmp_path: Path) -> None:
    """Nobody is told while nobody runs."""
    members.reconfigure(lambda tenant: tenant if tenant.name == "b" else None)
    members.start()
    assert "tenants: http://b" in (tmp_path / "member-0" / "own.yaml").read_text()
    assert [event["name"] for event in told(tmp_path)] == ["started"]


@pytest.mark.parametrize(
    ("run", "field"),
    [('start = ["/no/such/command"]', "run.start"), ('start = ["{python}"], cwd = "/no/such/folder"', "run.cwd")],
)
def test_what_cannot_be_started_is_found_in_the_descriptor(run: str, field: str, tmp_path: Path) -> None:
    """The refusal names the file, the field, and what is wrong with it."""
    (tmp_path / "own.j2").write_text("")
    path = tmp_path / "own.toml"
    path.write_text(DESCRIPTOR.replace('start = ["{python}", "{descriptor}/own.py", "{config}"]', run))
    with HistoryWriter(tmp_path / EVENTS) as events:
        members = Members(descriptor.load(path), VIEW, tmp_path, events)
        with pytest.raises(ImplementationNotStartedError) as refused:
            members.start()
    assert str(refused.value).startswith(f"{path}: {field}: cannot start own member 0: ")
    assert "/no/such/" in str(refused.value)
