"""The configuration: one YAML file, checked as a whole before anything is connected (OPS-2).

Names follow the upstream OpenTelemetry Collector where it has the same thing. Durations are seconds as
float, sizes are bytes as int. Every model is frozen.
"""

import re
from functools import cached_property
from pathlib import Path
from typing import Annotated, Literal, Self

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError, model_validator

from isolane.reference.config_rules import contradictions
from isolane.reference.config_source import ConfigError, mistakes, read_yaml
from isolane.reference.credentials import ApiKey, Credential
from isolane.reference.names import (
    CertificateFile,
    DeadLetterTopic,
    Encoding,
    Endpoint,
    IndexTemplate,
    Selector,
    compiled,
    dead_letter_pattern,
)
from isolane.reference.units import Duration, Grace, Size

__all__ = ["Config", "ConfigError", "Mode", "Policy", "Tenant"]

Mode = Literal["shared_loop", "partition_workers", "isolated"]
"""How partitions are processed: two baselines, and the design that isolates tenants (design decision 12)."""

Policy = Literal["hold", "dead_letter", "skip"]
"""What becomes of a record that can never be delivered (POI-1, DEL-4)."""

Count = Annotated[int, Field(strict=True, ge=1)]
Name = Annotated[str, Field(min_length=1)]


def _distinct(values: tuple[str, ...]) -> tuple[str, ...]:
    if not values:
        raise ValueError("is empty; at least one is needed")
    repeated = next((value for value in values if values.count(value) > 1), None)
    if repeated is not None:
        raise ValueError(f"names {repeated!r} twice")
    return values


Brokers = Annotated[tuple[Name, ...], AfterValidator(_distinct)]
Selectors = Annotated[tuple[Selector, ...], AfterValidator(_distinct)]
Endpoints = Annotated[tuple[Endpoint, ...], AfterValidator(_distinct)]


class Model(BaseModel):
    """A part of the configuration: frozen, and without unknown keys."""

    model_config = ConfigDict(frozen=True, extra="forbid", hide_input_in_errors=True)


class MaxInFlight(Model):
    """What one partition may hold between admission and final outcome (MEM-1, MEM-2)."""

    records: Count = 1024
    bytes: Size = 8 * 1024**2


class PartitionProcessing(Model):
    """How a partition's records are worked on; `max_span` bounds what is finished out of order (MEM-8)."""

    mode: Mode = "isolated"
    max_in_flight: MaxInFlight = MaxInFlight()
    max_span: Count = 10_000


class Autocommit(Model):
    """How often finished offsets are committed (OFF-4)."""

    interval: Duration = 1.0


class Kafka(Model):
    """The consumer group, its topics and the client's settings."""

    brokers: Brokers = ("127.0.0.1:9092",)
    topics: Selectors = (r"^managed_otlp\..+",)
    group_id: Name = "isolane"
    group_instance_id: Name | None = None
    client_id: Name = "isolane"
    initial_offset: Literal["earliest", "latest"] = "earliest"
    encoding: Encoding = "otlp_proto"
    partition_processing: PartitionProcessing = PartitionProcessing()
    autocommit: Autocommit = Autocommit()
    revoke_grace: Grace = 5.0
    session_timeout: Duration = 45.0
    heartbeat_interval: Duration = 3.0
    max_poll_interval: Duration = 300.0
    metadata_max_age: Duration = 30.0


class SendingQueue(Model):
    """The sending workers; `queue_size` is the shared queue of the two baseline modes."""

    num_consumers: Annotated[int, Field(strict=True, ge=2)] = 16
    queue_size: Count = 64


class Flush(Model):
    """What one attempt may send: documents of at most so many bytes, or one larger record alone."""

    max_bytes: Size = 4 * 1024**2


class Request(Model):
    """The total deadline of one attempt, a trickling reply included (DEL-6)."""

    timeout: Duration = 30.0


class Retry(Model):
    """Exponential back-off; `jitter` is the part of a delay that is random (DEL-7)."""

    initial_interval: Duration = 0.2
    max_interval: Duration = 30.0
    jitter: Annotated[float, Field(strict=True, ge=0, le=1)] = 0.2


class Limiter(Model):
    """The bounds of each tenant's cap, and the slots of tenants at risk together (design decisions 4, 5)."""

    floor: Count = 1
    ceiling: Count = 8
    slow_after: Duration = 2.0
    probation_slots: Count = 4


class Memory(Model):
    """What the process may hold of all partitions together, from the fetch to the final outcome (MEM-6)."""

    budget: Size = 512 * 1024**2


