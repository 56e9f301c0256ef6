"""OTLP records as documents: every item arrives, whatever it holds, and no bytes get past unseen."""

from __future__ import annotations

from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.common.v1.common_pb2 import (
    AnyValue,
    ArrayValue,
    InstrumentationScope,
    KeyValue,
    KeyValueList,
)
from opentelemetry.proto.logs.v1.logs_pb2 import LogRecord, ResourceLogs, ScopeLogs
from opentelemetry.proto.metrics.v1.metrics_pb2 import (
    ExponentialHistogram,
    ExponentialHistogramDataPoint,
    Gauge,
    Histogram,
    HistogramDataPoint,
    Metric,
    NumberDataPoint,
    ResourceMetrics,
    ScopeMetrics,
    Sum,
    Summary,
    SummaryDataPoint,
)
from opentelemetry.proto.resource.v1.resource_pb2 import Resource
from opentelemetry.proto.trace.v1.trace_pb2 import ResourceSpans, ScopeSpans, Span, Status

from isolane.reference.names import Signal
from isolane.reference.otlp import Undecodable, documents, signal_of

NOW = 1_782_000_000_123_456_789
NOW_TEXT = "2026-06-21T00:00:00.123456789Z"
SIGNALS: list[Signal] = ["logs", "metrics", "traces"]


def attribute(key: str, value: AnyValue | None = None) -> KeyValue:
    """Return an attribute."""
    return KeyValue(key=key, value=value)


def text(value: str) -> AnyValue:
    """Return a string as OTLP has it."""
    return AnyValue(string_value=value)


RESOURCE = Resource(attributes=[attribute("service.name", AnyValue(string_value="shop"))])
SCOPE = InstrumentationScope(name="lib", version="1.2")
COMMON = {"resource": {"attributes": {"service.name": "shop"}}, "scope": {"name": "lib", "version": "1.2"}}


def logs(*records: LogRecord) -> bytes:
    """Return an export request with these log records."""
    scope = ScopeLogs(scope=SCOPE, log_records=records)
    return bytes(
        ExportLogsServiceRequest(
            resource_logs=[ResourceLogs(resource=RESOURCE, scope_logs=[scope])]
        ).SerializeToString()
    )


def metrics(metric: Metric) -> bytes:
    """Return an export request with one metric."""
    scope = ScopeMetrics(scope=SCOPE, metrics=[metric])
    return bytes(
        ExportMetricsServiceRequest(
            resource_metrics=[ResourceMetrics(resource=RESOURCE, scope_metrics=[scope])]
        ).SerializeToString()
    )


def traces(*spans: Span) -> bytes:
    """Return an export request with these spans."""
    scope = ScopeSpans(scope=SCOPE, spans=spans)
    return bytes(
        ExportTraceServiceRequest(
            resource_spans=[ResourceSpans(resource=RESOURCE, scope_spans=[scope])]
        ).SerializeToString()
    )


def sources(signal: Signal, value: bytes) -> list[Any]:
    """Return the documents of a record as plain values."""
    return [orjson.loads(document.source) for document in documents("t", 0, 0, signal, value)]


def test_log_record_is_a_document() -> None:
    """A log record keeps all that it says, in the names of Elastic's OpenTelemetry mapping."""
    record = LogRecord(
        time_unix_nano=NOW,
        observed_time_unix_nano=NOW + 1,
        severity_number=9,  # type: ignore[arg-type]  # an enumeration in name only
        severity_text="INFO",
        event_name="started",
        body=text("hello"),
        attributes=[attribute("n", AnyValue(int_value=-(2**63))), attribute("ok", AnyValue(bool_value=True))],
        dropped_attributes_count=2,
        trace_id=bytes(range(16)),
        span_id=bytes(range(8)),
    )
    assert sources("logs", logs(record)) == [
        {
            **COMMON,
            "@timestamp": NOW_TEXT,
            "observed_timestamp": "2026-06-21T00:00:00.123456790Z",
            "severity_number": 9,
            "severity_text": "INFO",
            "event_name": "started",
            "body": {"text": "hello"},
            "attributes": {"n": -(2**63), "ok": True},
            "dropped_attributes_count": 2,
            "trace_id": "000102030405060708090a0b0c0d0e0f",
            "span_id": "0001020304050607",
        }
    ]


