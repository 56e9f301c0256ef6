"""The configuration file: what it means, and how mistakes in it are named."""

import re
from pathlib import Path

import pytest
import trustme
from hypothesis import given
from hypothesis import strategies as st

from isolane.fixtures.implementations.descriptor import Wrong, find
from isolane.fixtures.implementations.rendering import TenantView, WorldView, write_configuration
from isolane.reference.config import Config, ConfigError
from isolane.reference.config_rules import check_change

WORLD = WorldView(
    brokers="127.0.0.1:9092",
    group_id="g",
    topic_pattern="^managed_otlp[.].+$",
    tenants=(TenantView("a", ("managed_otlp.logs.a",), r"^managed_otlp\.logs\.a$", "http://127.0.0.1:9201"),),
)

TENANTS = """
tenants:
  a: {topics: ["^managed_otlp\\\\.(logs|metrics|traces)\\\\.a$"], elasticsearch: {endpoints: ["http://127.0.0.1:9201"]}}
"""

NOT_A_DURATION = "is not a duration; write a number and a unit such as 200ms, 1s, 2m or 1h"
NOT_IN_RANGE = "is not between 1ms and 576h"
NOT_A_BROKER = "is not a broker; write host:port"
NOT_A_SIZE = "is not a size; write bytes as a whole number, or a unit such as 512KiB, 4MiB or 1GiB"
NOT_ENCODED = "is not an API key as it is sent: base64 of id and key"
NOT_A_REFERENCE = "has ${ in it, and is neither ${env:NAME} nor ${file:PATH} alone; what has can come from a file"
NOT_A_DEAD_LETTER_TOPIC = "is not a topic's name, in which {topic} may stand once for the record's own topic"

EVERYTHING = (
    """
kafka:
  brokers: [127.0.0.1:9092]
  topics: ["^managed_otlp\\\\..+"]
  group_id: isolane
  initial_offset: earliest
  partition_processing: {mode: isolated, max_in_flight: {records: 1024, bytes: 8MiB}, max_span: 10000}
  autocommit: {interval: 1s}
  revoke_grace: 5s
sending_queue: {num_consumers: 16, queue_size: 64}
flush: {max_bytes: 4MiB}
request: {timeout: 30s}
retry: {initial_interval: 200ms, max_interval: 30s, jitter: 0.2}
limiter: {floor: 1, ceiling: 8, slow_after: 2s, probation_slots: 4}
memory: {budget: 512MiB}
dead_letter: {undecodable: dead_letter, permanent: dead_letter, topic: "{topic}.dead_letter"}
"""
    + TENANTS
)


def load(folder: Path, text: str) -> Config:
    """Load `text` as a configuration file."""
    path = folder / "isolane.yaml"
    path.write_text(text, "utf-8")
    return Config.load(path)


def complaints(folder: Path, text: str) -> list[str]:
    """Return the lines of the error that `text` is refused with."""
    with pytest.raises(ConfigError) as refused:
        load(folder, text)
    return str(refused.value).splitlines()


def test_documented_file_states_the_defaults(tmp_path: Path) -> None:
    """The file in the documentation, written out, means the same as one that only names tenants."""
    assert load(tmp_path, EVERYTHING) == load(tmp_path, TENANTS)


def test_durations_are_seconds_and_sizes_bytes(tmp_path: Path) -> None:
    """Units are resolved when the file is read."""
    config = load(tmp_path, TENANTS + "memory: {budget: 1GiB}\nflush: {max_bytes: 65536}\nretry: {max_interval: 2m}")
    assert config.retry.initial_interval == 0.2
    assert config.retry.max_interval == 120.0
    assert config.memory.budget == 1024**3
    assert config.flush.max_bytes == 65536
    assert config.kafka.partition_processing.max_in_flight.bytes == 8 * 1024**2


