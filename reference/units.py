"""Durations and sizes as people write them: `200ms`, `1.5s`, `4MiB`."""

import re
from typing import Annotated, Any

from pydantic import AfterValidator, BeforeValidator, Field, PlainSerializer, WithJsonSchema

_SECONDS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0}
_BYTES = {"B": 1, "KiB": 1024, "MiB": 1024**2, "GiB": 1024**3}
# Nine digits are enough for anything meant, and keep every result finite.
_SHORTEST, _LONGEST = 0.001, 576 * 3600.0  # seconds; Kafka is told of milliseconds in 32 bits, 24 days and more
_NUMBER = r"([0-9]{1,9}(?:\.[0-9]{1,9})?)"
_QUANTITY = re.compile(rf"{_NUMBER}([A-Za-z]+)")


def described(pattern: str) -> Any:  # noqa: ANN401 - as pydantic has it
    """Return what lets the schema of a field refuse all text but that of a pattern; the program has its own words."""
    return Field(json_schema_extra={"pattern": f"^(?:{pattern})$"})


def seconds(value: object) -> float:
    """Return the seconds in a duration such as `200ms`, `1s`, `2m` or `1h`.

    Raises:
        ValueError: `value` is anything else, also a number without a unit.
    """
    match = _QUANTITY.fullmatch(value) if isinstance(value, str) else None
    if match is None or match[2] not in _SECONDS:
        raise ValueError("is not a duration; write a number and a unit such as 200ms, 1s, 2m or 1h")
    return float(match[1]) * _SECONDS[match[2]]


def _in_range(value: float) -> float:
    if not _SHORTEST <= value <= _LONGEST:
        raise ValueError("is not between 1ms and 576h")
    return value


def _none_or_in_range(value: float) -> float:
    if value and not _SHORTEST <= value <= _LONGEST:
        raise ValueError("is neither 0s nor between 1ms and 576h")
    return value


def bytes_count(value: object) -> int:
    """Return the bytes in a size: a whole number of bytes, or text such as `512KiB`, `4MiB` or `1GiB`.

    Raises:
        ValueError: `value` is anything else, or comes to a fraction of a byte.
    """
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    match = _QUANTITY.fullmatch(value) if isinstance(value, str) else None
    count = float(match[1]) * _BYTES[match[2]] if match and match[2] in _BYTES else None
    if count is None or not count.is_integer():
        raise ValueError("is not a size; write bytes as a whole number, or a unit such as 512KiB, 4MiB or 1GiB")
    return int(count)


_NONE = r"0+(\.0+)?[A-Za-z]+$"
_GRACE_SCHEMA = {"type": "string", "pattern": rf"^{_NUMBER}({'|'.join(_SECONDS)})$"}
_DURATION_SCHEMA = {"type": "string", "pattern": rf"^(?!{_NONE}){_NUMBER}({'|'.join(_SECONDS)})$"}
_SIZE_SCHEMA = {
    "anyOf": [
        {"type": "integer", "minimum": 1},
        {"type": "string", "pattern": rf"^(?!{_NONE}){_NUMBER}({'|'.join(_BYTES)})$"},
    ]
}

_AS_WRITTEN = PlainSerializer(lambda value: f"{value:g}s", return_type=str, when_used="json")  # also in the schema

Duration = Annotated[
    float, BeforeValidator(seconds), AfterValidator(_in_range), _AS_WRITTEN, WithJsonSchema(_DURATION_SCHEMA)
]
"""Seconds, more than none."""

Grace = Annotated[
    float, BeforeValidator(seconds), AfterValidator(_none_or_in_range), _AS_WRITTEN, WithJsonSchema(_GRACE_SCHEMA)
]
"""Seconds, possibly none."""

Size = Annotated[int, BeforeValidator(bytes_count), Field(ge=1), WithJsonSchema(_SIZE_SCHEMA)]
"""Bytes, at least one."""
