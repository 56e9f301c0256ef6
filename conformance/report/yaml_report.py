"""``report.yaml``: the whole result for machines and archives, readable again; `contents` says what it holds.

Its last key, ``complete: true``, is its footer: a report that was cut short lacks it, and is refused.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import asdict, is_dataclass
from pathlib import Path
from typing import Any

import yaml
from pydantic import TypeAdapter, ValidationError

from isolane.conformance.depth import DEPTHS
from isolane.conformance.report import contents
from isolane.conformance.requirements import CATALOGUE
from isolane.conformance.result import CHAOS, RunResult
from isolane.conformance.verdict import HARNESS, Verdict

NAME = "report.yaml"

_RESULT = TypeAdapter(RunResult)


class ReportError(Exception):
    """Raised for a report that cannot be read: missing, cut short, of another schema, or no report at all."""


def write(result: RunResult, path: Path) -> None:
    """Write the report.

    Raises:
        OSError: It cannot be written.
    """
    text = yaml.safe_dump(content_of(result), sort_keys=False, allow_unicode=True, width=120)
    path.write_text(text, encoding="utf-8")


def read(path: Path) -> RunResult:
    """Read a report that `write` wrote.

    Raises:
        ReportError: It cannot be read; the message says why.
    """
    try:
        content = yaml.safe_load(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise ReportError(f"{path} cannot be read: {error.strerror}") from error
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise ReportError(f"{path} is no YAML: {' '.join(str(error).split())}") from error
    if not isinstance(content, dict) or "schema" not in content:
        raise ReportError(f"{path} is no report of isolane")
    if content["schema"] != contents.SCHEMA:
        raise ReportError(f"{path} has schema {content['schema']!r}; this version reads schema {contents.SCHEMA}")
    if content.get("complete") is not True or next(reversed(content)) != "complete":
        raise ReportError(f"{path} was cut short: it lacks its last line, complete: true")
    try:
        result = _RESULT.validate_python(contents.of_result(content))
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(map(str, first["loc"]))
        raise ReportError(f"{path}: {where}: {first['msg']} (found {first['input']!r:.60})") from error
    for where, name, known in _names(result):
        if name not in known:
            raise ReportError(f"{path}: {where}: {name!r} is unknown to this version (catalogue {CATALOGUE.version})")
    return result


def _names(result: RunResult) -> Iterator[tuple[str, str, Collection[str]]]:
    """Yield each name that only means something when it is known: where it stands, and which there are."""
    ids = CATALOGUE.requirements
    yield "depth", result.depth, (*DEPTHS, CHAOS)
    for number, name in enumerate(result.scope):
        yield f"scope.{number}", name, ids
    for number, scenario in enumerate(result.scenarios):
        for name in scenario.judges:
            yield f"scenarios.{number}.judges", name, ids
    for number, finding in enumerate(result.findings):
        yield f"findings.{number}.requirement", finding.requirement, (*ids, HARNESS)


def content_of(result: RunResult) -> dict[str, Any]:
    """Return what a report of this result holds, in its order, as plain values."""
    return {
        "schema": contents.SCHEMA,
        "kind": contents.KIND,
        "headline": result.headline,
        "reproduce": result.reproduce(),
        **{name: _plain(value) for name, value in contents.derived(result).items()},
        **_plain(asdict(result)),
        "exit_code": int(result.exit_code),
        "complete": True,
    }


def _plain(value: Any) -> Any:  # noqa: ANN401 - whatever a result holds
    if is_dataclass(value) and not isinstance(value, type):
        return _plain(asdict(value))
    if isinstance(value, Verdict):
        return value.value
    if isinstance(value, dict):
        return {str(key): _plain(each) for key, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(each) for each in value]
    return value
