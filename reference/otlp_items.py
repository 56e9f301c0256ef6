"""The fields of OTLP items as plain values, in the names and shapes of Elastic's OpenTelemetry mapping.

Fields that are unset are left out. Times are ISO 8601 with nanoseconds, in UTC.
"""

from __future__ import annotations

from base64 import b64encode
from datetime import UTC, datetime
from functools import lru_cache
from operator import attrgetter
from typing import TYPE_CHECKING, Any

import orjson

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from opentelemetry.proto.common.v1.common_pb2 import AnyValue, InstrumentationScope, KeyValue
    from opentelemetry.proto.logs.v1.logs_pb2 import LogRecord, ResourceLogs
    from opentelemetry.proto.metrics.v1.metrics_pb2 import (
        ExponentialHistogramDataPoint,
        HistogramDataPoint,
        Metric,
        NumberDataPoint,
        ResourceMetrics,
        SummaryDataPoint,
    )
    from opentelemetry.proto.resource.v1.resource_pb2 import Resource
    from opentelemetry.proto.trace.v1.trace_pb2 import ResourceSpans, Span

Item = dict[str, Any]
"""One document before it is written as JSON."""

_SPAN_KINDS = ("Unspecified", "Internal", "Server", "Client", "Producer", "Consumer")
_STATUS_CODES = ("Unset", "Ok", "Error")


def logs(resources: Iterable[ResourceLogs]) -> Iterator[Item]:
    """Yield an item for each log record."""
    for group in resources:
        resource = _resource(group.resource, group.schema_url)
        for scope_group in group.scope_logs:
            scope = _scope(scope_group.scope, scope_group.schema_url)
            for record in scope_group.log_records:
                yield _log(record, resource, scope)


def metrics(resources: Iterable[ResourceMetrics]) -> Iterator[Item]:
    """Yield an item for each data point of each metric."""
    for group in resources:
        resource = _resource(group.resource, group.schema_url)
        for scope_group in group.scope_metrics:
            scope = _scope(scope_group.scope, scope_group.schema_url)
            for metric in scope_group.metrics:
                yield from _points(metric, resource, scope)


def spans(resources: Iterable[ResourceSpans]) -> Iterator[Item]:
    """Yield an item for each span; its events and links stay with it."""
    for group in resources:
        resource = _resource(group.resource, group.schema_url)
        for scope_group in group.scope_spans:
            scope = _scope(scope_group.scope, scope_group.schema_url)
            for span in scope_group.spans:
                yield _span(span, resource, scope)


def _log(record: LogRecord, resource: Item, scope: Item) -> Item:
    item: Item = {
        "@timestamp": _timestamp(record.time_unix_nano or record.observed_time_unix_nano),
        "resource": resource,
        "scope": scope,
        "attributes": _attributes(record.attributes),
        "body": _body(record.body),
    }
    if record.observed_time_unix_nano:
        item["observed_timestamp"] = _timestamp(record.observed_time_unix_nano)
    if record.severity_number:
        item["severity_number"] = record.severity_number
    if record.severity_text:
        item["severity_text"] = record.severity_text
    if record.event_name:
        item["event_name"] = record.event_name
    if record.dropped_attributes_count:
        item["dropped_attributes_count"] = record.dropped_attributes_count
    _identify(item, record)
    return item


def _body(body: AnyValue) -> Item:
    """Return a log's body: text for what is one value, structured for what Elasticsearch takes as objects."""
    value = _value(body)
    if value is None:
        return {}
    if isinstance(value, dict):
        return {"structured": value}
    if isinstance(value, list):
        return {"structured": value if all(isinstance(part, dict) for part in value) else {"value": value}}
    return {"text": value if isinstance(value, str) else orjson.dumps(value).decode()}


def _points(metric: Metric, resource: Item, scope: Item) -> Iterator[Item]:
    kind = metric.WhichOneof("data")
    if kind is None:
        return
    data, measured = getattr(metric, kind), _MEASURES[kind]
    for point in data.data_points:
        item: Item = {
            "@timestamp": _timestamp(point.time_unix_nano),
            "resource": resource,
            "scope": scope,
            "attributes": _attributes(point.attributes),
            "metrics": {metric.name: measured(point)},
        }
        if point.start_time_unix_nano:
            item["start_timestamp"] = _timestamp(point.start_time_unix_nano)
        if metric.unit:
            item["unit"] = metric.unit
        yield item


def _number(point: NumberDataPoint) -> int | float | None:
    kind = point.WhichOneof("value")
    return getattr(point, kind) if kind else None


def _histogram(point: HistogramDataPoint) -> Item:
    return _totals(point) | {
        "bucket_counts": list(point.bucket_counts),
        "explicit_bounds": list(point.explicit_bounds),
    }


