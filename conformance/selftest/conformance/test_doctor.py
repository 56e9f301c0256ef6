"""`isolane doctor` and `isolane init`: from nothing to a first record, step by step."""

from __future__ import annotations

import textwrap
from pathlib import Path

import pytest

from isolane.conformance import cli
from isolane.conformance.verdict import ExitCode
from isolane.conformance.world.ground import Ground
from isolane.fixtures.implementations import descriptor

SILENT = "import signal; signal.pause()"
MUTE_OF_TOKENS = textwrap.dedent(
    """
    import json, sys, urllib.request
    from kafka import KafkaConsumer
    configuration = json.load(open(sys.argv[1]))
    consumer = KafkaConsumer(
        bootstrap_servers=configuration["brokers"], group_id=configuration["group"], auto_offset_reset="earliest"
    )
    consumer.subscribe(pattern=configuration["topics"])
    for record in consumer:
        body = b'{"create": {"_index": "logs"}}\\n{"message": "something else"}\\n'
        headers = {"Content-Type": "application/x-ndjson"}
        urllib.request.urlopen(urllib.request.Request(configuration["endpoint"] + "/_bulk", body, headers)).read()
    """,
)
TEMPLATE = (
    '{"brokers": "{{ world.brokers }}", "group": "{{ world.group_id }}", '
    '"topics": {{ world.topic_pattern | tojson }}, "endpoint": "{{ world.tenants[0].endpoint }}"}'
)


def own(folder: Path, program: str) -> str:
    """The path of a descriptor that runs a Python program with its configuration."""
    (folder / "own.j2").write_text(TEMPLATE)
    (folder / "own.py").write_text(program)
    (folder / "own.toml").write_text(
        'schema = 1\nimplementation = {name = "own", version = "1"}\n'
        'run = {start = ["{python}", "{descriptor}/own.py", "{config}"]}\n'
        'config = {template = "own.j2", path = "own.json"}\nlimits = {workers = 2}\n'
        "timing = {metadata_max_age = 1, session_timeout = 1}\n",
    )
    return str(folder / "own.toml")


@pytest.mark.services
def test_the_reference_is_well(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Each step is ticked with what was seen, to the exit code after SIGTERM."""
    assert cli.run(["doctor", "reference", "--out", str(tmp_path / "run")]) == ExitCode.CONFORMS
    said = capsys.readouterr().out
    assert "✗" not in said
    assert said.count("✓") == 6
    assert "exit code 0" in said


@pytest.mark.services
def test_one_that_sends_nothing_is_diagnosed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first step that does not go well says what was seen instead: no request, however long it is waited."""
    monkeypatch.setattr(Ground, "patience", 2.0)
    assert cli.run(["doctor", own(tmp_path, SILENT), "--out", str(tmp_path / "run")]) == ExitCode.INCONCLUSIVE
    assert "no request came to the tenant's cluster: does it subscribe to the pattern" in capsys.readouterr().out


@pytest.mark.services
def test_one_that_sends_something_else_is_diagnosed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Requests came that no token of the record was in."""
    assert cli.run(["doctor", own(tmp_path, MUTE_OF_TOKENS), "--out", str(tmp_path / "run")]) == ExitCode.INCONCLUSIVE
    diagnosis = "requests came, without the record's token: documents must keep the record's text"
    assert diagnosis in capsys.readouterr().out


@pytest.mark.services
def test_a_command_that_does_not_stay_is_diagnosed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """One that ends could be run, and did not go on; one that is not there could not. `verify` says the same: 4."""
    path = own(tmp_path, "raise SystemExit('no such colour')")
    assert cli.run(["doctor", path, "--out", str(tmp_path / "ends")]) == ExitCode.WRONG_USAGE
    said = capsys.readouterr().out
    assert "✓ its command can be run" in said
    assert "✗ it goes on running" in said
    assert "no such colour" in said
    Path(path).write_text(Path(path).read_text().replace("{python}", "/no/such/command"))
    assert cli.run(["doctor", path, "--out", str(tmp_path / "none")]) == ExitCode.WRONG_USAGE
    said = capsys.readouterr().out
    assert "✗ its command can be run" in said
    assert f"{path}: run.start: " in said


def test_a_starter_is_a_valid_descriptor(tmp_path: Path) -> None:
    """What `init` writes loads as it is, under the name that was asked for."""
    assert cli.run(["init", "my-own", "--dir", str(tmp_path)]) == ExitCode.CONFORMS
    assert descriptor.load(tmp_path / "my-own.toml").name == "my-own"


def test_nothing_is_overwritten(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A file that is there stays as it is."""
    (tmp_path / "mine.toml").write_text("precious")
    assert cli.run(["init", "--dir", str(tmp_path)]) == ExitCode.WRONG_USAGE
    assert "is there already" in capsys.readouterr().err
    assert (tmp_path / "mine.toml").read_text() == "precious"
    assert not (tmp_path / "mine.conf.j2").exists()


@pytest.mark.parametrize("name", ["My Own", "..mine", "-mine", "é", "a/b", ""])
def test_a_name_that_no_descriptor_can_have_is_refused(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The name is checked before anything is written, as descriptors check it."""
    assert cli.run(["init", "--dir", str(tmp_path), "--", name]) == ExitCode.WRONG_USAGE
    assert f"{name!r}: allowed: lower-case letters" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []
