"""The engine: what becomes of a run when a service fails."""

from __future__ import annotations

from pathlib import Path
from typing import NoReturn, cast

import pytest

from isolane.conformance import engine
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
