"""From a YAML file to plain values, and from pydantic's errors to lines that people can act on (OPS-2)."""

import difflib
import re
import types
import typing
from collections.abc import Hashable, Iterator, Sequence
from pathlib import Path
from typing import Any

import yaml
from pydantic import BaseModel, ValidationError
from pydantic.json_schema import GenerateJsonSchema
from pydantic_core import ErrorDetails
from pydantic_core.core_schema import WithDefaultSchema

_SECRETS = {"api_key", "basic", "sasl"}
_LONGEST = 300  # what is shown of a value, in characters: a path is shown whole
_KINDS = {
    "model_type": "is not a mapping of keys to values",
    "dict_type": "is not a mapping of keys to values",
    "tuple_type": "is not a list",
    "string_type": "is not text",
    "path_not_file": "is not a file",
    "path_type": "is not a file",
}


class ConfigError(Exception):
    """The configuration cannot be used; its text has one line a mistake."""

    def __init__(self, lines: Sequence[str]) -> None:
        """Take the lines of the message."""
        super().__init__("\n".join(lines))


class Schema(GenerateJsonSchema):
    """Tells defaults as people write them: `1s`, where the program has 1.0."""

    def get_default_value(self, schema: WithDefaultSchema) -> Any:  # noqa: ANN401 - the base class's signature
        """See the base class."""
        default = super().get_default_value(schema)
        written: Any = schema["schema"].get("serialization")
        return written["function"](default) if written else default


class _Loader(yaml.SafeLoader):
    """YAML in which a key given twice is an error instead of the last one winning."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Hashable, object]:  # noqa: FBT001, FBT002 - the base class's signature
        seen: set[str] = set()
        for key, _ in node.value:
            if not isinstance(key, yaml.ScalarNode):
                continue
            if key.value in seen:
                raise yaml.constructor.ConstructorError(
                    problem=f"the key {key.value} is given twice", problem_mark=key.start_mark
                )
            seen.add(key.value)
        return super().construct_mapping(node, deep)


def read_yaml(path: Path) -> object:
    """Return the one document of a YAML file.

    Raises:
        ConfigError: it cannot be read, or is not YAML; with line and column where there is one.
    """
    try:
        return yaml.load(path.read_text("utf-8"), _Loader)  # noqa: S506 - a SafeLoader
    except OSError as error:
        raise ConfigError([f"{path}: cannot be read: {error.strerror}"]) from None
    except UnicodeDecodeError as error:
        raise ConfigError([f"{path}: is not UTF-8 text (byte {error.start})"]) from None
    except yaml.MarkedYAMLError as error:
        raise ConfigError([f"{path}: {_position(error)}{_without_values(error.problem)}"]) from None
    except (yaml.YAMLError, ValueError, RecursionError):
        # A date that does not exist, a control character, a thousand brackets: their texts quote the file.
        raise ConfigError([f"{path}: is not YAML that can be read"]) from None


def _position(error: yaml.MarkedYAMLError) -> str:
    mark = error.problem_mark or error.context_mark
    return f"line {mark.line + 1}, column {mark.column + 1}: " if mark else ""


def _without_values(problem: str | None) -> str:
    """Return YAML's explanation without what it quotes from the file: that may be a credential."""
    return re.sub(r"'(?!<)[^']{2,}'", "'…'", problem or "is not YAML")


def mistakes(model: type[BaseModel], error: ValidationError) -> list[str]:
    """Return a line for each mistake: the field, the value unless it may be secret, and what is allowed."""
    return [line for details in error.errors(include_url=False) for line in _lines(model, details)]


def _lines(model: type[BaseModel], details: ErrorDetails) -> Iterator[str]:
    location, kind, value = details["loc"], details["type"], details["input"]
    if kind == "value_error" and not location:
        yield from str(details["ctx"]["error"]).splitlines()
    elif kind == "extra_forbidden":
        yield f"{_field(location)}: unknown key; {_nearest(str(location[-1]), _keys(model, location[:-1]))}"
    elif kind == "missing":
        yield f"{_field(location)}: is missing"
    elif kind == "invalid_key":
        yield f"{_field(location[:-1])}: has a key that is not text; put it in quotes"
    elif location[-1:] == ("[key]",):
        yield f"{_field(location[:-2])}: the key {_shown(location, value)}is not a name"
    else:
        rule = str(details["ctx"]["error"]) if kind == "value_error" else _rule(kind, details["msg"])
        yield f"{_field(location)}: {_shown(location, value)}{rule}"


def _rule(kind: str, message: str) -> str:
    return _KINDS.get(kind) or re.sub(r"^\w+ should ", "should ", message)


def _field(location: Sequence[int | str]) -> str:
    path = "".join(f"[{step}]" if isinstance(step, int) else f".{_key(step)}" for step in location)
    return path.removeprefix(".") or "the configuration"


def _key(key: str) -> str:
    return key if re.fullmatch(r"[\w-]+", key) else repr(key)


def _shown(location: Sequence[int | str], value: object) -> str:
    if _SECRETS.intersection(location) or (isinstance(value, str) and "@" in value):
        return "the value "
    if value is None or isinstance(value, bool):
        return f"{yaml.safe_dump(value).split()[0]} "
    if isinstance(value, str | int | float):
        text = repr(value)
        return f"{text if len(text) <= _LONGEST else text[: _LONGEST - 1] + '…'} "
    return "a list " if isinstance(value, list | tuple) else "a mapping "


def _nearest(key: str, allowed: Sequence[str]) -> str:
    near = difflib.get_close_matches(key, allowed, n=1)
    return f"did you mean {near[0]!r}?" if near else f"allowed here: {', '.join(allowed)}"


def _keys(model: type[BaseModel], location: Sequence[int | str]) -> list[str]:
    """Return the keys of the model at `location`, found by walking the annotations."""
    kind: Any = model
    for step in location:
        kind = typing.get_args(kind)[1] if typing.get_origin(kind) is dict else kind.model_fields[step].annotation
        if typing.get_origin(kind) is types.UnionType:
            kind = typing.get_args(kind)[0]
    return list(kind.model_fields)