@pytest.mark.parametrize(
    ("text", "line"),
    [
        (
            "kafka: {autocommit: {interval: soon}}",
            f"kafka.autocommit.interval: 'soon' {NOT_A_DURATION}",
        ),
        (
            "request: {timeout: 30}",
            f"request.timeout: 30 {NOT_A_DURATION}",
        ),
        ("request: {timeout: 0s}", f"request.timeout: '0s' {NOT_IN_RANGE}"),
        ("kafka: {metadata_max_age: 0.0001ms}", f"kafka.metadata_max_age: '0.0001ms' {NOT_IN_RANGE}"),
        ("kafka: {max_poll_interval: 577h}", f"kafka.max_poll_interval: '577h' {NOT_IN_RANGE}"),
        ("kafka: {revoke_grace: 0.5ms}", "kafka.revoke_grace: '0.5ms' is neither 0s nor between 1ms and 576h"),
        (
            "memory: {budget: 0.5B}",
            f"memory.budget: '0.5B' {NOT_A_SIZE}",
        ),
        ("kafka: {autocomit: {interval: 1s}}", "kafka.autocomit: unknown key; did you mean 'autocommit'?"),
        ("flush: {when: 1s}", "flush.when: unknown key; allowed here: max_bytes"),
        (
            "kafka: {initial_offset: first}",
            "kafka.initial_offset: 'first' should be 'earliest' or 'latest'",
        ),
        (
            "sending_queue: {num_consumers: true}",
            "sending_queue.num_consumers: true should be a valid integer",
        ),
        (
            "sending_queue: {queue_size: 0}",
            "sending_queue.queue_size: 0 should be greater than or equal to 1",
        ),
        ("kafka: {group_id: [x]}", "kafka.group_id: a list is not text"),
        ("kafka: {topics: []}", "kafka.topics: a list is empty; at least one is needed"),
        (
            "kafka: {topics: ['managed_otlp.*']}",
            "kafka.topics[0]: 'managed_otlp.*' is neither a topic's name nor a pattern, which begins with ^",
        ),
        (
            "kafka: {topics: ['^managed_otlp(']}",
            (
                "kafka.topics[0]: '^managed_otlp(' is not a regular expression: "
                "missing ), unterminated subpattern at position 13"
            ),
        ),
        (
            "kafka: {topics: ['^a{99999999999}']}",
            "kafka.topics[0]: '^a{99999999999}' is not a regular expression: the repetition number is too large",
        ),
        ("kafka: {brokers: [host]}", f"kafka.brokers[0]: 'host' {NOT_A_BROKER}"),
        ("kafka: {brokers: ['host:port']}", f"kafka.brokers[0]: 'host:port' {NOT_A_BROKER}"),
        ("kafka: {brokers: ['host:99999']}", f"kafka.brokers[0]: 'host:99999' {NOT_A_BROKER}"),
        ("kafka: {brokers: ['host:0']}", f"kafka.brokers[0]: 'host:0' {NOT_A_BROKER}"),
        ("kafka: {brokers: [':9092']}", f"kafka.brokers[0]: ':9092' {NOT_A_BROKER}"),
        ("kafka: {brokers: ['a:1,b:2']}", f"kafka.brokers[0]: 'a:1,b:2' {NOT_A_BROKER}"),
        ("kafka: {brokers: ['http://h:9092']}", f"kafka.brokers[0]: 'http://h:9092' {NOT_A_BROKER}"),
        ("kafka: {brokers: ['::1']}", f"kafka.brokers[0]: '::1' {NOT_A_BROKER}"),
        ("kafka: {tls: {ca_file: /nowhere}}", "kafka.tls.ca_file: '/nowhere' is not a file"),
        ("kafka: {tls: {ca_file: 5}}", "kafka.tls.ca_file: 5 is not a file"),
        (
            "sending_queue: {num_consumers: 100000}",
            "sending_queue.num_consumers: 100000 should be less than or equal to 1024",
        ),
        ("2001-01-01: x", "the configuration: has a key that is not text; put it in quotes"),
        ("retry: {null: x}", "retry: has a key that is not text; put it in quotes"),
        ("kafka: {brokers: [b:1, b:1]}", "kafka.brokers: a list names 'b:1' twice"),
        ("retry:", "retry: null is not a mapping of keys to values"),
        (
            "limiter: {ceiling: 9}",
            "limiter.ceiling: 9 is more than half of sending_queue.num_consumers (8)",
        ),
        ("limiter: {floor: 3, ceiling: 2}", "limiter.floor: 3 is more than limiter.ceiling (2)"),
        (
            "limiter: {probation_slots: 9}",
            "limiter.probation_slots: 9 is more than half of sending_queue.num_consumers (8)",
        ),
        (
            "limiter: {slow_after: 31s}",
            "limiter.slow_after: 31s is longer than request.timeout (30s)",
        ),
        (
            "retry: {initial_interval: 31s}",
            "retry.initial_interval: 31s is longer than retry.max_interval (30s)",
        ),
        (
            "kafka: {heartbeat_interval: 45s}",
            "kafka.heartbeat_interval: 45s must be shorter than kafka.session_timeout (45s)",
        ),
        (
            "kafka: {revoke_grace: 5m}",
            "kafka.revoke_grace: 300s must be shorter than kafka.max_poll_interval (300s)",
        ),
        (
            "memory: {budget: 7MiB}",
            "memory.budget: 7340032 bytes are less than two flushes of flush.max_bytes (4194304 bytes)",
        ),
        (
            "dead_letter: {topic: '{topic}'}",
            f"dead_letter.topic: '{{topic}}' {NOT_A_DEAD_LETTER_TOPIC}",
        ),
        (
            "dead_letter: {permanent: drop}",
            "dead_letter.permanent: 'drop' should be 'hold', 'dead_letter' or 'skip'",
        ),
    ],
)
def test_mistake_is_named_with_field_value_and_rule(tmp_path: Path, text: str, line: str) -> None:
    """Each mistake gives exactly one line that says where, what and what is allowed (OPS-2)."""
    assert complaints(tmp_path, text + TENANTS) == [line]


