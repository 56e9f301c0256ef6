"""Names in the configuration: topics and patterns of topics, dead-letter topics, indices, endpoints, files."""

import re
import ssl
from pathlib import Path
from typing import Annotated, Literal
from urllib.parse import urlsplit

from pydantic import AfterValidator, FilePath

from isolane.reference.units import described

Encoding = Literal["otlp_proto", "otlp_json"]
"""How an export request is written in a record."""

Signal = Literal["logs", "metrics", "traces"]
"""What a topic carries."""

_SIGNALS: dict[str, Signal] = {"logs": "logs", "metrics": "metrics", "traces": "traces"}
_IN_TOPIC = r"[A-Za-z0-9._-]"
_TOPIC = re.compile(_IN_TOPIC + "{1,249}")  # Kafka's own rule
_LAST_PORT = 65535
_LONGEST_INDEX = 255  # bytes
_URL = re.compile(r"https?://[!-~]+")  # nothing that an HTTP request line cannot hold
_HOST = r"(?:[A-Za-z0-9_-]{1,63}\.)*[A-Za-z0-9_-]{1,63}\.?"  # of any other, resolvers raise what is no OSError
_IN_INDEX = r"[^A-Z\\/*?\"<>| ,#:{}]"  # Elasticsearch's own rule, and no other placeholder
_INDEX = re.compile(rf"(?![-_+.]){_IN_INDEX}+")
_BROKER = re.compile(r"(?:[A-Za-z0-9._-]+|\[[0-9A-Fa-f:.]+\]):([0-9]{1,5})")


def compiled(selector: str) -> re.Pattern[str]:
    """Return the pattern that `selector` stands for, for `match`, as Kafka clients read it.

    A selector that begins with ^ is a pattern, which is open at its end unless it closes with $; any other is
    the name of one topic.
    """
    return re.compile(selector if selector.startswith("^") else f"^{re.escape(selector)}$")


def _selector(value: str) -> str:
    if not value.startswith("^"):
        if not _TOPIC.fullmatch(value):
            raise ValueError("is neither a topic's name nor a pattern, which begins with ^")
        return value
    try:
        re.compile(value)
    except (re.error, OverflowError, RecursionError) as error:
        raise ValueError(f"is not a regular expression: {error}") from None
    return value


def signal_in(topic: str) -> Signal | None:
    """Return the signal that `topic` carries: the first part of its name that is `logs`, `metrics` or `traces`."""
    return next((_SIGNALS[part] for part in topic.split(".") if part in _SIGNALS), None)


def dead_letter_pattern(template: str) -> str:
    """Return the regular expression of all topics that the dead-letter `template` can give."""
    return re.escape(template).replace(re.escape("{topic}"), f"{_IN_TOPIC}+")


def _dead_letter_topic(value: str) -> str:
    if not _TOPIC.fullmatch(value.replace("{topic}", "t")) or value == "{topic}" or value.count("{topic}") > 1:
        raise ValueError("is not a topic's name, in which {topic} may stand once for the record's own topic")
    return value


def _broker(value: str) -> str:
    match = _BROKER.fullmatch(value)
    if match is None or not 0 < int(match[1]) <= _LAST_PORT:
        raise ValueError("is not a broker; write host:port")
    return value


def _index(value: str) -> str:
    name = value.replace("{signal}", "metrics")
    if not _INDEX.fullmatch(name) or len(name.encode()) > _LONGEST_INDEX:
        raise ValueError("is not an index name in lower case, in which {signal} stands for logs, metrics or traces")
    return value


def _endpoint(value: str) -> str:
    try:
        url = urlsplit(value)
        port = {"http": 80, "https": 443}.get(url.scheme) if url.port is None else url.port
    except ValueError:
        url, port = urlsplit(""), None
    if "@" in url.netloc:
        raise ValueError("holds a credential; give it as api_key or basic")
    if not _URL.fullmatch(value) or not url.hostname or not port or url.query or url.fragment:
        raise ValueError("is not an endpoint; write http://host:port or https://host:port")
    if ":" not in url.hostname and not re.fullmatch(_HOST, url.hostname):
        raise ValueError("has no host that can be looked up; between its dots are 1 to 63 letters, digits, - or _")
    host = f"[{url.hostname}]" if ":" in url.hostname else url.hostname
    return f"{url.scheme}://{host}:{port}{url.path.rstrip('/')}"


def _certificates(path: Path) -> Path:
    try:
        ssl.create_default_context(cafile=path)
    except (OSError, ValueError) as error:
        raise ValueError(f"is not a file of certificates in PEM: {error}") from None
    return path


Broker = Annotated[str, AfterValidator(_broker), described(_BROKER.pattern)]
"""Where a broker is: `host:port`; an address of IPv6 in brackets."""

Selector = Annotated[str, AfterValidator(_selector), described(rf"\^.*|{_TOPIC.pattern}")]
"""A topic's name, or a pattern that begins with ^."""

DeadLetterTopic = Annotated[
    str,
    AfterValidator(_dead_letter_topic),
    described(rf"{_IN_TOPIC}+(?:\{{topic\}})?{_IN_TOPIC}*|\{{topic\}}{_IN_TOPIC}+"),
]
"""A topic's name, in which `{topic}` may stand for the record's own topic."""

IndexTemplate = Annotated[str, AfterValidator(_index), described(rf"(?![-_+.])(?:{_IN_INDEX}|\{{signal\}})+")]
"""An index's name, in which `{signal}` may stand for the record's signal."""

Endpoint = Annotated[
    str, AfterValidator(_endpoint), described(rf"https?://(?:\[[^@?#\s]+|{_HOST}(?::[0-9]*)?(?:/[^@?#\s]*)?)")
]
"""A URL with scheme, host and port, without credentials."""

CertificateFile = Annotated[FilePath, AfterValidator(_certificates)]
"""A file with the certificates of authorities to trust, in PEM."""
