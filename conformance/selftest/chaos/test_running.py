"""Runs: what is asked for wrongly is refused before anything starts; a run that fails says how to live it again."""

from __future__ import annotations

import shlex
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from isolane.chaos import running
from isolane.chaos.performing import FILE
from isolane.chaos.stage import PLACES, Place
from isolane.chaos.timeline import Timeline, TimelineError, load
from isolane.conformance import cli
from isolane.conformance.commands.chaos import command
from isolane.conformance.engine import Request
from isolane.conformance.errors import ImplementationNotStartedError
from isolane.conformance.result import RunResult, ScenarioRun
from isolane.conformance.selftest.conformance.results import FAILED, result
from isolane.conformance.ticker import Ticker
from isolane.conformance.verdict import ExitCode
from isolane.fixtures.implementations import descriptor
from isolane.fixtures.processes import free_ports
from isolane.fixtures.services.errors import ServiceError

REFUSED = [
    (["--scenario", "networks"], "no timeline 'networks'; known are network, nodes"),
    (["--scenario", "network", "--minutes", "3"], "--minutes draws timelines, and --scenario names them"),
    (["--minutes", "0"], "0.0 is not in the range x>0"),
    (["--minutes", "nan"], "nan is not a number of minutes"),
    (["--minutes", "1", "--seed", "-1"], "-1 is not in the range 0<=x<=1000000000000000000"),
    (["--minutes", "1", "--seed", "9" * 30], "is not in the range 0<=x<=1000000000000000000"),
    (["--scenario", "drawn-x"], "operator, brokers, drawn-SEED; or give a path to a .toml file"),
    (["--scenario", "drawn-7", "--scenario", "drawn-07"], "two timelines are named 'drawn-7'"),
    (["--services", "containers", "--scenario", "brokers"], "brokers: 3: allowed with --services containers: 1"),
    (["--implementation", "referense"], "did you mean 'reference'?"),
]


