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
    from opentelemetry.proto.metrics.v1.metrics_pb2 import Metric, ResourceMetrics
    from opentelemetry.proto.resource.v1.resource_pb2 import Resource
    from opentelemetry.proto.trace.v1.trace_pb2 import ResourceSpans, Span

Item = dict[str, Any]
"""One document before it is written as JSON."""

_SPAN_KINDS = ("Unspecified", "Internal", "Server", "Client", "Producer", "Consumer")
_STATUS_CODES = ("Unset", "Ok", "Error")
_IDS = ("trace_id", "span_id")
_LOG_FIELDS = ("severity_number", "severity_text", "event_name", "dropped_attributes_count", *_IDS)
_DROPPED = ("dropped_attributes_count", "dropped_events_count", "dropped_links_count")
_SCOPE_FIELDS = ("name", "version")
_SPAN_FIELDS = ("parent_span_id", "trace_state", *_DROPPED, *_IDS)
_NOT_MEASURED = ("attributes", "start_time_unix_nano", "time_unix_nano", "exemplars", "flags")


def logs(resources: Iterable[ResourceLogs]) -> Iterator[Item]:
    """Yield an item for each log record."""
    for group in resources:
        resource = _origin(group.resource, group.schema_url)
        for scoped in group.scope_logs:
            scope = _origin(scoped.scope, scoped.schema_url, _SCOPE_FIELDS)
            for record in scoped.log_records:
                yield _log(record, resource, scope)


def metrics(resources: Iterable[ResourceMetrics]) -> Iterator[Item]:
    """Yield an item for each data point of each metric."""
    for group in resources:
        resource = _origin(group.resource, group.schema_url)
        for scoped in group.scope_metrics:
            scope = _origin(scoped.scope, scoped.schema_url, _SCOPE_FIELDS)
            for metric in scoped.metrics:
                yield from _points(metric, resource, scope)


def spans(resources: Iterable[ResourceSpans]) -> Iterator[Item]:
    """Yield an item for each span; its events and links stay with it."""
    for group in resources:
        resource = _origin(group.resource, group.schema_url)
        for scoped in group.scope_spans:
            scope = _origin(scoped.scope, scoped.schema_url, _SCOPE_FIELDS)
            for span in scoped.spans:
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
    return _add(item, record, _LOG_FIELDS)


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
    for point in getattr(metric, kind).data_points if kind else ():
        item: Item = {
            "@timestamp": _timestamp(point.time_unix_nano),
            "resource": resource,
            "scope": scope,
            "attributes": _attributes(point.attributes),
            "metrics": {metric.name: _number(point) if kind in {"gauge", "sum"} else _plain(point, _NOT_MEASURED)},
        }
        if point.start_time_unix_nano:
            item["start_timestamp"] = _timestamp(point.start_time_unix_nano)
        yield _add(item, metric, ("unit",))


def _number(point: Any) -> int | float | None:  # noqa: ANN401 - the types of points are found at run time
    kind = point.WhichOneof("value")
    return getattr(point, kind) if kind else None


def _plain(message: Any, without: tuple[str, ...] = ()) -> Item:  # noqa: ANN401 - any kind of histogram or summary
    """Return the fields that are set, in OTLP's own names."""
    fields = ((field.name, value) for field, value in message.ListFields() if field.name not in without)
    return {name: _plain_value(value) for name, value in fields}


def _plain_value(value: Any) -> object:  # noqa: ANN401 - of any field
    if isinstance(value, int | float):
        return value
    return _plain(value) if hasattr(value, "ListFields") else [_plain_value(part) for part in value]


def _span(span: Span, resource: Item, scope: Item) -> Item:
    item: Item = {
        "@timestamp": _timestamp(span.start_time_unix_nano),
        "resource": resource,
        "scope": scope,
        "attributes": _attributes(span.attributes),
        "name": span.name,
        "kind": _named(_SPAN_KINDS, span.kind),
        "duration": max(0, span.end_time_unix_nano - span.start_time_unix_nano),
        "status": _add({"code": _named(_STATUS_CODES, span.status.code)}, span.status, ("message",)),
    }
    if span.events:
        item["events"] = [
            {
                "@timestamp": _timestamp(each.time_unix_nano),
                "name": each.name,
                "attributes": _attributes(each.attributes),
            }
            for each in span.events
        ]
    if span.links:
        item["links"] = [_add({"attributes": _attributes(each.attributes)}, each, _IDS) for each in span.links]
    return _add(item, span, _SPAN_FIELDS)


def _add(item: Item, message: object, names: tuple[str, ...]) -> Item:
    """Add those fields of `message` that are set; ids become hexadecimal digits."""
    for name in names:
        if value := getattr(message, name):
            item[name] = value.hex() if isinstance(value, bytes) else value
    return item


def _named(names: tuple[str, ...], number: int) -> str:
    return names[number] if 0 <= number < len(names) else str(number)


def _origin(origin: Resource | InstrumentationScope, schema_url: str, names: tuple[str, ...] = ()) -> Item:
    """Return a resource or an instrumentation scope."""
    item: Item = {"schema_url": schema_url} if schema_url else {}
    if origin.attributes:
        item["attributes"] = _attributes(origin.attributes)
    return _add(item, origin, names)


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