class DeadLetter(Model):
    """What becomes of records that can never be delivered, and where dead letters go."""

    undecodable: Policy = "dead_letter"
    permanent: Policy = "dead_letter"
    topic: DeadLetterTopic = "{topic}.dead_letter"

    def topic_for(self, topic: str) -> str:
        """Return the dead-letter topic of `topic`."""
        return self.topic.replace("{topic}", topic)


class Telemetry(Model):
    """Where `/metrics`, `/healthz` and `/readyz` are served (OPS-1); port 0 is any that is free, told in the log."""

    host: Name = "127.0.0.1"
    port: Annotated[int, Field(strict=True, ge=0, le=65535)] = 9464


class Basic(Model):
    """Basic authentication."""

    username: Name
    password: Credential


class Elasticsearch(Model):
    """One tenant's cluster: several endpoints are nodes of the same cluster, used in turn.

    Credentials are literals, `${env:NAME}` or `${file:PATH}`; they are never printed (OPS-3).
    """

    endpoints: Endpoints
    api_key: ApiKey | None = None
    basic: Basic | None = None
    ca_file: CertificateFile | None = None
    index: IndexTemplate = "{signal}-otlp"

    def index_for(self, signal: str) -> str:
        """Return the index that documents of `signal` (`logs`, `metrics` or `traces`) are written to."""
        return self.index.replace("{signal}", signal)


class Tenant(Model):
    """A tenant: the topics that are its own, and the one cluster they are delivered to (TEN-2)."""

    topics: Selectors
    elasticsearch: Elasticsearch


class Config(Model):
    """The whole configuration."""

    kafka: Kafka = Kafka()
    sending_queue: SendingQueue = SendingQueue()
    flush: Flush = Flush()
    request: Request = Request()
    retry: Retry = Retry()
    limiter: Limiter = Limiter()
    memory: Memory = Memory()
    dead_letter: DeadLetter = DeadLetter()
    telemetry: Telemetry | None = None
    tenants: Annotated[dict[Name, Tenant], Field(min_length=1)]

    @classmethod
    def load(cls, path: Path | str) -> Self:
        """Read and check a configuration file.

        Raises:
            ConfigError: the file cannot be read, is not YAML, or says something that is not allowed; one line
                a mistake, each naming the field, the value and what is allowed.
        """
        return cls.parse(read_yaml(Path(path)))

    @classmethod
    def parse(cls, document: object) -> Self:
        """Check a configuration that was read already.

        Raises:
            ConfigError: as for `load`.
        """
        try:
            return cls.model_validate(document)
        except ValidationError as error:
            raise ConfigError(mistakes(cls, error)) from None

    @model_validator(mode="after")
    def _agrees_with_itself(self) -> Self:
        if found := contradictions(self):
            raise ValueError("\n".join(found))
        return self

    @cached_property
    def subscription(self) -> str:
        """The regular expression to subscribe to, for `re.match`; dead-letter topics never match."""
        own = "|".join(compiled(selector).pattern for selector in self.kafka.topics)
        return f"(?!{dead_letter_pattern(self.dead_letter.topic)}$)(?:{own})"

    def is_dead_letter(self, topic: str) -> bool:
        """Tell whether `topic` is one that dead letters are written to; such topics are never read."""
        return re.fullmatch(dead_letter_pattern(self.dead_letter.topic), topic) is not None

    def claimants(self, topic: str) -> tuple[str, ...]:
        """Return the names of all tenants that claim `topic`; more than one is a mistake in the file."""
        return tuple(name for name, patterns in self._owners if any(pattern.match(topic) for pattern in patterns))

    def tenant_of(self, topic: str) -> str | None:
        """Return the name of the tenant that owns `topic`, or None.

        A topic that several tenants claim belongs to none of them: whatever were chosen, records might go
        to somebody else's cluster (TEN-2). It is treated like one that nobody owns (TEN-4).
        """
        claimants = () if self.is_dead_letter(topic) else self.claimants(topic)
        return claimants[0] if len(claimants) == 1 else None

    def destination(self, topic: str) -> tuple[str, str] | None:
        """Return who owns `topic`, and the index that its documents are written to; None if nobody owns it."""
        tenant = self.tenant_of(topic)
        return None if tenant is None else (tenant, self.tenants[tenant].elasticsearch.index)

    @cached_property
    def _owners(self) -> tuple[tuple[str, tuple[re.Pattern[str], ...]], ...]:
        return tuple(
            (name, tuple(compiled(selector) for selector in tenant.topics)) for name, tenant in self.tenants.items()
        )
