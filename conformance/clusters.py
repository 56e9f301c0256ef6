"""The kinds of clusters that tenants can have."""

from __future__ import annotations

from typing import Literal, get_args

ClusterKind = Literal["scripted", "native"]
"""Scripted clusters, which misbehave on demand, and whose ledger tells of every item; or real nodes, to be searched."""

CLUSTER_KINDS: tuple[ClusterKind, ...] = get_args(ClusterKind)