def _exponential_histogram(point: ExponentialHistogramDataPoint) -> Item:
    return _totals(point) | {
        "scale": point.scale,
        "zero_count": point.zero_count,
        "zero_threshold": point.zero_threshold,
        "positive": {"offset": point.positive.offset, "bucket_counts": list(point.positive.bucket_counts)},
        "negative": {"offset": point.negative.offset, "bucket_counts": list(point.negative.bucket_counts)},
    }


def _totals(point: HistogramDataPoint | ExponentialHistogramDataPoint) -> Item:
    return {"count": point.count} | {
        name: getattr(point, name) for name in ("sum", "min", "max") if point.HasField(name)
    }


def _summary(point: SummaryDataPoint) -> Item:
    quantiles = [{"quantile": each.quantile, "value": each.value} for each in point.quantile_values]
    return {"count": point.count, "sum": point.sum, "quantiles": quantiles}


_MEASURES: dict[str, Callable[[Any], Any]] = {
    "gauge": _number,
    "sum": _number,
    "histogram": _histogram,
    "exponential_histogram": _exponential_histogram,
    "summary": _summary,
}


def _span(span: Span, resource: Item, scope: Item) -> Item:
    item: Item = {
        "@timestamp": _timestamp(span.start_time_unix_nano),
        "resource": resource,
        "scope": scope,
        "attributes": _attributes(span.attributes),
        "name": span.name,
        "kind": _named(_SPAN_KINDS, span.kind),
        "duration": max(0, span.end_time_unix_nano - span.start_time_unix_nano),
        "status": {"code": _named(_STATUS_CODES, span.status.code)},
    }
    if span.status.message:
        item["status"]["message"] = span.status.message
    if span.parent_span_id:
        item["parent_span_id"] = span.parent_span_id.hex()
    if span.events:
        item["events"] = [
            {
                "@timestamp": _timestamp(event.time_unix_nano),
                "name": event.name,
                "attributes": _attributes(event.attributes),
            }
            for event in span.events
        ]
    if span.links:
        item["links"] = [_identify({"attributes": _attributes(link.attributes)}, link) for link in span.links]
    for count in ("dropped_attributes_count", "dropped_events_count", "dropped_links_count"):
        if dropped := getattr(span, count):
            item[count] = dropped
    if span.trace_state:
        item["trace_state"] = span.trace_state
    return _identify(item, span)


def _identify(item: Item, source: LogRecord | Span | Span.Link) -> Item:
    """Add the ids of trace and span, as hexadecimal digits."""
    if source.trace_id:
        item["trace_id"] = source.trace_id.hex()
    if source.span_id:
        item["span_id"] = source.span_id.hex()
    return item


def _named(names: tuple[str, ...], number: int) -> str:
    return names[number] if 0 <= number < len(names) else str(number)


def _resource(resource: Resource, schema_url: str) -> Item:
    item: Item = {"attributes": _attributes(resource.attributes)}
    if schema_url:
        item["schema_url"] = schema_url
    if resource.dropped_attributes_count:
        item["dropped_attributes_count"] = resource.dropped_attributes_count
    return item


def _scope(scope: InstrumentationScope, schema_url: str) -> Item:
    item: Item = {}
    if scope.name:
        item["name"] = scope.name
    if scope.version:
        item["version"] = scope.version
    if scope.attributes:
        item["attributes"] = _attributes(scope.attributes)
    if schema_url:
        item["schema_url"] = schema_url
    return item


def _attributes(pairs: Iterable[KeyValue]) -> Item:
    return {pair.key: _value(pair.value) for pair in pairs}


def _value(value: AnyValue) -> object:
    return _VALUES[value.WhichOneof("value")](value)


_VALUES: dict[str | None, Callable[[AnyValue], object]] = {
    None: lambda _: None,
    "string_value": attrgetter("string_value"),
    "bool_value": attrgetter("bool_value"),
    "int_value": attrgetter("int_value"),
    "double_value": attrgetter("double_value"),
    "bytes_value": lambda value: b64encode(value.bytes_value).decode(),
    "array_value": lambda value: [_value(part) for part in value.array_value.values],
    "kvlist_value": lambda value: _attributes(value.kvlist_value.values),
    # An index into a table that only profiles carry: nothing to show for it here.
    "string_value_strindex": lambda _: None,
}


def _timestamp(nanoseconds: int) -> str:
    seconds, fraction = divmod(nanoseconds, 1_000_000_000)
    return f"{_second(seconds)}.{fraction:09d}Z"


@lru_cache(maxsize=1024)
def _second(seconds: int) -> str:
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%S")
