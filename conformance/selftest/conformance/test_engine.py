"""The engine: what becomes of a run when a service fails."""

from __future__ import annotations

from pathlib import Path
from typing import NoReturn, cast

import pytest

from isolane.conformance import engine
from isolane.conformance.errors import ImplementationNotStartedError
from isolane.conformance.opening import Services
from isolane.conformance.recording import Clusters
from isolane.conformance.requests import request
from isolane.conformance.verdict import ExitCode
from isolane.fixtures.services import ServiceError


def test_a_service_that_fails_before_there_is_a_history(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The run says so and ends as one that the harness could not finish; no history is looked for that there is not."""

    def failing(*_: object) -> NoReturn:
        raise ServiceError("Elasticsearch does not answer")

    monkeypatch.setattr(engine, "opened", failing)
    asked = request("reference", out=tmp_path / "run")
    run = engine.Run(asked, Services("", cast("Clusters", None)), lambda _: None)
    lived = run.live(asked.scenarios[0])
    assert (lived.failure, lived.harness_failed) == ("Elasticsearch does not answer", True)
    assert run.result().exit_code == ExitCode.HARNESS_FAILED


def test_what_was_seen_is_kept_when_a_later_scenario_cannot_be_started(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In the first scenario such an implementation cannot be judged at all; in a later one that is how it failed."""

    def failing(*_: object) -> NoReturn:
        raise ImplementationNotStartedError("mine: the command ended before canaries came through")

    monkeypatch.setattr(engine, "opened", failing)
    asked = request("reference", depth_name="standard", out=tmp_path / "run")
    first, second = asked.scenarios[:2]
    run = engine.Run(asked, Services("", cast("Clusters", None)), lambda _: None)
    with pytest.raises(ImplementationNotStartedError):
        run.live(first)
    lived = engine._lived(asked, second, Services("", cast("Clusters", None)), lambda _: None, first=False)
    assert (lived.failure, lived.harness_failed) == ("mine: the command ended before canaries came through", False)