@pytest.mark.parametrize(
    ("tenants", "line"),
    [
        ("{}", "tenants: a mapping should have at least 1 item after validation, not 0"),
        ("{a: {topics: [t]}}", "tenants.a.elasticsearch: is missing"),
        (
            "{a: {topics: ['^t'], elasticsearch: {endpoints: [ftp://h]}}}",
            (
                "tenants.a.elasticsearch.endpoints[0]: 'ftp://h' is not an endpoint; "
                "write http://host:port or https://host:port"
            ),
        ),
        (
            "{a: {topics: ['^t'], elasticsearch: {endpoints: ['http://h/a b']}}}",
            (
                "tenants.a.elasticsearch.endpoints[0]: 'http://h/a b' is not an endpoint; "
                "write http://host:port or https://host:port"
            ),
        ),
        (
            "{a: {topics: ['^t'], elasticsearch: {endpoints: ['http://h:1'], indx: x}}}",
            "tenants.a.elasticsearch.indx: unknown key; did you mean 'index'?",
        ),
        (
            "{a: {topics: ['^t'], elasticsearch: {endpoints: ['http://h:1'], index: Logs}}}",
            (
                "tenants.a.elasticsearch.index: 'Logs' is not an index name in lower case, "
                "in which {signal} stands for logs, metrics or traces"
            ),
        ),
        (
            "{a: {topics: ['^t'], elasticsearch: {endpoints: ['http://h:1'], index: '{tenant}-logs'}}}",
            (
                "tenants.a.elasticsearch.index: '{tenant}-logs' is not an index name in lower case, "
                "in which {signal} stands for logs, metrics or traces"
            ),
        ),
        (
            "{a: {topics: ['^t'], elasticsearch: {endpoints: ['http://h:0']}}}",
            (
                "tenants.a.elasticsearch.endpoints[0]: 'http://h:0' is not an endpoint; "
                "write http://host:port or https://host:port"
            ),
        ),
        (
            (
                "{a: {topics: ['^t'], elasticsearch: {endpoints: ['http://h:1']}},"
                " b: {topics: ['^t'], elasticsearch: {endpoints: ['http://h:2']}}}"
            ),
            "tenants.b.topics[0]: '^t' belongs to tenant 'a' already",
        ),
        (
            (
                "{a: {topics: ['^managed_otlp.logs.t'], elasticsearch: {endpoints: ['http://h:1']}},"
                " b: {topics: [managed_otlp.logs.t1], elasticsearch: {endpoints: ['http://h:2']}}}"
            ),
            "tenants.b.topics[0]: 'managed_otlp.logs.t1' is claimed by tenant 'a' too",
        ),
        (
            "{a: {topics: [managed_otlp.profiles], elasticsearch: {endpoints: ['http://h:1']}}}",
            (
                "tenants.a.topics[0]: 'managed_otlp.profiles' has no part that is logs, metrics or traces: "
                "what its records are is not known"
            ),
        ),
        (
            "{a: {topics: [elsewhere.logs], elasticsearch: {endpoints: ['http://h:1']}}}",
            "tenants.a.topics[0]: 'elsewhere.logs' is never read: nothing in kafka.topics matches it",
        ),
        (
            (
                "{a: {topics: ['^t'], elasticsearch: {endpoints: ['http://h:1'], api_key: k,"
                " basic: {username: u, password: p}}}}"
            ),
            "tenants.a.elasticsearch.basic: is given beside api_key; only one of them is allowed",
        ),
        (
            "{1: {topics: ['^t'], elasticsearch: {endpoints: ['http://h:1']}}}",
            "tenants: the key 1 is not a name",
        ),
    ],
)
def test_mistake_in_tenants_is_named(tmp_path: Path, tenants: str, line: str) -> None:
    """Mistakes in what tenants own and where they are delivered are refused before anything is read."""
    assert complaints(tmp_path, f"tenants: {tenants}") == [line]


