"""What the program says: one line of JSON an event, on standard error."""

from __future__ import annotations

import logging
import sys

import orjson

_LOG = logging.getLogger("isolane.reference")


class _Lines(logging.Formatter):
    """A record as one line of JSON: time (seconds since 1970), level, event, and what belongs to it."""

    def format(self, record: logging.LogRecord) -> str:
        line = {"time": record.created, "level": record.levelname.lower(), "event": record.getMessage()}
        if record.name != _LOG.name:
            line["logger"] = record.name
        line |= getattr(record, "fields", {})
        if record.exc_info:
            line["trace"] = self.formatException(record.exc_info)
        return orjson.dumps(line, default=str).decode()


def set_up() -> None:
    """Send events of this program, and warnings of the libraries it uses, to standard error."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(_Lines())
    logging.basicConfig(level=logging.WARNING, handlers=[handler])
    _LOG.setLevel(logging.INFO)


def info(event: str, **fields: object) -> None:
    """Tell what happened."""
    _LOG.info(event, extra={"fields": fields})


def warning(event: str, **fields: object) -> None:
    """Tell what somebody may have to look after."""
    _LOG.warning(event, extra={"fields": fields})


def crash(event: str, error: BaseException, **fields: object) -> None:
    """Tell what ended the program, with where it happened."""
    _LOG.critical(event, exc_info=error, extra={"fields": {**fields, "error": str(error)}})
