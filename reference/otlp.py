"""OTLP export requests to documents: one for each log record, data point and span (TEN-3).

Documents have the shape of Elastic's OpenTelemetry mapping. Decoding is a pure function of the record and its place
in Kafka, ids included, so that a replay gives the same documents again (DEL-9).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

import orjson
from google.protobuf.message import DecodeError
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from isolane.reference import otlp_json
from isolane.reference.names import Encoding, Signal, signal_in
from isolane.reference.otlp_items import Item, logs, metrics, spans

if TYPE_CHECKING:
    from collections.abc import Iterator

Request = TypeVar("Request", ExportLogsServiceRequest, ExportMetricsServiceRequest, ExportTraceServiceRequest)


class Undecodable(Exception):  # noqa: N818 - named for the fact
    """A record's value is not what its topic carries; the text says why (POI-1)."""


@dataclass(frozen=True, slots=True)
class Document:
    """One item, ready to be sent.

    Attributes:
        index: The index it is written to.
        id: Unique within the tenant's cluster, and the same on every replay; ASCII, at most 300 bytes.
        source: The document as JSON, without line breaks.
    """

    index: str
    id: str
    source: bytes


def signal_of(topic: str) -> Signal:
    """Return the signal that `topic` carries.

    Raises:
        Undecodable: its name has none; nothing is guessed.
    """
    signal = signal_in(topic)
    if signal is None:
        raise Undecodable(f"the topic's name {topic!r} has no part that is logs, metrics or traces")
    return signal


def documents(
    topic: str,
    partition: int,
    offset: int,
    signal: Signal,
    value: bytes | None,
    *,
    encoding: Encoding = "otlp_proto",
    index: str | None = None,
) -> list[Document]:
    """Return the documents of one Kafka record, in the order of its items; none when there is nothing to deliver.

    Args:
        topic: Of the record, as are `partition` and `offset`: together they make the ids.
        partition: See above.
        offset: See above.
        signal: What the topic carries.
        value: The record's value: an OTLP export request, or nothing (POI-2).
        encoding: How the request is written.
        index: Where the documents are written; `<signal>-otlp` unless the tenant says otherwise.

    Raises:
        Undecodable: `value` is anything else. No other exception leaves, whatever the bytes.
    """
    if not value:
        return []
    target, place = index or f"{signal}-otlp", f"{topic}:{partition}:{offset}:"
    return [
        # What orjson returns keeps up to ten times the memory that it needs; a copy takes what it counts for (MEM-2).
        Document(target, f"{place}{position}", bytes(memoryview(orjson.dumps(item))))
        for position, item in enumerate(_items(signal, encoding, value))
    ]


def _items(signal: Signal, encoding: Encoding, value: bytes) -> Iterator[Item]:
    read = _read_json if encoding == "otlp_json" else _read_protobuf
    try:
        if signal == "logs":
            return logs(read(value, ExportLogsServiceRequest()).resource_logs)
        if signal == "metrics":
            return metrics(read(value, ExportMetricsServiceRequest()).resource_metrics)
        return spans(read(value, ExportTraceServiceRequest()).resource_spans)
    except (DecodeError, ValueError) as error:
        raise Undecodable(f"not an OTLP export request for {signal}: {error}") from None


def _read_protobuf(value: bytes, request: Request) -> Request:
    request.ParseFromString(value)
    if not request.ListFields():
        # Bytes that consist of unknown fields are well-formed protobuf: without this they would vanish unseen.
        raise ValueError("it has none of the fields of one")
    return request


def _read_json(value: bytes, request: Request) -> Request:
    otlp_json.read(value, request)
    return request
