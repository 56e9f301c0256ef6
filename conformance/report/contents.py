"""What ``report.yaml`` holds: a run's result, and what others want to know of it without working it out.

The shape follows the conformance reports of the Kubernetes Gateway API: who, in which versions, by profile the result,
statistics, and the ids behind them. ``report.schema.json`` in this package describes it for other tools.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import MISSING, dataclass, fields
from dataclasses import Field as DataclassField
from typing import Annotated, Any, Literal, get_type_hints

from pydantic import BaseModel, ConfigDict, Field, create_model

from isolane.conformance.report.run_page import verdict_on
from isolane.conformance.requirements import CATALOGUE
from isolane.conformance.result import RunResult
from isolane.conformance.verdict import Verdict

SCHEMA = 1
KIND = "isolane conformance report"

Conclusion = Literal["success", "failure", "inconclusive", "not judged"]

_CONCLUSIONS: dict[Verdict | None, Conclusion] = {
    Verdict.PASS: "success",
    Verdict.FAIL: "failure",
    Verdict.INCONCLUSIVE: "inconclusive",
}
_LISTS = {
    "passed": Verdict.PASS,
    "failed": Verdict.FAIL,
    "inconclusive": Verdict.INCONCLUSIVE,
    "skipped": Verdict.NOT_JUDGED,
    "not_claimed": Verdict.NOT_CLAIMED,
}


@dataclass(frozen=True, kw_only=True)
class ProfileReport:
    """The result of one profile: the conclusion, how many requirements ended how, and which."""

    name: str
    result: Conclusion
    statistics: Mapping[str, int]
    passed: tuple[str, ...]
    failed: tuple[str, ...]
    inconclusive: tuple[str, ...]
    skipped: tuple[str, ...]
    not_claimed: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class Features:
    """The features of the catalogue that the implementation claims, and those that it does not."""

    claimed: tuple[str, ...]
    unclaimed: tuple[str, ...]


class _Head(BaseModel):
    """What a report has beside its result; unknown keys are another version's, and are passed over."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    schema_: Annotated[Literal[1], Field(alias="schema")]
    kind: Literal["isolane conformance report"]
    headline: Annotated[str, Field(description="The run in one sentence.")]
    reproduce: Annotated[str, Field(description="The command line that runs it again.")]
    profiles: tuple[ProfileReport, ...]
    features: Features
    exit_code: Annotated[Literal[0, 1, 2, 3, 4], Field(description="How the command ended.")]
    complete: Annotated[Literal[True], Field(description="The footer, last in the file: without it nothing counts.")]


def _field(of: DataclassField[Any]) -> tuple[Any, Any]:
    """Return a field of the result as a model has it: its type, and its default (... for none)."""
    hint = get_type_hints(RunResult)[of.name]
    if of.default_factory is not MISSING:
        return hint, Field(default_factory=of.default_factory)
    return hint, ... if of.default is MISSING else of.default


_FIELDS: dict[str, Any] = {each.name: _field(each) for each in fields(RunResult)}

Report: type[_Head] = create_model("Report", __base__=_Head, **_FIELDS)
"""A whole report, for its JSON Schema."""


def schema() -> dict[str, Any]:
    """Return the JSON Schema of reports."""
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **Report.model_json_schema()}


def derived(result: RunResult) -> dict[str, Any]:
    """Return what a report has at its head that follows from the result, as dataclasses and plain values."""
    claimed = result.implementation.features
    return {
        "profiles": tuple(_profile(result, name) for name in CATALOGUE.profiles),
        "features": Features(
            claimed=claimed, unclaimed=tuple(each for each in CATALOGUE.features if each not in claimed)
        ),
    }


def of_result(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return those of a report's values that are the result's own."""
    return {each.name: values[each.name] for each in fields(RunResult) if each.name in values}


def _profile(result: RunResult, name: str) -> ProfileReport:
    own = [each for each in result.outcomes if CATALOGUE.profile_of(each.requirement) == name]
    ids = {
        key: tuple(each.requirement.id for each in own if each.verdict is verdict) for key, verdict in _LISTS.items()
    }
    return ProfileReport(
        name=name,
        result=_CONCLUSIONS.get(verdict_on(result, name).verdict, "not judged"),
        statistics={key: len(each) for key, each in ids.items()},
        **ids,
    )
