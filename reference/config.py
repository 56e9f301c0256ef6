"""The configuration: one YAML file, checked as a whole before anything is connected (OPS-2).

Names follow the upstream OpenTelemetry Collector where it has the same thing. Durations are seconds as
float, sizes are bytes as int. Every model is frozen.
"""

import re
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, PrivateAttr, ValidationError, model_validator

from isolane.reference.config_rules import contradictions
from isolane.reference.config_source import ConfigError, Schema, mistakes, read_yaml
from isolane.reference.credentials import ApiKey, Credential, UserName
from isolane.reference.names import (
    Broker,
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


_DISTINCT = Field(json_schema_extra={"minItems": 1, "uniqueItems": True})
Brokers = Annotated[tuple[Broker, ...], AfterValidator(_distinct), _DISTINCT]
Selectors = Annotated[tuple[Selector, ...], AfterValidator(_distinct), _DISTINCT]
Endpoints = Annotated[tuple[Endpoint, ...], AfterValidator(_distinct), _DISTINCT]


class Model(BaseModel):
    """A part of the configuration: frozen, and without unknown keys."""

    model_config = ConfigDict(frozen=True, extra="forbid", hide_input_in_errors=True, use_attribute_docstrings=True)


class MaxInFlight(Model):
    """What one partition may hold between admission and final outcome, waiting and retries included."""

    records: Count = 1024
    """Records of a partition (MEM-1)."""
    bytes: Size = 8 * 1024**2
    """What they count for; a larger record goes alone (MEM-2, MEM-3)."""


class PartitionProcessing(Model):
    """How a partition's records are worked on."""

    mode: Mode = "isolated"
    """The design that isolates tenants, or one of the two baselines (docs/reference.md)."""
    max_in_flight: MaxInFlight = MaxInFlight()
    """The bounds of one partition."""
    max_span: Count = 10_000
    """Records of a partition that may be finished behind one that is not (MEM-8)."""


class Autocommit(Model):
    """Commits of what is finished."""

    interval: Duration = 1.0
    """How often finished offsets are committed (OFF-4)."""


class Tls(Model):
    """TLS to the brokers."""

    ca_file: CertificateFile | None = None
    """Authorities to trust, in PEM; without it those that the system trusts."""


class Sasl(Model):
    """How the process authenticates itself to the brokers."""

    mechanism: Literal["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"]
    """PLAIN sends the password as it is: give `tls`, too."""
    username: Name
    """Who it is."""
    password: Credential
    """A literal, `${env:NAME}` or `${file:PATH}`; never printed (OPS-3)."""


class Auth(Model):
    """Authentication to the brokers."""

    sasl: Sasl | None = None
    """By name and password."""


class Kafka(Model):
    """The consumer group, its topics and the client's settings."""

    brokers: Brokers = ("127.0.0.1:9092",)
    """Where the client starts from: `host:port`."""
    tls: Tls | None = None
    """TLS; plain TCP without it."""
    auth: Auth = Auth()
    """Authentication to the brokers."""
    topics: Selectors = (r"^managed_otlp\..+",)
    """What is subscribed to: names, and patterns, which begin with ^ (TEN-1)."""
    group_id: Name = "isolane"
    """The consumer group; several processes of one group share its partitions."""
    group_instance_id: Name | None = None
    """A name of this process alone makes its membership static: it keeps its partitions when it restarts in time."""
    client_id: Name = "isolane"
    """What brokers call it in their logs."""
    initial_offset: Literal["earliest", "latest"] = "earliest"
    """Where a new group begins what is there already; what appears later begins at its first record."""
    encoding: Encoding = "otlp_proto"
    """How an OTLP export request is written in a record."""
    partition_processing: PartitionProcessing = PartitionProcessing()
    """How a partition's records are worked on."""
    autocommit: Autocommit = Autocommit()
    """Commits of what is finished."""
    revoke_grace: Grace = 5.0
    """How long attempts under way may hold up a partition that moves to another member, or a stop (REB-7, LIF-2)."""
    session_timeout: Duration = 45.0
    """After how long without a heartbeat the group takes a member for dead."""
    heartbeat_interval: Duration = 3.0
    """How often the member says that it lives."""
    max_poll_interval: Duration = 300.0
    """After how long a poll loop that hangs costs the member its partitions."""
    metadata_max_age: Duration = 30.0
    """Within which new topics and partitions are found (TEN-1)."""


class SendingQueue(Model):
    """The sending workers."""

    num_consumers: Annotated[int, Field(strict=True, ge=2, le=1024)] = 16
    """How many attempts may be under way at once, for all tenants together."""
    queue_size: Count = 64
    """Flushes in the shared queue of the two baseline modes."""


class Flush(Model):
    """What one attempt may send."""

    max_bytes: Size = 4 * 1024**2
    """Documents of at most so many bytes, or one larger record alone."""


class Request(Model):
    """One attempt."""

    timeout: Duration = 30.0
    """Its total deadline, a trickling reply included (DEL-6)."""


class Retry(Model):
    """Exponential back-off between attempts (DEL-7)."""

    initial_interval: Duration = 0.2
    """The first delay; each doubles it."""
    max_interval: Duration = 30.0
    """The longest delay."""
    jitter: Annotated[float, Field(strict=True, ge=0, le=1)] = 0.2
    """The part of a delay that is random."""


class Limiter(Model):
    """Each tenant's share of the sending workers (LIM, ISO-5)."""

    floor: Count = 1
    """The slots that a tenant may always have."""
    ceiling: Count = 8
    """The slots that it may have at most: half of `sending_queue.num_consumers` or less."""
    slow_after: Duration = 2.0
    """From when on an attempt is slow, and halves the tenant's cap."""
    probation_slots: Count = 4
    """The slots of all tenants at risk together."""


class Memory(Model):
    """What the process may hold (docs/memory.md)."""

    budget: Size = 512 * 1024**2
    """Of all partitions together, from the fetch to the final outcome (MEM-6)."""


class DeadLetter(Model):
    """What becomes of records that can never be delivered, and where dead letters go."""

    undecodable: Policy = "dead_letter"
    """Of records that are not what `kafka.encoding` says (POI-1)."""
    permanent: Policy = "dead_letter"
    """Of documents that their cluster can never accept (DEL-4)."""
    topic: DeadLetterTopic = "{topic}.dead_letter"
    """Where dead letters go; `{topic}` stands for the record's own."""

    def topic_for(self, topic: str) -> str:
        """Return the dead-letter topic of `topic`."""
        return self.topic.replace("{topic}", topic)


class Telemetry(Model):
    """Where `/metrics`, `/healthz` and `/readyz` are served (OPS-1)."""

    host: Name = "127.0.0.1"
    """The address to listen on."""
    port: Annotated[int, Field(strict=True, ge=0, le=65535)] = 9464
    """0 is any that is free, and told in the log."""


class Basic(Model):
    """Basic authentication."""

    username: UserName
    """Who it is."""
    password: Credential
    """A literal, `${env:NAME}` or `${file:PATH}`; never printed (OPS-3)."""


class Elasticsearch(Model):
    """One tenant's cluster."""

    endpoints: Endpoints
    """Nodes of the one cluster, used in turn: `http://host:port` or `https://host:port`."""
    api_key: ApiKey | None = None
    """Encoded, as a literal, `${env:NAME}` or `${file:PATH}`; never printed (OPS-3)."""
    basic: Basic | None = None
    """Name and password, instead of an API key."""
    ca_file: CertificateFile | None = None
    """Authorities to trust, in PEM; without it those that the system trusts."""
    index: IndexTemplate = "{signal}-otlp"
    """What documents are written to; `{signal}` stands for logs, metrics or traces."""

    # Beside the path, for certificates that were replaced under it to be a change (OPS-4).
    _authorities: bytes = PrivateAttr(default=b"")

    @model_validator(mode="after")
    def _with_authorities(self) -> Self:
        if self.ca_file is not None:
            self._authorities = self.ca_file.read_bytes()
        return self

    def index_for(self, signal: str) -> str:
        """Return the index that documents of `signal` (`logs`, `metrics` or `traces`) are written to."""
        return self.index.replace("{signal}", signal)


class Tenant(Model):
    """A tenant: the topics that are its own, and the one cluster they are delivered to (TEN-2)."""

    topics: Selectors
    """Names, and patterns, which begin with ^; no topic may belong to two tenants."""
    elasticsearch: Elasticsearch
    """Its cluster."""


class Config(Model):
    """The whole configuration of the reference. Durations are text such as `200ms` or `30s`, sizes such as `4MiB`."""

    kafka: Kafka = Kafka()
    """The consumer group, its topics and the client's settings."""
    sending_queue: SendingQueue = SendingQueue()
    """The sending workers."""
    flush: Flush = Flush()
    """What one attempt may send."""
    request: Request = Request()
    """One attempt."""
    retry: Retry = Retry()
    """Exponential back-off between attempts."""
    limiter: Limiter = Limiter()
    """Each tenant's share of the sending workers."""
    memory: Memory = Memory()
    """What the process may hold."""
    dead_letter: DeadLetter = DeadLetter()
    """What becomes of records that can never be delivered."""
    telemetry: Telemetry | None = None
    """Metrics and health over HTTP; nothing is served without it."""
    tenants: Annotated[dict[Name, Tenant], Field(min_length=1)]
    """By name. They alone may change while the process runs, on SIGHUP (OPS-4)."""

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

    @classmethod
    def json_schema(cls) -> dict[str, Any]:
        """Return the JSON Schema of the file; it knows nothing of what fields may say only together."""
        return cls.model_json_schema(schema_generator=Schema)

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
