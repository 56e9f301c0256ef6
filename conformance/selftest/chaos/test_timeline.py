"""Timelines as values: read from TOML with errors that say what is allowed, and printed to be read again."""

from __future__ import annotations

from pathlib import Path

import pytest

from isolane.chaos import happenings
from isolane.chaos.acting import WAYS
from isolane.chaos.performing import shape
from isolane.chaos.timeline import Timeline, TimelineError, find, load, packaged
from isolane.fixtures.implementations import descriptor

SOUND = """
name = "own"
brokers = 3
[[tenant]]
name = "a"
[[tenant]]
name = "b"
late = true
[[fault]]
kind = "latency"
target = "kafka:2"
at = 1
seconds = 2
[[fault]]
kind = "scale"
members = 2
at = 4
"""

WRONG = {
    "brokers = 3": [("brokers = 2", "brokers: 2: allowed: 1 and 3")],
    'name = "own"': [
        ('nam = "own"', "name: missing"),
        ('name = "own"\nmember = 2', "member: unknown key (allowed: name, title, judges, members, brokers, timing, "),
        ('name = "own"\njudges = ["DEL-99"]', "judges: ['DEL-99']: no requirement 'DEL-99'; `isolane explain` lists"),
        ('name = "own"\njudges = []', "judges: []: List should have at least 1 item"),
        ('name = "own"\njudges = "DEL-1"', "judges: 'DEL-1': Input should be a list"),
        (f'name = "{"o" * 101}"', f"name: '{'o' * 101}': String should have at most 100 characters"),
        ('name = "own"\nmembers = true', "members: True: Input should be a valid integer"),
        (
            'name = "own"\ntiming = { requests = 5 }',
            "timing: {'requests': 5}: unknown key 'requests' (allowed: metadata_",
        ),
        ('name = "own"\ntiming = { slow_after = nan }', "timing.slow_after: nan: Input should be less than"),
        ('name = "own"\ntiming = { slow_after = -1 }', "timing.slow_after: -1: Input should be greater than 0"),
    ],
    'name = "b"': [
        ('name = "a"', "tenant: 'a': there are two of that name"),
        (f'name = "{"b" * 31}"', f"tenant.1.name: '{'b' * 31}': String should have at most 30 characters"),
        ('name = "b"\nrate = -1', "tenant.1.rate: -1: Input should be greater than or equal to 0"),
        ('name = "b"\nlate = "no"\n[other]', "tenant.1.late: 'no': Input should be a valid boolean"),
        (
            'name = "b"\nnode = { "http.port" = "9200" }',
            "tenant.1.node: {'http.port': '9200'}: Elasticsearch's setting http.port cannot be given",
        ),
        ('name = "b"\nnode = { "a b" = "1" }', "tenant.1.node.a b.[key]: 'a b': String should match pattern"),
        ('name = "b"\ncodecs = []', "tenant.1.codecs: []: List should have at least 1 item"),
    ],
    'kind = "latency"': [
        ('kind = "latenzy"', "fault.0.kind: 'latenzy': allowed: latency, bandwidth, slicer, "),
        ("", "fault.0.kind: missing (allowed: latency, bandwidth, slicer, "),
        (
            'kind = "latency"\njiter = 3',
            "fault.0.latency.jiter: unknown key (allowed: at, seconds, target, kind, milliseconds, jitter)",
        ),
        ('kind = "swallow"', "fault.0.target: 'kafka:2': allowed: a, b"),
    ],
    'target = "kafka:2"': [
        ('target = "c"', "fault.0.target: 'c': allowed: a, b, kafka, kafka:1, kafka:2, kafka:3, kafka:leader"),
        ("", "fault.0.latency.target: missing"),
    ],
    "seconds = 2": [
        ("seconds = 0", "fault.0.latency.seconds: 0: Input should be greater than 0"),
        ('seconds = "2"', "fault.0.latency.seconds: '2': Input should be a valid number"),
    ],
    'kind = "scale"\nmembers = 2': [
        ('kind = "new_topic"\ntenant = "a"', "fault.1.tenant: 'a': allowed: b"),
        ('kind = "partitions"\ntenant = "a"\npartitions = 2', "fault.1.partitions: 2: allowed: more than 2"),
        ('kind = "broker_kill"\nseconds = 1\nbroker = 4', "fault.1.broker_kill.broker: 4: Input should be less than"),
        ('kind = "scale"\nmembers = 17', "fault.1.scale.members: 17: Input should be less than or equal to 16"),
    ],
}


