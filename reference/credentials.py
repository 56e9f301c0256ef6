"""Credentials: given literally, by an environment variable or in a file, and never printed (OPS-3)."""

import os
import re
from pathlib import Path
from typing import Annotated

from pydantic import AfterValidator, BeforeValidator, Field, SecretStr

from isolane.reference.units import described

_API_KEY = re.compile(r"[A-Za-z0-9+/_=-]+")
_REFERENCE = re.compile(r"\$\{(env|file):([^}]+)\}")


def resolved(value: object) -> str:
    """Return the credential that `value` gives or refers to: a literal, `${env:NAME}` or `${file:PATH}`.

    Raises:
        ValueError: it is not text, is empty, cannot be sent, or what it refers to is not there.
    """
    if not isinstance(value, str):
        raise ValueError("must be text; put it in quotes")  # noqa: TRY004 - pydantic collects ValueErrors
    reference = _REFERENCE.fullmatch(value)
    if reference is None:
        credential = _literal(value)
    elif reference[1] == "env":
        credential = _from_environment(reference[2])
    else:
        credential = _from_file(Path(reference[2]))
    if not credential:
        raise ValueError("is empty")
    if not credential.isprintable():
        raise ValueError("has a line break or another character that cannot be typed")
    return credential


def _literal(value: str) -> str:
    if "${" in value:  # a reference misspelt would be sent as it is
        raise ValueError(
            "has ${ in it, and is neither ${env:NAME} nor ${file:PATH} alone; what has can come from a file"
        )
    return value


def _from_environment(name: str) -> str:
    if name not in os.environ:
        raise ValueError(f"refers to the environment variable {name!r}, which is not set")
    return os.environ[name]


def _from_file(path: Path) -> str:
    try:
        if path.exists() and not path.is_file():  # a pipe would be waited for, by who handles signals, too
            raise ValueError(f"refers to {str(path)!r}, which is no regular file")
        return path.read_text("utf-8").rstrip("\r\n")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "is not UTF-8 text"
        raise ValueError(f"refers to the file {str(path)!r}, which cannot be read: {reason}") from None


def _encoded(credential: SecretStr) -> SecretStr:
    if not _API_KEY.fullmatch(credential.get_secret_value()):
        raise ValueError("is not an API key as it is sent: base64 of id and key")
    return credential


def _without_colon(name: str) -> str:
    if ":" in name:
        raise ValueError("has a colon, which would end it")
    return name


Credential = Annotated[SecretStr, BeforeValidator(resolved), described(rf"{_REFERENCE.pattern}|(?!.*\$\{{).+")]
"""A secret that shows itself only through `get_secret_value()`."""

ApiKey = Annotated[Credential, AfterValidator(_encoded), described(rf"{_REFERENCE.pattern}|{_API_KEY.pattern}")]
"""An API key in the form that is sent: base64 of id and key."""

UserName = Annotated[str, Field(min_length=1), AfterValidator(_without_colon), described("[^:]+")]
"""A name for Basic authentication."""