def test_log_record_that_says_nothing_is_a_document_all_the_same() -> None:
    """What is unset is left out; the time is never invented, so that a replay gives the same document."""
    (source,) = sources("logs", logs(LogRecord()))
    assert source == {**COMMON, "@timestamp": "1970-01-01T00:00:00.000000000Z", "attributes": {}, "body": {}}


def test_time_of_observation_stands_in_for_an_unknown_time() -> None:
    """As the OTLP specification has it for records that do not know when they happened."""
    (source,) = sources("logs", logs(LogRecord(observed_time_unix_nano=NOW)))
    assert source["@timestamp"] == NOW_TEXT


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        (text("line\nbreak \u00e9 \x00"), {"text": "line\nbreak \u00e9 \x00"}),
        (AnyValue(int_value=5), {"text": "5"}),
        (AnyValue(bool_value=False), {"text": "false"}),
        (AnyValue(double_value=0.5), {"text": "0.5"}),
        (AnyValue(bytes_value=b"\x00\xff"), {"text": "AP8="}),
        (AnyValue(), {}),
        (
            AnyValue(kvlist_value=KeyValueList(values=[attribute("a", AnyValue(string_value="b"))])),
            {"structured": {"a": "b"}},
        ),
        (AnyValue(array_value=ArrayValue(values=[text("a"), text("b")])), {"structured": {"value": ["a", "b"]}}),
        (
            AnyValue(array_value=ArrayValue(values=[AnyValue(kvlist_value=KeyValueList(values=[attribute("a")]))])),
            {"structured": [{"a": None}]},
        ),
    ],
)
def test_body_is_text_or_structured(body: AnyValue, expected: dict[str, Any]) -> None:
    """One value is text; objects are kept; other lists are wrapped, since Elasticsearch takes objects only."""
    (source,) = sources("logs", logs(LogRecord(body=body)))
    assert source["body"] == expected


@pytest.mark.parametrize(
    ("metric", "measured"),
    [
        (Metric(gauge=Gauge(data_points=[NumberDataPoint(as_double=0.5, time_unix_nano=NOW)])), 0.5),
        (Metric(sum=Sum(data_points=[NumberDataPoint(as_int=7, time_unix_nano=NOW)])), 7),
        (Metric(sum=Sum(data_points=[NumberDataPoint(time_unix_nano=NOW)])), None),
        (
            Metric(
                histogram=Histogram(
                    data_points=[
                        HistogramDataPoint(
                            time_unix_nano=NOW, count=3, sum=6, bucket_counts=[1, 2], explicit_bounds=[1.5]
                        )
                    ]
                )
            ),
            {"count": 3, "sum": 6.0, "bucket_counts": [1, 2], "explicit_bounds": [1.5]},
        ),
        (
            Metric(
                exponential_histogram=ExponentialHistogram(
                    data_points=[
                        ExponentialHistogramDataPoint(
                            time_unix_nano=NOW,
                            count=2,
                            scale=3,
                            zero_count=1,
                            max=4,
                            positive=ExponentialHistogramDataPoint.Buckets(offset=-2, bucket_counts=[1]),
                        )
                    ]
                )
            ),
            {
                "count": 2,
                "max": 4.0,
                "scale": 3,
                "zero_count": 1,
                "positive": {"offset": -2, "bucket_counts": [1]},
            },
        ),
        (
            Metric(
                summary=Summary(
                    data_points=[
                        SummaryDataPoint(
                            time_unix_nano=NOW,
                            count=2,
                            sum=3,
                            quantile_values=[SummaryDataPoint.ValueAtQuantile(quantile=0.5, value=1.5)],
                        )
                    ]
                )
            ),
            {"count": 2, "sum": 3.0, "quantile_values": [{"quantile": 0.5, "value": 1.5}]},
        ),
    ],
)
def test_data_point_is_a_document(metric: Metric, measured: object) -> None:
    """Each kind of metric keeps its figures, under the metric's name and OTLP's own."""
    metric.name, metric.unit = "m", "By"
    assert sources("metrics", metrics(metric)) == [
        {**COMMON, "@timestamp": NOW_TEXT, "attributes": {}, "unit": "By", "metrics": {"m": measured}}
    ]


