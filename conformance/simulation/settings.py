"""The size of a simulated world, and the configuration of the processes in it."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import NamedTuple

from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
from opentelemetry.proto.common.v1.common_pb2 import AnyValue
from opentelemetry.proto.logs.v1.logs_pb2 import LogRecord, ResourceLogs, ScopeLogs

from isolane.conformance.simulation.assignment import Protocol
from isolane.reference.config import Config, Mode
from isolane.reference.consumer import TopicPartition


class Settings(NamedTuple):
    """A world.

    Attributes:
        tenants: How many there are.
        partitions: Of each tenant's topic.
        members: How many processes there are at the begin.
        protocol: How partitions move between them.
        mode: How they process partitions.
        workers: Sending workers of each.
        travel: Seconds that a request, and a reply, is under way.
        batch: Records that one poll returns at most.
        roomy: Whether there is more memory than is ever needed; it is scarce otherwise.
    """

    tenants: int = 2
    partitions: int = 2
    members: int = 1
    protocol: Protocol = "cooperative"
    mode: Mode = "isolated"
    workers: int = 4
    travel: float = 0.002
    batch: int = 50
    roomy: bool = False

    @property
    def names(self) -> list[str]:
        """The tenants' names."""
        return [f"t{number}" for number in range(self.tenants)]

    @property
    def config(self) -> Config:
        """The configuration of each process."""
        return _config(self.tenants, self.mode, self.workers, roomy=self.roomy)


def topic_of(tenant: str) -> str:
    """Return the name of a tenant's topic."""
    return f"managed_otlp.logs.{tenant}"


def places_of(tenant: str, partitions: int) -> list[TopicPartition]:
    """Return the partitions of a tenant's topic."""
    return [TopicPartition(topic_of(tenant), number) for number in range(partitions)]


class Payload(NamedTuple):
    """A record's value, and how many items of it are to be delivered or dead-lettered."""

    value: bytes | None
    items: int


def _logs(items: int, size: int = 1) -> Payload:
    bodies = [str(position).ljust(size, "x") for position in range(items)]
    records = [LogRecord(body=AnyValue(string_value=body)) for body in bodies]
    request = ExportLogsServiceRequest(resource_logs=[ResourceLogs(scope_logs=[ScopeLogs(log_records=records)])])
    return Payload(request.SerializeToString(), items)


PAYLOADS = {
    "one item": _logs(1),
    "three items": _logs(3),
    "large": _logs(1, size=6000),
    "nothing": Payload(None, 0),
    "broken": Payload(b"\xff\xff\xff", 1),
}
"""What is produced: made once, and as little as will do, for what it says is of no consequence."""

_POSITION = re.compile(rb'"text":"([0-9]+)')


def position_of(value: bytes) -> int:
    """Return which item of its record a document, or a whole record that cannot be decoded, is."""
    found = _POSITION.search(value)
    return int(found[1]) if found else 0


LARGEST = 7000
"""The bytes that a record comes to, decoded, at most."""


@lru_cache(maxsize=64)
def _config(tenants: int, mode: Mode, workers: int, *, roomy: bool) -> Config:
    in_flight, span = ({"records": 100, "bytes": "64KiB"}, 1000) if roomy else ({"records": 3, "bytes": "2KiB"}, 6)
    return Config.parse(
        {
            "kafka": {
                "partition_processing": {"mode": mode, "max_in_flight": in_flight, "max_span": span},
                "autocommit": {"interval": "40ms"},
                "revoke_grace": "60ms",
                "session_timeout": "400ms",
                "heartbeat_interval": "100ms",
                "max_poll_interval": "1s",
                "metadata_max_age": "200ms",
            },
            "sending_queue": {"num_consumers": workers, "queue_size": 2},
            "flush": {"max_bytes": "1KiB"},
            "request": {"timeout": "400ms"},
            "retry": {"initial_interval": "10ms", "max_interval": "80ms"},
            "limiter": {"ceiling": workers // 2, "slow_after": "80ms", "probation_slots": workers // 2},
            "memory": {"budget": "512MiB" if roomy else "8KiB"},
            "tenants": {
                f"t{number}": {
                    "topics": [topic_of(f"t{number}")],
                    "elasticsearch": {"endpoints": [f"http://t{number}.test:9200"]},
                }
                for number in range(tenants)
            },
        }
    )
