"""The pytest plugin: `pytest --implementation NAME` runs the conformance tests against an implementation.

This module is loaded into every pytest of whoever has Isolane installed, so it only adds options; the rest comes
with `pytest_live` when `--implementation` is given.
"""

from __future__ import annotations

import warnings
from pathlib import Path

import pytest

_SERVICES = "kafka=external:HOST:PORT, elasticsearch=native"


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add Isolane's options."""
    group = parser.getgroup("isolane", "conformance of multi-tenant Kafka to Elasticsearch delivery")
    group.addoption("--implementation", metavar="NAME|PATH", help="run the conformance tests against it")
    group.addoption("--depth", default="smoke", help="how long to look: smoke (default), standard or soak")
    group.addoption("--services", action="append", metavar="SERVICE=PLACE", default=[], help=_SERVICES)
    group.addoption("--allow-known", action="store_true", help="let known deviations of the descriptor not count")
    group.addoption("--seed", type=int, help="what load is drawn from; chosen and reported when not given")
    group.addoption(
        "--evidence", type=Path, metavar="DIR", help="where evidence goes (default: isolane-runs/NAME-TIME)"
    )


def pytest_configure(config: pytest.Config) -> None:
    """Bring in the conformance tests when they are asked for."""
    config.addinivalue_line("markers", "requirement(id): the test judges this requirement of the catalogue")
    if config.getoption("implementation") is not None:
        with warnings.catch_warnings():
            # How kafka-python reads its schemas when it is imported, on Python 3.11: a line for each of them.
            warnings.filterwarnings("ignore", "(open|read)_text is deprecated", DeprecationWarning)
            config.pluginmanager.import_plugin("isolane.conformance.pytest_live")
