"""The JSON Schema of the configuration: it accepts what the program accepts, and refuses what one field says wrong."""

from __future__ import annotations

from typing import Any

import jsonschema
import pytest
import yaml

from isolane.conformance.selftest.reference.test_config import EVERYTHING, TENANTS
from isolane.reference.config import Config, ConfigError

SCHEMA: dict[str, Any] = Config.json_schema()
VALIDATOR = jsonschema.Draft202012Validator(SCHEMA)


def accepted(text: str) -> bool:
    """Tell whether the schema accepts a file of this text."""
    return bool(VALIDATOR.is_valid(yaml.safe_load(text)))


def tenant(elasticsearch: str, topics: str = "['^t']") -> str:
    """Return a file of one tenant with this cluster."""
    return f"tenants: {{a: {{topics: {topics}, elasticsearch: {{{elasticsearch}}}}}}}"


def test_it_is_a_schema() -> None:
    """It conforms to the draft that it says it is written in, the default one."""
    jsonschema.Draft202012Validator.check_schema(SCHEMA)


@pytest.mark.parametrize(
    "text",
    [
        EVERYTHING,
        TENANTS,
        TENANTS + "kafka: {brokers: ['[::1]:9092', h:1], revoke_grace: 0s, tls: {}, auth: {sasl: null}}",
        TENANTS + "memory: {budget: 1GiB}\nflush: {max_bytes: 65536}\nretry: {jitter: 1}\ntelemetry: null",
        TENANTS + "dead_letter: {topic: dead}",
        tenant("endpoints: ['https://h', 'http://[::1]:9200/prefix'], index: 'x-{signal}-y', api_key: '${env:PATH}'"),
        tenant(
            f"endpoints: ['http://es_1.example.', 'http://{'n' * 63}.example:9200/a.b..c', 'http://[fe80::1%eth0]']"
        ),
        tenant("endpoints: ['http://h:1'], basic: {username: u, password: p}", "[managed_otlp.logs.a, '^x']"),
    ],
)
def test_it_accepts_what_the_program_accepts(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """What runs is not marked as wrong by an editor."""
    monkeypatch.setenv("PATH", "aWQ6a2V5")
    Config.parse(yaml.safe_load(text))
    assert accepted(text)


@pytest.mark.parametrize(
    "text",
    [
        TENANTS + "kafka: {brokers: []}",
        TENANTS + "kafka: {brokers: [h:1, h:1]}",
        TENANTS + "kafka: {brokers: [host]}",
        TENANTS + "kafka: {brokers: ['a:1,b:2']}",
        TENANTS + "kafka: {topics: []}",
        TENANTS + "kafka: {topics: ['managed.*']}",
        TENANTS + "kafka: {autocommit: {interval: 0s}}",
        TENANTS + "kafka: {autocommit: {interval: 5}}",
        TENANTS + "kafka: {autocommit: {interval: 0.0ms}}",
        TENANTS + "kafka: {group_id: ''}",
        TENANTS + "sending_queue: {num_consumers: 1}",
        TENANTS + "sending_queue: {num_consumers: 5000}",
        TENANTS + "memory: {budget: 0}",
        TENANTS + "memory: {budget: 1GB}",
        TENANTS + "memory: {budget: 0KiB}",
        TENANTS + "dead_letter: {topic: ''}",
        TENANTS + "dead_letter: {topic: '{topic}'}",
        TENANTS + "dead_letter: {topic: '{topic}.{topic}'}",
        TENANTS + "dead_letter: {topic: 'a/b'}",
        TENANTS + "unheard_of: {}",
        "tenants: {}",
        "tenants: {'': {topics: ['^t'], elasticsearch: {endpoints: ['http://h:1']}}}",
        tenant("endpoints: []"),
        tenant("endpoints: ['h:9200']"),
        tenant("endpoints: ['http://u:p@h:9200']"),
        tenant("endpoints: ['http://h:9200?x=1']"),
        tenant("endpoints: ['http://node1..example:9200']"),
        tenant(f"endpoints: ['http://{'n' * 64}.example:9200']"),
        tenant("endpoints: ['http://h:1'], index: Logs"),
        tenant("endpoints: ['http://h:1'], index: '{tenant}'"),
        tenant("endpoints: ['http://h:1'], api_key: 'id:key'"),
        tenant("endpoints: ['http://h:1'], api_key: ''"),
        tenant("endpoints: ['http://h:1'], api_key: '${ENV:X}'"),
        tenant("endpoints: ['http://h:1'], basic: {username: u, password: 'a${env:X}'}"),
        tenant("endpoints: ['http://h:1'], basic: {username: 'u:v', password: p}"),
        tenant("endpoints: ['http://h:1']", "[]"),
    ],
)
def test_it_refuses_what_the_program_refuses(text: str) -> None:
    """A mistake in one field is marked where the file is written; what fields say together only the program knows."""
    with pytest.raises(ConfigError):
        Config.parse(yaml.safe_load(text))
    assert not accepted(text)


def test_its_defaults_can_be_written() -> None:
    """What an editor proposes as a field's default is accepted there, and means what leaving the field out means."""
    models = [SCHEMA, *SCHEMA["$defs"].values()]
    defaults = [field for model in models for field in model["properties"].values() if "default" in field]
    assert defaults
    for field in defaults:
        jsonschema.Draft202012Validator({**field, "$defs": SCHEMA["$defs"]}).validate(field["default"])
    written = {name: field["default"] for name, field in SCHEMA["properties"].items() if "default" in field}
    assert Config.parse(written | yaml.safe_load(TENANTS)) == Config.parse(yaml.safe_load(TENANTS))