def test_every_data_point_is_a_document_of_its_own() -> None:
    """Points of one metric are told apart by their attributes."""
    points = [
        NumberDataPoint(as_int=n, start_time_unix_nano=NOW, attributes=[attribute("n", AnyValue(int_value=n))])
        for n in range(3)
    ]
    found = sources("metrics", metrics(Metric(gauge=Gauge(data_points=points))))
    assert [source["attributes"]["n"] for source in found] == [0, 1, 2]
    assert {source["start_timestamp"] for source in found} == {NOW_TEXT}


def test_metric_without_data_has_nothing_to_deliver() -> None:
    """A metric of no kind, or without points, counts as done (POI-2)."""
    assert sources("metrics", metrics(Metric())) == []
    assert sources("metrics", metrics(Metric(gauge=Gauge()))) == []


def test_span_is_a_document() -> None:
    """A span keeps its events and links."""
    span = Span(
        trace_id=bytes(16),
        span_id=bytes(8),
        parent_span_id=b"\x01" * 8,
        trace_state="k=v",
        name="GET /",
        kind=Span.SPAN_KIND_SERVER,
        start_time_unix_nano=NOW,
        end_time_unix_nano=NOW + 250,
        attributes=[attribute("http.status", AnyValue(int_value=500))],
        events=[Span.Event(time_unix_nano=NOW, name="oops", attributes=[attribute("e", AnyValue(string_value="x"))])],
        links=[Span.Link(trace_id=b"\x02" * 16, span_id=b"\x03" * 8)],
        dropped_events_count=1,
        status=Status(code=Status.STATUS_CODE_ERROR, message="failed"),
    )
    assert sources("traces", traces(span)) == [
        {
            **COMMON,
            "@timestamp": NOW_TEXT,
            "trace_id": "00" * 16,
            "span_id": "00" * 8,
            "parent_span_id": "01" * 8,
            "trace_state": "k=v",
            "name": "GET /",
            "kind": "Server",
            "duration": 250,
            "attributes": {"http.status": 500},
            "events": [{"@timestamp": NOW_TEXT, "name": "oops", "attributes": {"e": "x"}}],
            "links": [{"trace_id": "02" * 16, "span_id": "03" * 8, "attributes": {}}],
            "dropped_events_count": 1,
            "status": {"code": "Error", "message": "failed"},
        }
    ]


def test_numbers_that_json_does_not_have_leave_the_document_valid() -> None:
    """NaN, infinities and enumerations from the future do not make a record undecodable."""
    odd = LogRecord(
        attributes=[
            attribute("nan", AnyValue(double_value=float("nan"))),
            attribute("inf", AnyValue(double_value=float("inf"))),
        ]
    )
    (source,) = sources("logs", logs(odd))
    assert source["attributes"] == {"nan": None, "inf": None}
    future = Span(kind=77, status=Status(code=99), end_time_unix_nano=1, start_time_unix_nano=2)  # type: ignore[arg-type]  # unknown yet
    (source,) = sources("traces", traces(future))
    assert (source["kind"], source["status"], source["duration"]) == ("77", {"code": "99"}, 0)


def test_place_and_position_make_the_id() -> None:
    """Ids follow from the record's place alone: the same on every replay, and different for everything else (DEL-9)."""
    value = logs(LogRecord(body=text("a")), LogRecord(body=text("b")))
    first, again = (documents("managed_otlp.logs.a", 3, 42, "logs", value) for _ in range(2))
    assert first == again
    assert [document.id for document in first] == ["managed_otlp.logs.a:3:42:0", "managed_otlp.logs.a:3:42:1"]
    longest = documents("t" * 249, 2**31 - 1, 2**63 - 1, "logs", value)
    assert max(len(document.id) for document in longest) <= 512


@pytest.mark.parametrize("signal", SIGNALS)
def test_index_follows_the_signal_unless_given(signal: Signal) -> None:
    """Each signal has an index of its own; a tenant's configuration may name another."""
    value = {"logs": logs(LogRecord()), "traces": traces(Span())}.get(
        signal, metrics(Metric(gauge=Gauge(data_points=[NumberDataPoint()])))
    )
    assert documents("t", 0, 0, signal, value)[0].index == f"{signal}-otlp"
    assert documents("t", 0, 0, signal, value, index="mine")[0].index == "mine"


@pytest.mark.parametrize("signal", SIGNALS)
@pytest.mark.parametrize("value", [None, b""])
def test_empty_value_has_nothing_to_deliver(signal: Signal, value: bytes | None) -> None:
    """A tombstone, and an export request without anything, count as done (POI-2)."""
    assert documents("t", 0, 0, signal, value) == []


