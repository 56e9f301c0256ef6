"""How what happens at the tenants' clusters comes into a history: scripted ones keep a ledger, real ones are read."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from isolane.conformance.history_files import ATTEMPTS
from isolane.conformance.nodes import Nodes
from isolane.conformance.searching import searched
from isolane.fixtures.cluster import ScriptedClusters

Clusters = ScriptedClusters | Nodes
"""Whatever gives each tenant a cluster: `add` makes one and returns its URL, `remove` ends it."""


@contextmanager
def recorded(clusters: Clusters, tenants: Sequence[str], folder: Path) -> Iterator[None]:
    """Record what happens at these tenants' clusters in the history's folder, while the block runs."""
    if isinstance(clusters, ScriptedClusters):
        clusters.rotate_ledger(folder / ATTEMPTS)
        yield
    else:
        with searched(clusters, tenants, folder):
            yield


def ended(clusters: Clusters) -> None:
    """Let nothing more that happens at scripted clusters come into the history that was recorded last."""
    if isinstance(clusters, ScriptedClusters):
        clusters.rotate_ledger()