WRONG = [
    (name, wrong)
    for name in ("reference", "reference-shared-loop", "reference-partition-workers")
    for wrong in find(name).config.wrong
]


@pytest.mark.parametrize(("name", "wrong"), WRONG, ids=lambda value: value if isinstance(value, str) else value.names)
def test_samples_of_the_descriptor_are_refused(tmp_path: Path, name: str, wrong: Wrong) -> None:
    """OPS-2: each wrong configuration that the descriptor lists is refused, by a line that names what is wrong."""
    path = write_configuration(find(name), WORLD, member=0, workdir=tmp_path, wrong=wrong)
    with pytest.raises(ConfigError, match=re.escape(wrong.names)):
        Config.load(path)


def test_every_mistake_is_listed(tmp_path: Path) -> None:
    """A file with several mistakes is refused once, with all of them."""
    assert len(complaints(tmp_path, "kafka: {group_id: 5}\nflush: {max_bytes: x}\nspeed: high" + TENANTS)) == 3


@pytest.mark.parametrize(
    ("text", "end"),
    [
        ("kafka: [\nflush: }", "line 2, column 8: expected the node content, but found '}'"),
        ("kafka:\n  group_id: a\n  group_id: b", "line 3, column 3: the key group_id is given twice"),
        ("? [a]\n: b\n? {c: d}\n: e", "line 1, column 3: found unhashable key"),
        ("date: 2001-99-99", "is not YAML that can be read"),
        ("[" * 5000, "is not YAML that can be read"),
        ("a: \x07", "is not YAML that can be read"),
    ],
)
def test_text_that_is_not_yaml_is_located(tmp_path: Path, text: str, end: str) -> None:
    """Broken YAML gives one line, with line and column where there are any, and no traceback."""
    (line,) = complaints(tmp_path, text)
    assert line.startswith(f"{tmp_path / 'isolane.yaml'}: ")
    assert end in line


def test_empty_file_is_refused(tmp_path: Path) -> None:
    """An empty file is not a configuration with defaults."""
    assert complaints(tmp_path, "") == ["the configuration: null is not a mapping of keys to values"]


