"""Effective bounds: what the descriptor claims, capped by the suite so that a lax descriptor buys nothing."""

from __future__ import annotations

from isolane.fixtures.implementations.descriptor import Descriptor

_CAPS: dict[str, float] = {
    "metadata_max_age": 30,
    "commit_interval": 5,
    "session_timeout": 45,
    "max_poll_interval": 300,
    "request_timeout": 60,
    "slow_after": 5,
    "stop_grace": 30,
    "span": 100_000,
    "cap_floor": 2,
    "cap_ceiling": 64,
    "probe_interval": 60,
}
"""The largest value that a checker believes, by field of `timing` (seconds) or `limits`."""


def effective(descriptor: Descriptor) -> dict[str, float]:
    """The bounds that checkers use, by name; what a descriptor leaves open is absent."""
    claimed = {**descriptor.timing.model_dump(), **descriptor.limits.model_dump(exclude_none=True)}
    return {name: min(value, _CAPS.get(name, value)) for name, value in claimed.items()}