def written(tmp_path: Path, text: str) -> Path:
    """A file with that text."""
    path = tmp_path / "own.toml"
    path.write_text(text)
    return path


@pytest.mark.parametrize(
    ("right", "wrong", "message"), [(right, *each) for right, several in WRONG.items() for each in several]
)
def test_a_mistake_is_told_with_what_is_allowed(right: str, wrong: str, message: str, tmp_path: Path) -> None:
    """Each names the file, the field, the value and what may stand there."""
    assert right in SOUND
    path = written(tmp_path, SOUND.replace(right, wrong, 1))
    with pytest.raises(TimelineError) as caught:
        load(path)
    assert f"{path}: {message}" in str(caught.value)


NONE = [
    (b"name = ", "not TOML: Invalid value"),
    (b'name = "\xe4"', "not TOML: 'utf-8' codec can't decode byte 0xe4"),
    (b"at = " + b"9" * 5000, "not TOML: Exceeds the limit"),
    (b"at = " + b"[" * 5000, "not TOML: too deep"),
    (None, "cannot be read: No such file"),
]


@pytest.mark.parametrize(("content", "message"), NONE, ids=[message for _, message in NONE])
def test_a_file_that_is_none(content: bytes | None, message: str, tmp_path: Path) -> None:
    """What is not TOML, and what is not there, is told in one line."""
    path = tmp_path / "none.toml"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(TimelineError) as caught:
        find(str(path))
    assert str(caught.value).startswith(f"{path}: {message}")
    assert len(str(caught.value).splitlines()) == 1


def test_a_folder_is_no_file(tmp_path: Path) -> None:
    """That is told in one line, too."""
    folder = tmp_path / "folder.toml"
    folder.mkdir()
    with pytest.raises(TimelineError, match="cannot be read: Is a directory"):
        find(str(folder))


def test_a_mistake_is_told_once_and_briefly(tmp_path: Path) -> None:
    """Not again of the list in which it stands; of a long value there is the beginning."""
    text = 'name = "own"\ntenant = ["' + "a" * 5000 + '"]'
    with pytest.raises(TimelineError) as caught:
        load(written(tmp_path, text))
    (line,) = str(caught.value).splitlines()
    assert "tenant.0: 'aaaa" in line
    assert line.endswith("a…: Input should be a table")
    assert len(line) < 500


def test_an_unknown_name_is_told_with_those_that_there_are() -> None:
    """The fixed set is named."""
    with pytest.raises(TimelineError, match="no timeline 'networks'; known are network, nodes, refusals"):
        find("networks")


@pytest.mark.parametrize("name", packaged())
def test_what_is_printed_is_read_again(name: str, tmp_path: Path) -> None:
    """A timeline of the fixed set is called as its file, and its TOML is the same timeline."""
    timeline = find(name)
    assert timeline.name == name
    assert load(written(tmp_path, timeline.toml())) == timeline


def test_every_kind_can_be_done_and_is_in_the_fixed_set() -> None:
    """No kind is without a way, a docstring and a place in a timeline; ways are for kinds that there are."""
    assert set(WAYS) == set(happenings.KINDS)
    assert all(kind.__doc__ for kind in happenings.KINDS)
    lived = {type(fault) for name in packaged() for fault in find(name).faults}
    assert set(happenings.KINDS) - lived == set()


@pytest.mark.parametrize("name", packaged())
def test_each_timeline_is_caught_out_by_somebody(name: str) -> None:
    """An implementation that is known to be wrong fails something that the timeline declares to judge."""
    timeline = find(name)
    assert timeline.caught
    for each in timeline.caught:
        assert descriptor.find(each.implementation).limits.workers > 0
        assert set(each.fails) & set(timeline.judges)


def test_the_sick_are_those_to_whom_something_happens() -> None:
    """A tenant whose cluster, or the way to it, is wrong is sick; one that only gets topics is not."""
    timeline = Timeline.model_validate(
        {
            "name": "own",
            "tenant": [{"name": name} for name in ("way", "node", "grown")],
            "fault": [
                {"kind": "refuse", "target": "way", "at": 0, "seconds": 1},
                {"kind": "node_kill", "tenant": "node", "at": 0, "seconds": 1},
                {"kind": "partitions", "tenant": "grown", "at": 0, "partitions": 3},
                {"kind": "refuse", "target": "kafka", "at": 0, "seconds": 1},
            ],
        }
    )
    assert {tenant.name: tenant.role for tenant in shape(timeline).tenants} == {
        "way": "sick",
        "node": "sick",
        "grown": "healthy",
    }