def test_missing_file_is_refused(tmp_path: Path) -> None:
    """A path that leads nowhere is named."""
    with pytest.raises(ConfigError, match=r"absent\.yaml: cannot be read: No such file or directory"):
        Config.load(tmp_path / "absent.yaml")


def test_binary_file_is_refused(tmp_path: Path) -> None:
    """A file that is not text is named, too."""
    path = tmp_path / "isolane.yaml"
    path.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(ConfigError, match="is not UTF-8 text"):
        Config.load(path)


def one_tenant(elasticsearch: str) -> str:
    """Return a file with one tenant whose cluster has these further settings."""
    return f"tenants: {{a: {{topics: ['^t'], elasticsearch: {{endpoints: ['http://h:1'], {elasticsearch}}}}}}}"


def test_credentials_come_from_the_environment_or_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A credential may be in an environment variable or a file, whose last line break is not part of it."""
    monkeypatch.setenv("ISOLANE_TEST_KEY", "from-environment")
    (tmp_path / "password").write_text("from file\n", "utf-8")
    given_key = load(tmp_path, one_tenant("api_key: '${env:ISOLANE_TEST_KEY}'")).tenants["a"].elasticsearch
    given_password = (
        load(tmp_path, one_tenant(f"basic: {{username: u, password: '${{file:{tmp_path}/password}}'}}"))
        .tenants["a"]
        .elasticsearch
    )
    assert given_key.api_key is not None
    assert given_key.api_key.get_secret_value() == "from-environment"
    assert given_password.basic is not None
    assert given_password.basic.password.get_secret_value() == "from file"


@pytest.mark.parametrize(
    ("setting", "line"),
    [
        (
            "api_key: '${env:ISOLANE_NOT_SET}'",
            "api_key: the value refers to the environment variable 'ISOLANE_NOT_SET', which is not set",
        ),
        (
            "basic: {username: u, password: '${file:/nowhere/at/all}'}",
            (
                "basic.password: the value refers to the file '/nowhere/at/all', "
                "which cannot be read: No such file or directory"
            ),
        ),
        ("api_key: '${file:/dev/zero}'", "api_key: the value refers to '/dev/zero', which is no regular file"),
        ("api_key: '${file:/}'", "api_key: the value refers to '/', which is no regular file"),
        ("api_key: ''", "api_key: the value is empty"),
        ('api_key: "a\\nb"', "api_key: the value has a line break or another character that cannot be typed"),
        ("api_key: k\u00e9", f"api_key: the value {NOT_ENCODED}"),
        ("api_key: 'id:key'", f"api_key: the value {NOT_ENCODED}"),
        ("api_key: ApiKey aWQ6a2V5", f"api_key: the value {NOT_ENCODED}"),
        ("api_key: '${ENV:HOME}'", f"api_key: the value {NOT_A_REFERENCE}"),
        ("api_key: '${env:}'", f"api_key: the value {NOT_A_REFERENCE}"),
        ("basic: {username: u, password: ' ${env:HOME}'}", f"basic.password: the value {NOT_A_REFERENCE}"),
        ("basic: {username: 'u:v', password: p}", "basic.username: the value has a colon, which would end it"),
        ("ca_file: /dev/null", "ca_file: '/dev/null' is not a file"),
    ],
)
def test_credential_that_cannot_be_used_is_refused(tmp_path: Path, setting: str, line: str) -> None:
    """A reference that leads nowhere is named, and so is what no request could carry."""
    assert complaints(tmp_path, one_tenant(setting)) == [f"tenants.a.elasticsearch.{line}"]


@pytest.mark.parametrize(
    "setting",
    [
        "api_key: 74123698",
        "api_key: [planted74123698]",
        "basic: planted74123698",
        "basic: {username: u, password: {planted74123698: 1}}",
        "apikey: planted74123698",
        "endpoints: ['http://u:planted74123698@h:1']",
        "api_key: *planted74123698",
        "api_key: !planted74123698 x",
        "api_key: 'planted74123698",
    ],
)
def test_credential_is_never_printed_in_an_error(tmp_path: Path, setting: str) -> None:
    """Whatever is wrong about a credential, the error does not show it (OPS-3)."""
    text = one_tenant(setting).replace("endpoints: ['http://h:1'], endpoints", "endpoints")
    assert "74123698" not in "\n".join(complaints(tmp_path, text))


def test_password_of_the_brokers_is_never_printed(tmp_path: Path) -> None:
    """OPS-3: neither in an error beside it or about it, nor with the configuration."""
    sasl = "mechanism: PLAIN, username: u, password"
    for setting in (
        f"{sasl}: 5ecre7, other: 1",
        f"{sasl}: [5ecre7]",
        f'{sasl}: "5ecre7\\n"',
    ):
        (line, *_) = complaints(tmp_path, f"kafka: {{auth: {{sasl: {{{setting}}}}}}}{TENANTS}")
        assert "5ecre7" not in line
    config = load(tmp_path, f"kafka: {{auth: {{sasl: {{{sasl}: 5ecre7}}}}}}{TENANTS}")
    assert "5ecre7" not in repr(config) + config.model_dump_json()


def test_file_without_certificates_is_refused(tmp_path: Path) -> None:
    """What is not PEM is found when the file is read, not at the first delivery; its path is told whole."""
    path = tmp_path / ("c" * 100) / "ca.pem"
    path.parent.mkdir()
    path.write_text("no certificate", "utf-8")
    (line,) = complaints(tmp_path, one_tenant(f"ca_file: {path}"))
    assert line.startswith(f"tenants.a.elasticsearch.ca_file: '{path}' is not a file of certificates in PEM")


def test_authorities_that_were_replaced_are_a_change(tmp_path: Path) -> None:
    """OPS-4: a file of certificates that has others now, under its name, changes its tenant, and no other."""
    path = tmp_path / "ca.pem"
    loaded = []
    for _ in range(2):
        trustme.CA().cert_pem.write_to_path(path)
        own = f"{{topics: ['^t'], elasticsearch: {{endpoints: ['https://h:1'], ca_file: {path}}}}}"
        other = "{topics: ['^u'], elasticsearch: {endpoints: ['https://h:2']}}"
        loaded.append(load(tmp_path, f"kafka: {{tls: {{ca_file: {path}}}}}\ntenants: {{a: {own}, b: {other}}}"))
    former, later = loaded
    assert former.tenants["a"].elasticsearch != later.tenants["a"].elasticsearch
    assert former.tenants["b"] == later.tenants["b"]
    check_change(former, later)


def test_credential_is_never_printed_from_the_configuration(tmp_path: Path) -> None:
    """The configuration as text, as in a log or a debugger, does not show credentials (OPS-3)."""
    config = load(tmp_path, one_tenant("api_key: planted74123698"))
    assert "74123698" not in f"{config}{config!r}{config.model_dump()}{config.model_dump_json()}"


@pytest.mark.parametrize("host", ["node1..example", ".example", "n" * 64 + ".example", "n" * 64, "a,b", "${HOST}"])
def test_host_that_cannot_be_looked_up_is_refused(tmp_path: Path, host: str) -> None:
    """A typo is found when the file is read, at the start or by SIGHUP, and not in each attempt to connect (OPS-2)."""
    (line,) = complaints(
        tmp_path, f"tenants: {{a: {{topics: ['^t'], elasticsearch: {{endpoints: ['http://{host}:9200']}}}}}}"
    )
    assert line.startswith(f"tenants.a.elasticsearch.endpoints[0]: 'http://{host[:20]}")
    assert line.endswith("has no host that can be looked up; between its dots are 1 to 63 letters, digits, - or _")


def test_endpoint_gets_the_port_of_its_scheme(tmp_path: Path) -> None:
    """The client needs a port; a URL without one means what it means everywhere."""
    text = (
        "tenants: {a: {topics: ['^t'], elasticsearch: {endpoints: ['https://es_1.example./prefix/', 'http://[::1]']}}}"
    )
    endpoints = load(tmp_path, text).tenants["a"].elasticsearch.endpoints
    assert endpoints == ("https://es_1.example.:443/prefix", "http://[::1]:80")


TWO = """
kafka: {topics: ["^managed_otlp\\\\..+", "other.logs.named"]}
tenants:
  a: {topics: ["^managed_otlp\\\\.(logs|metrics)\\\\.a"], elasticsearch: {endpoints: ["http://127.0.0.1:1"]}}
  b: {topics: ["^managed_otlp\\\\.logs\\\\.ab$", other.logs.named], elasticsearch: {endpoints: ["http://127.0.0.1:2"]}}
