"""What the parts of a configuration must agree on, and what of it may change while the process runs (OPS-2, OPS-4)."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from pydantic import BaseModel

from isolane.reference.config_source import ConfigError
from isolane.reference.names import signal_in

if TYPE_CHECKING:
    from collections.abc import Iterator

    from isolane.reference.config import Config


def contradictions(config: Config) -> list[str]:
    """Return a line for each thing that a configuration says, and that something else in it forbids."""
    return [*_limits(config), *_intervals(config), *_credentials(config), *_ownership(config)]


def check_change(former: Config, config: Config) -> None:
    """Check that `config` can be taken by a process that runs with `former`: only the tenants may differ.

    Raises:
        ConfigError: Something else differs; one line a field.
    """
    fixed = [field for field in _differences(former, config) if field != "tenants"]
    if fixed:
        raise ConfigError([f"{field}: cannot change while the process runs; restart it" for field in fixed])


def _differences(former: BaseModel, later: BaseModel) -> Iterator[str]:
    for name in type(former).model_fields:
        before, after = getattr(former, name), getattr(later, name)
        if isinstance(before, BaseModel) and isinstance(after, BaseModel):
            yield from (f"{name}.{field}" for field in _differences(before, after))
        elif before != after:
            yield name


def _limits(config: Config) -> Iterator[str]:
    workers, limiter = config.sending_queue.num_consumers, config.limiter
    # Half of the workers at most, so that no tenant, however healthy, can hold them all (design decision 4).
    half = f"half of sending_queue.num_consumers ({workers // 2})"
    if limiter.ceiling > workers // 2:
        yield f"limiter.ceiling: {limiter.ceiling} is more than {half}"
    if limiter.probation_slots > workers // 2:
        yield f"limiter.probation_slots: {limiter.probation_slots} is more than {half}"
    if limiter.floor > limiter.ceiling:
        yield f"limiter.floor: {limiter.floor} is more than limiter.ceiling ({limiter.ceiling})"
    # Tenants at risk may hold half of the budget at most; a flush must fit into that (design decision 7).
    if config.memory.budget < 2 * config.flush.max_bytes:
        yield (
            f"memory.budget: {config.memory.budget} bytes are less than two flushes of flush.max_bytes "
            f"({config.flush.max_bytes} bytes)"
        )


def _intervals(config: Config) -> Iterator[str]:
    kafka = config.kafka
    if kafka.heartbeat_interval >= kafka.session_timeout:
        yield (
            f"kafka.heartbeat_interval: {kafka.heartbeat_interval:g}s must be shorter than "
            f"kafka.session_timeout ({kafka.session_timeout:g}s)"
        )
    if kafka.revoke_grace >= kafka.max_poll_interval:
        yield (
            f"kafka.revoke_grace: {kafka.revoke_grace:g}s must be shorter than "
            f"kafka.max_poll_interval ({kafka.max_poll_interval:g}s)"
        )
    if config.retry.initial_interval > config.retry.max_interval:
        yield (
            f"retry.initial_interval: {config.retry.initial_interval:g}s is longer than "
            f"retry.max_interval ({config.retry.max_interval:g}s)"
        )
    # A probe's deadline starts near slow_after and doubles up to the full one (design decision 5).
    if config.limiter.slow_after > config.request.timeout:
        yield (
            f"limiter.slow_after: {config.limiter.slow_after:g}s is longer than "
            f"request.timeout ({config.request.timeout:g}s)"
        )


def _credentials(config: Config) -> Iterator[str]:
    for name, tenant in config.tenants.items():
        if tenant.elasticsearch.api_key and tenant.elasticsearch.basic:
            yield f"tenants.{name}.elasticsearch.basic: is given beside api_key; only one of them is allowed"


def _ownership(config: Config) -> Iterator[str]:
    """Yield what can be decided of who owns what: equal patterns, and topics given by name."""
    claimed: dict[str, str] = {}
    for tenant, selectors in ((name, tenant.topics) for name, tenant in config.tenants.items()):
        for position, selector in enumerate(selectors):
            field = f"tenants.{tenant}.topics[{position}]: {selector!r}"
            other = claimed.setdefault(selector, tenant)
            if other != tenant:
                yield f"{field} belongs to tenant {other!r} already"
            elif not selector.startswith("^"):
                yield from (
                    f"{field} is claimed by tenant {name!r} too"
                    for name in config.claimants(selector)
                    if name != tenant and selector not in config.tenants[name].topics
                )
                if signal_in(selector) is None:
                    yield f"{field} has no part that is logs, metrics or traces: what its records are is not known"
                if not re.match(config.subscription, selector):
                    yield f"{field} is never read: nothing in kafka.topics matches it"
