"""`isolane why` and `isolane trace`: from a red verdict to the cause, from what a run left behind alone."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from isolane.conformance.checkers import judge
from isolane.conformance.commands import trace, why
from isolane.conformance.report import yaml_report
from isolane.conformance.report.telling import MOST_NAMED
from isolane.conformance.result import ScenarioRun
from isolane.conformance.selftest.conformance.builders import Story, isolated
from isolane.conformance.selftest.conformance.results import result

TOPIC = "managed_otlp.logs.h0"


def told(folder: Path, *ids: str) -> Result:
    """Run `isolane why`."""
    return CliRunner().invoke(why.command, [str(folder), *ids])


def traced(folder: Path, *record: str) -> Result:
    """Run `isolane trace`."""
    return CliRunner().invoke(trace.command, [str(folder), *record])


def dropping() -> Story:
    """Five records of h0, all committed past, none of them sent; the implementation says that its queue was full."""
    made = isolated()
    lost = [made.produce("h0", 119, phase="fault:slow").sequence for _ in range(5)]
    made.output = [f"2026-01-01T00:00:{number % 60} error sending queue is full" for number in lost]
    made.output.append(f"skipping {TOPIC} 0 {lost[-1]}")
    made.commit(126, {"1/0": lost[-1] + 1})
    made.group(118, {"m0": ["1/0"]})
    return made


def run(folder: Path, made: Story, scope: tuple[str, ...] = ()) -> Path:
    """The folder of a run with one scenario, as `isolane verify` leaves it."""
    history = made.load(folder / "handmade")
    scenario = ScenarioRun("handmade", "handmade", ("ISO-1", "DEL-1", "OFF-1", "TEN-2"))
    found = replace(result(), scenarios=(scenario,), findings=tuple(judge(history)), scope=scope)
    yaml_report.write(found, folder / "report.yaml")
    return folder


def test_a_loss_is_told_down_to_its_cause(tmp_path: Path) -> None:
    """The record's life, what all lost ones share, the implementation's own words, and what to type next."""
    outcome = told(run(tmp_path, dropping()))
    assert outcome.exit_code == 0
    for said in (
        "DEL-1 fail  MUST, profile delivery",
        "In handmade: records lost, committed past and never finished: 5; first managed_otlp.logs.h0/0@400",
        "its partition is with m0",
        "lost: never finished, seen committed past after 6.998 s; no request ever carried it",
        "All 5 records of handmade that were never finished, by what they have in common",
        "     5 of tenant h0, produced in fault:slow: never sent to a cluster, committed past",
        "in all, by phase: fault:slow 5",
        "     5 times: 2026-01-01T00:00:40 error sending queue is full",
        f"isolane trace {tmp_path} isotok",
        "isolane explain DEL-1",
        "isolane verify reference --depth smoke --seed 7 --only DEL-1",
    ):
        assert said in outcome.output
    assert "TEN-2" not in outcome.output, "what is green is not told"


def test_the_phases_that_are_named_are_explained(tmp_path: Path) -> None:
    """Those of the stories, the counts and the cases, once; no other."""
    folder = run(tmp_path, dropping())
    token = str(dropping().produced[-1]["token"])
    for said in (told(folder).output, traced(folder, token).output):
        assert re.findall(r"^    (\S+) +the trouble of this name lasts", said, re.MULTILINE) == ["fault:…"]
        assert "what later phases are compared with" not in said
    green = told(run(tmp_path / "green", isolated()), "DEL-1").output
    assert "phases" not in green


def test_a_record_that_shows_several_violations_is_told_once(tmp_path: Path) -> None:
    """After that it is referred to, by its token and place, and by the requirement under which it was told."""
    folder = run(tmp_path, dropping())
    everything = told(folder).output
    assert [line.split()[0] for line in everything.splitlines() if " fail " in line][:2] == ["DEL-1", "OFF-1"]
    assert everything.count("its partition is with m0") == 1
    told_before = "its life is told under DEL-1 above"
    assert re.search(rf"isotok[0-9a-f]{{24}} = {TOPIC}/0@400, 1 item, tenant h0: {told_before}", everything)
    alone = told(folder, "OFF-1").output
    assert "its partition is with m0" in alone
    assert told_before not in alone


def test_a_requirement_that_passed_is_told_when_it_is_asked_for(tmp_path: Path) -> None:
    """With what was seen; its id in whatever case."""
    outcome = told(run(tmp_path, dropping()), "ten-2")
    assert "TEN-2 pass" in outcome.output
    assert "DEL-1" not in outcome.output


def test_one_that_was_not_judged_says_so(tmp_path: Path) -> None:
    """Nothing is made up for it, and no command told that would be refused."""
    said = told(run(tmp_path, isolated()), "ISO-10").output
    assert "no scenario of this depth judges it" in said
    assert "isolane explain ISO-10" in said
    assert "isolane verify" not in said


def test_a_green_run_says_that_nothing_is_red(tmp_path: Path) -> None:
    """And names what could not be judged."""
    assert told(run(tmp_path, isolated())).output.startswith("Nothing is red.")


def test_a_scenario_tells_by_itself(tmp_path: Path) -> None:
    """Its folder has all that it takes; it is judged anew."""
    assert "records lost" in told(dropping().write(tmp_path)).output


@pytest.mark.parametrize(
    ("identifier", "message"),
    [("DEL-99", "no requirement 'DEL-99'"), ("DEL-1", "DEL-1 is outside of what this run was asked for: TEN-2")],
)
def test_what_cannot_be_told_is_wrong_usage(identifier: str, message: str, tmp_path: Path) -> None:
    """An id that there is not, or that the run had nothing to do with."""
    outcome = told(run(tmp_path, isolated(), scope=("TEN-2",)), identifier)
    assert outcome.exit_code == 2
    assert message in outcome.output


@pytest.mark.parametrize("name", ["token", "place", "item"])
def test_a_record_is_traced_by_any_of_its_names(name: str, tmp_path: Path) -> None:
    """By its token, that of another of its items, and its place; with its neighbours and the lines that name it."""
    made = dropping()
    token = str(made.produced[-1]["token"])
    names = {"token": token, "place": f"{TOPIC}/0@404", "item": f"{token[:-4]}0003"}
    outcome = traced(run(tmp_path, made), names[name])
    assert outcome.exit_code == 0, outcome.output
    lines = outcome.output.splitlines()
    assert lines[0] == f"{token} = {TOPIC}/0@404, 1 item, tenant h0"
    assert lines[1].startswith("lost: never finished, seen committed past")
    assert f"    skipping {TOPIC} 0 404" in lines
    marked = [line.split()[:2] for line in lines if "@40" in line and "lost" in line]
    assert marked == [["@401", "lost:"], ["@402", "lost:"], ["@403", "lost:"], ["→", "@404"]]


def test_without_a_record_the_unfinished_ones_are_named(tmp_path: Path) -> None:
    """The first of each scenario with their names and fates, how many more there are, and what to type."""
    made = dropping()
    for _ in range(MOST_NAMED):
        made.produce("h0", 120)
    outcome = traced(run(tmp_path, made))
    assert outcome.exit_code == 0, outcome.output
    lines = [line.strip() for line in outcome.output.splitlines()]
    token = str(made.produced[-MOST_NAMED - 5]["token"])
    assert f"{MOST_NAMED + 5} records of handmade were never finished" in lines
    expected = f"{token} = {TOPIC}/0@400, 1 item, tenant h0: lost: never finished, seen committed past after"
    assert len([line for line in lines if "never finished, " in line]) == MOST_NAMED
    assert [line for line in lines if line.startswith(expected)]
    assert "and 5 more" in lines
    assert f"isolane trace {tmp_path} {token}" in lines


def test_without_a_record_a_run_that_left_none_says_what_to_type(tmp_path: Path) -> None:
    """Any record can be traced; the first one of the run is the example."""
    made = isolated()
    outcome = traced(run(tmp_path, made))
    assert outcome.exit_code == 0, outcome.output
    assert outcome.output.startswith("Every record of handmade was finished.")
    first = made.load(tmp_path / "again").produced[0]
    assert f"isolane trace {tmp_path} {first.token}" in outcome.output


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("isotok" + "0" * 24, "nothing with this token was acknowledged by Kafka"),
        (f"{TOPIC}/0@9999", f"nothing of {TOPIC} was acknowledged by Kafka with this partition and offset"),
        ("h0/0@1", f"with one of the topics managed_otlp.logs.sick, {TOPIC}"),
    ],
)
def test_a_record_that_is_not_there_is_wrong_usage(name: str, message: str, tmp_path: Path) -> None:
    """The message says what is allowed."""
    outcome = traced(run(tmp_path, isolated()), name)
    assert outcome.exit_code == 2
    assert message in outcome.output


def test_a_folder_that_is_none_is_wrong_usage(tmp_path: Path) -> None:
    """So is one in which there is no run."""
    assert "is no folder" in told(tmp_path / "gone").output
    assert "report.yaml cannot be read" in told(tmp_path).output