"""


@pytest.mark.parametrize(
    ("topic", "owner"),
    [
        ("managed_otlp.logs.a", "a"),
        ("managed_otlp.metrics.a", "a"),
        ("managed_otlp.logs.a2", "a"),
        ("managed_otlp.logs.c", None),
        ("managed_otlp.logs.ab", None),
        ("managed_otlp.logs.a.dead_letter", None),
        ("other.logs.named", "b"),
        ("other.logs.named2", None),
        ("xother.logs.named", None),
    ],
)
def test_topic_has_one_owner_or_none(tmp_path: Path, topic: str, owner: str | None) -> None:
    """Patterns are open at their end, names are exact; what two tenants claim belongs to neither (TEN-2)."""
    assert load(tmp_path, TWO).tenant_of(topic) == owner


def test_claimants_are_named(tmp_path: Path) -> None:
    """An operator can be told who claims a topic that nobody is given."""
    assert load(tmp_path, TWO).claimants("managed_otlp.logs.ab") == ("a", "b")


@pytest.mark.parametrize(
    ("topic", "read"),
    [
        ("managed_otlp.logs.a", True),
        ("managed_otlp.logs.a.dead_letter", False),
        ("other.logs.named", True),
        ("other.logs.named.more", False),
        ("unrelated", False),
    ],
)
def test_subscription_never_reads_dead_letters_back(tmp_path: Path, topic: str, read: bool) -> None:  # noqa: FBT001 - a parameter of the table
    """One expression covers all patterns and names, and leaves out what this process itself writes."""
    config = load(tmp_path, TWO)
    assert bool(re.match(config.subscription, topic)) is read
    assert config.is_dead_letter(topic) is topic.endswith(".dead_letter")


def test_dead_letter_topic_may_be_one_for_all(tmp_path: Path) -> None:
    """A template without {topic} is one topic, and only that one is left out of the subscription."""
    config = load(tmp_path, TENANTS + "dead_letter: {topic: managed_otlp.dead}")
    assert config.dead_letter.topic_for("managed_otlp.logs.a") == "managed_otlp.dead"
    assert config.is_dead_letter("managed_otlp.dead")
    assert not config.is_dead_letter("managed_otlp.logs.dead")


def test_index_follows_the_signal(tmp_path: Path) -> None:
    """Each signal has its own index unless the template says otherwise."""
    assert load(tmp_path, TENANTS).tenants["a"].elasticsearch.index_for("traces") == "traces-otlp"


plain = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=12),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=6), inner, max_size=3),
    max_leaves=8,
)
sections = st.sampled_from([*Config.model_fields, "unheard_of"])
keys = st.sampled_from(["brokers", "topics", "autocommit", "partition_processing", "budget", "a", "floor", "interval"])


@given(st.dictionaries(sections, plain | st.dictionaries(keys, plain, max_size=3), max_size=3) | plain)
def test_any_document_is_read_or_refused_in_lines(document: object) -> None:
    """Nothing that YAML can express escapes as another error than ConfigError."""
    try:
        Config.parse(document)
    except ConfigError as error:
        assert all(": " in line for line in str(error).splitlines())  # noqa: PT017 - acceptance is as good