def test_resource_without_records_has_nothing_to_deliver() -> None:
    """An export request that names a resource only counts as done, too."""
    assert sources("logs", logs()) == []


@pytest.mark.parametrize(
    "value",
    [
        pytest.param(b'{"resourceLogs":[]}', id="JSON"),
        pytest.param(b"\xff\xff\xff", id="cut off"),
        pytest.param(b"\x08\x01", id="unknown fields only"),
        pytest.param(b"\x0a\x05hello", id="not a resource"),
        pytest.param(logs(LogRecord(body=text("x" * 50)))[:-3], id="the end is missing"),
        pytest.param(logs(LogRecord(body=text("@@@@"))).replace(b"@@@@", b"\xff\xff\xff\xff"), id="not UTF-8"),
    ],
)
@pytest.mark.parametrize("signal", SIGNALS)
def test_value_that_is_no_export_request_is_undecodable(signal: Signal, value: bytes) -> None:
    """Whatever else a topic holds is told apart, with a reason; it never vanishes as if it were empty (POI-1)."""
    with pytest.raises(Undecodable, match=f"not an OTLP export request for {signal}"):
        documents("t", 0, 0, signal, value)


@pytest.mark.parametrize(("depth", "decodable"), [(30, True), (2000, False)])
def test_deep_nesting_is_decoded_or_refused(depth: int, decodable: bool) -> None:  # noqa: FBT001 - a column of the table
    """Values nested beyond what decoders take are refused, and do not exhaust the stack."""
    body = bytes(text("x").SerializeToString())
    for _ in range(depth):
        body = field(5, field(1, body))
    record = field(1, field(2, field(2, field(5, body))))
    if decodable:
        assert len(documents("t", 0, 0, "logs", record)) == 1
    else:
        with pytest.raises(Undecodable):
            documents("t", 0, 0, "logs", record)


def field(number: int, content: bytes) -> bytes:
    """Return a field with a length, as protobuf writes it."""
    length = b""
    rest = len(content)
    while rest > 0x7F:
        length += bytes([rest & 0x7F | 0x80])
        rest >>= 7
    return bytes([number << 3 | 2]) + length + bytes([rest]) + content


@given(st.sampled_from(SIGNALS), st.binary(max_size=64))
def test_any_bytes_are_documents_or_undecodable(signal: Signal, value: bytes) -> None:
    """No bytes raise anything else."""
    try:
        found = documents("t", 0, 0, signal, value)
    except Undecodable:
        return
    assert all(b"\n" not in document.source and orjson.loads(document.source) for document in found)


samples = {
    "logs": logs(LogRecord(time_unix_nano=NOW, body=text("hello"), attributes=[attribute("a", AnyValue(int_value=1))])),
    "metrics": metrics(Metric(gauge=Gauge(data_points=[NumberDataPoint(as_int=7, time_unix_nano=NOW)]))),
    "traces": traces(Span(name="s", trace_id=bytes(16), events=[Span.Event(name="e")], links=[Span.Link()])),
}


@given(st.sampled_from(SIGNALS), st.integers(0, 200), st.binary(min_size=1, max_size=3))
def test_damaged_records_are_documents_or_undecodable(signal: Signal, place: int, damage: bytes) -> None:
    """A record with a few wrong bytes raises nothing else, either."""
    value = samples[signal]
    place %= len(value)
    try:
        found = documents("t", 0, 0, signal, value[:place] + damage + value[place + len(damage) :])
    except Undecodable:
        return
    assert all(b"\n" not in document.source and orjson.loads(document.source) for document in found)


@pytest.mark.parametrize(
    ("topic", "signal"),
    [("managed_otlp.logs.a", "logs"), ("managed_otlp.metrics.logs", "metrics"), ("traces", "traces")],
)
def test_signal_is_in_the_topics_name(topic: str, signal: Signal) -> None:
    """The first part of the name that is a signal's counts: a tenant may be called logs."""
    assert signal_of(topic) == signal


def test_topic_without_a_signal_is_undecodable() -> None:
    """Nothing is guessed: what the records are is not known."""
    with pytest.raises(Undecodable, match=r"the topic's name 'mylogs\.a' has no part that is logs, metrics or traces"):
        signal_of("mylogs.a")