@pytest.mark.parametrize(("arguments", "message"), REFUSED)
def test_wrong_usage(arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Each says which option is wrong and what is allowed; nothing is started."""
    assert cli.run(["chaos", *arguments]) == ExitCode.WRONG_USAGE
    assert message in " ".join(capsys.readouterr().err.split())


def test_names_of_timelines_tell_their_evidence_apart(tmp_path: Path) -> None:
    """No two of a run have one name, and none has that of the services' folder; the same one twice is one."""
    paths = []
    for folder, name in (("a", "own"), ("b", "own"), ("c", "services")):
        paths.append(str(tmp_path / f"{folder}.toml"))
        Path(paths[-1]).write_text(f'name = "{name}"\n[[tenant]]\nname = "a"\n')
    with pytest.raises(TimelineError, match=r"two timelines are named 'own' .*a\.toml and .*b\.toml"):
        running.chosen(paths[:2])
    with pytest.raises(TimelineError, match=r"c\.toml: name: 'services': allowed: any other"):
        running.chosen(paths[2:])
    assert [timeline.name for timeline in running.chosen(["network", paths[0], "network"])] == ["network", "own"]


def test_a_folder_that_is_not_empty(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Evidence of two runs does not mix."""
    (tmp_path / "old").touch()
    assert cli.run(["chaos", "--out", str(tmp_path)]) == ExitCode.WRONG_USAGE
    assert "is not empty" in capsys.readouterr().err


def test_the_fixed_set_in_containers() -> None:
    """There it is all that takes one broker: nothing else would end it before its table is shown."""
    native, contained = (running.chosen([], place) for place in PLACES)
    assert [timeline for timeline in native if timeline.brokers == 1] == contained != native


def test_containers_without_an_engine(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Where no container engine answers, that is told with the ways out; nothing was judged."""
    monkeypatch.setenv("DOCKER_HOST", f"tcp://127.0.0.1:{free_ports(1)[0]}")
    arguments = ["--services", "containers", "--scenario", "operator", "--out", str(tmp_path / "run")]
    assert cli.run(["chaos", *arguments]) == ExitCode.HARNESS_FAILED
    assert "needs a container engine" in capsys.readouterr().err


def test_drawn_timelines_have_names_that_draw_them_again() -> None:
    """So one that failed can be named on the command line."""
    (named,) = running.chosen(["drawn-3"])
    assert next(running.drawn_for(3, minutes=1)) == named
    with pytest.raises(TimelineError):
        running.chosen(["drawn-"])


def test_time_is_up_after_the_first() -> None:
    """However little time there is, one timeline is drawn, and no more than there is time for."""
    assert [timeline.name for timeline in running.drawn_for(3, minutes=1e-9)] == ["drawn-3"]


def lived_in(folder: Path, *names: str) -> RunResult:
    """What a run found in which the last of these timelines failed; each has left itself in the folder."""
    for name in names:
        (folder / name).mkdir(parents=True)
        (folder / name / FILE).touch()
    runs = tuple(ScenarioRun(name, name, ("DEL-1",), 1.0) for name in names)
    return replace(result(replace(FAILED, scenario=names[-1])), depth="chaos", scenarios=runs)


@pytest.mark.parametrize("place", PLACES)
def test_the_line_that_lives_it_again_is_taken(
    place: Place, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """As a shell reads it, the command is asked for the same: paths with spaces, the seed, the kind of services."""
    folder = tmp_path / "with a space"
    what = running.Asked(descriptor.find("reference"), "own folder/isolane.toml", 7, folder, place)
    running._show(what, lived_in(folder, "drawn-7", "drawn-8"))
    (line,) = [line for line in capsys.readouterr().out.splitlines() if line.startswith("replay: ")]
    program, name, *arguments = shlex.split(line.removeprefix("replay: "))
    assert (program, name) == ("isolane", "chaos")
    given = command.make_context(name, arguments).params
    assert (given["implementation"], given["seed"], given["place"]) == ("own folder/isolane.toml", 7, place)
    assert given["names"] == (str(folder / "drawn-8" / FILE),)


LATER = [
    (ServiceError("Kafka does not start"), ["one", "two"]),
    (ImplementationNotStartedError("it has ended at once"), ["one", "two", "three"]),
]


@pytest.mark.parametrize(("error", "lived"), LATER, ids=["service", "implementation"])
def test_what_was_seen_stays_whatever_fails_later(
    error: Exception,
    lived: list[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """A violation is no failure of a later timeline; without services nothing more is tried."""

    def live(_request: Request, timeline: Timeline, *_: object) -> RunResult:
        if timeline.name == "two":
            raise error
        run = ScenarioRun(timeline.name, timeline.name, ("ISO-1",), 1.0)
        return replace(result(replace(FAILED, scenario=timeline.name)), depth="chaos", scenarios=(run,))

    monkeypatch.setattr(running, "lived", live)
    what = running.Asked(descriptor.find("reference"), "reference", 7, tmp_path)
    timelines = [Timeline.model_validate({"name": name, "tenant": [{"name": "a"}]}) for name in ("one", "two", "three")]
    found = running.carry_out(what, timelines, [f"{timeline.name}.toml" for timeline in timelines])
    assert found.exit_code is ExitCode.VIOLATES
    assert [run.name for run in found.scenarios] == lived
    assert (found.scenarios[1].failure, found.scenarios[1].harness_failed) == (
        str(error),
        isinstance(error, ServiceError),
    )
    assert str(error) in capsys.readouterr().out
    with pytest.raises(type(error)):
        running.carry_out(replace(what, folder=tmp_path / "first"), timelines[1:])


@pytest.fixture
def shrinks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[Callable[[Timeline], bool]], str]:
    """Shrinks a timeline of four bursts that fails as told, on no services; what is told of it."""
    faults = [{"kind": "burst", "tenant": "a", "at": number} for number in range(4)]
    whole = Timeline.model_validate({"name": "own", "tenant": [{"name": "a"}], "fault": faults})
    known = descriptor.find("reference")
    what = running.Asked(known, "reference", 7, tmp_path)
    request = Request(known, "reference", running.DEPTH, 7, (), tmp_path)

    def shrink(fails: Callable[[Timeline], bool]) -> str:
        def lived(_request: Request, tried: Timeline, *_: object) -> RunResult:
            return result(FAILED) if fails(tried) else result()

        monkeypatch.setattr(running, "lived", lived)
        (tmp_path / "own").mkdir()
        with Ticker("reference") as ticker:
            return running._shrink(what, request, whole, frozenset({"ISO-1"}), ticker)

    return shrink


def test_what_shrinking_came_to_is_told(shrinks: Callable[[Callable[[Timeline], bool]], str], tmp_path: Path) -> None:
    """How much is left, after how many runs; the rest is a file that is read."""
    told = shrinks(lambda tried: 2 in {fault.at for fault in tried.faults})
    assert told == "shrunk: own: 1 of 4 is left after 6 runs"
    assert [fault.at for fault in load(tmp_path / "own" / running.SHRUNK).faults] == [2]


def test_what_never_fails_again_is_told(shrinks: Callable[[Callable[[Timeline], bool]], str], tmp_path: Path) -> None:
    """Then nothing was left out, for whatever reason; there is no smaller file to live through."""
    assert shrinks(lambda _: False) == "shrunk: own: 4 of 4 are left after 12 runs: nothing less failed again"
    assert not (tmp_path / "own" / running.SHRUNK).exists()


def test_services_that_fail_while_it_shrinks(
    shrinks: Callable[[Callable[[Timeline], bool]], str], tmp_path: Path
) -> None:
    """What was found until then is kept and told, and the verdict stands."""

    def fails(tried: Timeline) -> bool:
        if len(tried.faults) == 1:
            raise ServiceError("Kafka does not start")
        return True

    assert shrinks(fails) == "shrunk: own: 2 of 4 are left after 3 runs: broken off: Kafka does not start"
    assert len(load(tmp_path / "own" / running.SHRUNK).faults) == 2


def test_drawn_timelines_are_asked_for_again_by_name(tmp_path: Path) -> None:
    """The report's line lives through what was drawn, not through the fixed set; with an id, through what failed."""
    drawn = running.merged([lived_in(tmp_path, "drawn-7", "drawn-8")], 1.0)
    assert drawn.reproduce().endswith(" --scenario drawn-7 --scenario drawn-8")
    assert drawn.reproduce("ISO-1").endswith(" --seed 7 --scenario drawn-8")


def test_a_timeline_of_a_file_is_asked_for_again_by_its_path() -> None:
    """Its name alone would not be found."""
    failed = replace(result(replace(FAILED, requirement="DEL-1", scenario="mine")), depth="chaos")
    lived = replace(failed, names=("network", "my own.toml"))
    assert lived.reproduce("DEL-1").endswith(" --seed 7 --scenario 'my own.toml'")


def test_what_was_seen_to_fail_is_lived_again() -> None:
    """The line that a red verdict ends with names the timelines in which it was seen."""
    lived = replace(result(replace(FAILED, requirement="DEL-1", scenario="network")), depth="chaos")
    assert lived.reproduce("DEL-1").endswith("--scenario network")
    assert lived.reproduce("DEL-1").startswith("isolane chaos --implementation ")
    assert "--scenario" not in lived.reproduce()
