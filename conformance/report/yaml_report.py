"""``report.yaml``: the whole result for machines and archives, readable again.

Its last key, ``complete: true``, is its footer: a report that was cut short lacks it, and is refused.
"""

from __future__ import annotations

from dataclasses import asdict, fields
from pathlib import Path
from typing import Any

import yaml
from pydantic import TypeAdapter, ValidationError

from isolane.conformance.requirements import CATALOGUE
from isolane.conformance.result import RunResult
from isolane.conformance.verdict import Verdict

NAME = "report.yaml"
SCHEMA = 1

_RESULT = TypeAdapter(RunResult)


class ReportError(Exception):
    """Raised for a report that cannot be read: missing, cut short, of another schema, or no report at all."""


def write(result: RunResult, path: Path) -> None:
    """Write the report.

    Raises:
        OSError: It cannot be written.
    """
    text = yaml.safe_dump(_content(result), sort_keys=False, allow_unicode=True, width=120)
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
        raise ReportError(f"{path} is no YAML: {error}") from error
    if not isinstance(content, dict) or "schema" not in content:
        raise ReportError(f"{path} is no report of isolane")
    if content["schema"] != SCHEMA:
        raise ReportError(f"{path} has schema {content['schema']!r}; this version reads schema {SCHEMA}")
    if content.get("complete") is not True:
        raise ReportError(f"{path} was cut short: it lacks its last line, complete: true")
    try:
        names = [each.name for each in fields(RunResult)]
        return _RESULT.validate_python({name: content[name] for name in names if name in content})
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(map(str, first["loc"]))
        raise ReportError(f"{path}: {where}: {first['msg']} (found {first['input']!r:.60})") from error


def _content(result: RunResult) -> dict[str, Any]:
    return {
        "schema": SCHEMA,
        "headline": result.headline,
        "reproduce": result.reproduce(),
        "results": _results(result),
        **_plain(asdict(result)),
        "exit_code": int(result.exit_code),
        "complete": True,
    }


def _results(result: RunResult) -> dict[str, dict[str, list[str]]]:
    outcomes = result.outcomes
    return {
        profile: {
            verdict.value.replace(" ", "_"): [
                outcome.requirement.id
                for outcome in outcomes
                if outcome.verdict is verdict and CATALOGUE.profile_of(outcome.requirement) == profile
            ]
            for verdict in Verdict
        }
        for profile in CATALOGUE.profiles
    }


def _plain(value: Any) -> Any:  # noqa: ANN401 - whatever a result holds
    if isinstance(value, Verdict):
        return value.value
    if isinstance(value, dict):
        return {str(key): _plain(each) for key, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(each) for each in value]
    return value
