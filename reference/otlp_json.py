"""OTLP's JSON: protobuf's own, but for the ids of traces and spans, which are hexadecimal digits instead of base64."""

from __future__ import annotations

from base64 import b64encode
from typing import TYPE_CHECKING, Any

import orjson
from google.protobuf.json_format import ParseDict, ParseError

if TYPE_CHECKING:
    from google.protobuf.message import Message

_IDS = frozenset({"traceId", "spanId", "parentSpanId", "trace_id", "span_id", "parent_span_id"})


def read(value: bytes, request: Message) -> None:
    """Fill an empty export request from its JSON; what a later version of OTLP has added is passed over.

    Raises:
        ValueError: `value` is anything else, whatever the bytes; the text says why.
    """
    document = orjson.loads(value)
    if not isinstance(document, dict):
        raise ValueError("it is not a JSON object")  # noqa: TRY004 - one error for whatever is wrong with the bytes
    (field,) = request.DESCRIPTOR.fields
    if document and document.keys().isdisjoint({field.name, field.json_name}):
        raise ValueError("it has none of the fields of one")
    try:
        ParseDict(_with_ids_in_base64(document), request, ignore_unknown_fields=True)
    except (ParseError, RecursionError) as error:
        raise ValueError(str(error)) from None


def _with_ids_in_base64(part: Any) -> Any:  # noqa: ANN401 - any JSON
    if isinstance(part, list):
        return [_with_ids_in_base64(each) for each in part]
    if not isinstance(part, dict):
        return part
    return {
        key: b64encode(bytes.fromhex(inner)).decode()
        if key in _IDS and isinstance(inner, str)
        else _with_ids_in_base64(inner)
        for key, inner in part.items()
    }
