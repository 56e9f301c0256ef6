"""OTLP's JSON gives the same documents as its protobuf, and no bytes get past unseen."""

from __future__ import annotations

import json
from base64 import b64decode
from typing import Any

import orjson
import pytest
from google.protobuf.json_format import MessageToDict
from google.protobuf.message import Message
from hypothesis import given
from hypothesis import strategies as st
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.common.v1.common_pb2 import AnyValue, KeyValue
from opentelemetry.proto.logs.v1.logs_pb2 import LogRecord, ResourceLogs, ScopeLogs
from opentelemetry.proto.metrics.v1.metrics_pb2 import Gauge, Metric, NumberDataPoint, ResourceMetrics, ScopeMetrics
from opentelemetry.proto.trace.v1.trace_pb2 import ResourceSpans, ScopeSpans, Span

from isolane.reference.names import Signal
from isolane.reference.otlp import Document, Undecodable, documents

NOW = 1_782_000_000_123_456_789
IDS = {"traceId", "spanId", "parentSpanId"}
ATTRIBUTE = KeyValue(key="traceId", value=AnyValue(bytes_value=b"\x00\xff"))
RECORD = LogRecord(
    time_unix_nano=NOW,
    body=AnyValue(string_value="hello"),
    attributes=[ATTRIBUTE],
    trace_id=bytes(range(16)),
    span_id=bytes(range(8)),
)
POINT = NumberDataPoint(time_unix_nano=NOW, as_int=-(2**63), attributes=[ATTRIBUTE])
SPAN = Span(
    name="s", trace_id=bytes(16), span_id=bytes(8), parent_span_id=bytes(8), links=[Span.Link(span_id=b"8" * 8)]
)
SAMPLES: dict[Signal, Message] = {
    "logs": ExportLogsServiceRequest(
        resource_logs=[ResourceLogs(scope_logs=[ScopeLogs(log_records=[RECORD, RECORD])])]
    ),
    "metrics": ExportMetricsServiceRequest(
        resource_metrics=[
            ResourceMetrics(scope_metrics=[ScopeMetrics(metrics=[Metric(name="m", gauge=Gauge(data_points=[POINT]))])])
        ]
    ),
    "traces": ExportTraceServiceRequest(resource_spans=[ResourceSpans(scope_spans=[ScopeSpans(spans=[SPAN])])]),
}
SIGNALS = sorted(SAMPLES)
KEYS = st.sampled_from(
    [
        *("resourceLogs", "resource_metrics", "scopeLogs", "logRecords", "body", "severityNumber", "timeUnixNano"),
        *("attributes", "key", "value", "stringValue", "kvlistValue", "arrayValue", "values", "traceId"),
        *("gauge", "dataPoints", "asInt"),
    ]
)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**65), 2**65) | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=3),
    max_leaves=8,
)


def as_json(request: Message) -> bytes:
    """Return an export request as OTLP's JSON."""

    def with_digits(part: Any) -> Any:  # noqa: ANN401 - any JSON
        if isinstance(part, list):
            return [with_digits(each) for each in part]
        if not isinstance(part, dict):
            return part
        return {key: b64decode(inner).hex() if key in IDS else with_digits(inner) for key, inner in part.items()}

    return orjson.dumps(with_digits(MessageToDict(request)))


def decoded(signal: Signal, value: bytes) -> list[Document]:
    """Return the documents of a record in JSON."""
    return documents("t", 0, 0, signal, value, encoding="otlp_json")


@pytest.mark.parametrize("signal", SIGNALS)
def test_documents_are_those_of_protobuf(signal: Signal) -> None:
    """However a request is written, its items become the same documents, with the same ids."""
    request = SAMPLES[signal]
    assert decoded(signal, as_json(request)) == documents("t", 0, 0, signal, bytes(request.SerializeToString()))


def test_what_the_specification_leaves_open_is_read() -> None:
    """Numbers as text or not, names in either case, digits in either case, and fields that are not known yet."""
    (document,) = decoded(
        "logs",
        b'{"resource_logs":[{"scopeLogs":[{"logRecords":[{"timeUnixNano":1782000000123456789,"observedTimeUnixNano":"5",'
        b'"severityNumber":9,"traceId":"000102030405060708090A0B0C0D0E0F","body":{"intValue":"7"},"new":[1]}]}]}]}',
    )
    source = orjson.loads(document.source)
    assert source["@timestamp"] == "2026-06-21T00:00:00.123456789Z"
    assert (source["severity_number"], source["body"]) == (9, {"text": "7"})
    assert source["trace_id"] == "000102030405060708090a0b0c0d0e0f"


@pytest.mark.parametrize("value", [b"{}", b'{"resourceLogs":[]}', b'{"resourceLogs":[{"scopeLogs":[]}]}', b""])
def test_a_request_without_items_has_nothing_to_deliver(value: bytes) -> None:
    """It counts as done (POI-2)."""
    assert decoded("logs", value) == []


@pytest.mark.parametrize(
    "value",
    [
        pytest.param(b"hello", id="not JSON"),
        pytest.param(b"[]", id="an array"),
        pytest.param(b'{"message":"hello"}', id="other fields only"),
        pytest.param(b'{"resourceLogs":{}}', id="an object in the place of an array"),
        pytest.param(b'{"resourceLogs":[{"scopeLogs":[{"logRecords":[{"traceId":"xyz"}]}]}]}', id="an id of no digits"),
        pytest.param(b'{"resourceLogs":[{"scopeLogs":[{"logRecords":[{"timeUnixNano":-1}]}]}]}', id="a negative time"),
        pytest.param(b'{"resourceLogs":' + b"[" * 2000 + b"]" * 2000 + b"}", id="nested too deeply"),
        pytest.param(
            b'{"resourceLogs":[],"x":' + b"[" * 900 + b"]" * 900 + b"}", id="nested deeply where nobody looks"
        ),
        pytest.param(b'{"resourceLogs":[],"x":"\xff"}', id="not UTF-8"),
    ],
)
def test_value_that_is_no_export_request_is_undecodable(value: bytes) -> None:
    """Whatever else a topic holds is told apart, with a reason; it never vanishes as if it were empty (POI-1)."""
    with pytest.raises(Undecodable, match=r"^not an OTLP export request for logs: ."):
        decoded("logs", value)


@given(st.sampled_from(SIGNALS), st.binary(max_size=64) | VALUES.map(lambda value: json.dumps(value).encode()))
def test_any_bytes_are_documents_or_undecodable(signal: Signal, value: bytes) -> None:
    """No bytes, and no JSON of any shape, raise anything else."""
    holds_documents_or_is_undecodable(signal, value)


@given(st.sampled_from(SIGNALS), st.integers(0, 400), st.binary(min_size=1, max_size=3))
def test_damaged_records_are_documents_or_undecodable(signal: Signal, place: int, damage: bytes) -> None:
    """A record with a few wrong bytes raises nothing else, either."""
    value = as_json(SAMPLES[signal])
    place %= len(value)
    holds_documents_or_is_undecodable(signal, value[:place] + damage + value[place + len(damage) :])


def holds_documents_or_is_undecodable(signal: Signal, value: bytes) -> None:
    """Decode; documents are single lines of JSON."""
    try:
        found = decoded(signal, value)
    except Undecodable:
        return
    assert all(b"\n" not in document.source and orjson.loads(document.source) for document in found)
