"""What all of kafka-python's clients need: how to reach the brokers, and to be closed when they do not start."""

from __future__ import annotations

import ssl
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from kafka import KafkaProducer

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from isolane.reference.config import Kafka


def connection(kafka: Kafka) -> dict[str, object]:
    """Return the settings of a client by which it reaches the brokers, and authenticates itself."""
    settings: dict[str, object] = {"bootstrap_servers": list(kafka.brokers)}
    sasl = kafka.auth.sasl
    if sasl is not None:
        settings["sasl_mechanism"] = sasl.mechanism
        settings["sasl_plain_username"] = sasl.username
        settings["sasl_plain_password"] = sasl.password.get_secret_value()
    if kafka.tls is not None:
        settings["ssl_context"] = ssl.create_default_context(cafile=kafka.tls.ca_file)
    transport = "PLAINTEXT" if kafka.tls is None else "SSL"
    settings["security_protocol"] = transport if sasl is None else f"SASL_{transport}"
    return settings


@contextmanager
def closing_when_it_fails() -> Iterator[Callable[..., Any]]:
    """Yield a maker of kafka-python's inner clients, and close what it made when an exception leaves the block.

    The outer clients do not clean up when they find no broker: their sockets and I/O threads would add up.
    """
    made: list[Any] = []

    def make(**settings: object) -> Any:  # noqa: ANN401 - kafka-python has no types
        made.append(KafkaProducer.DEFAULT_CONFIG["kafka_client"](**settings))
        return made[-1]

    try:
        yield make
    except BaseException:
        for client in made:
            client.close()
        raise
