"""The services of a run: Kafka and the scripted clusters' server, started, and ended whatever happens."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from isolane.conformance.opening import Services
from isolane.fixtures.cluster import ScriptedClusters
from isolane.fixtures.services import Kafka

NATIVE = "native"
EXTERNAL = "external:"


class ServiceChoiceError(ValueError):
    """A choice of services cannot be understood; the message says what is allowed."""


@dataclass(frozen=True, slots=True)
class ServiceChoice:
    """Where services come from: `kafka` is "native", or the host:port of a broker that runs already."""

    kafka: str = NATIVE

    @classmethod
    def parse(cls, choices: Sequence[str]) -> Self:
        """Read choices of the form `kafka=native` or `kafka=external:HOST:PORT`.

        Raises:
            ServiceChoiceError: Another service, or another place.
        """
        kafka = NATIVE
        for choice in choices:
            service, _, place = choice.partition("=")
            if service != "kafka":
                raise ServiceChoiceError(
                    f"--services: {choice!r}: no such service; allowed: kafka=native, kafka=external:HOST:PORT"
                )
            address = place.removeprefix(EXTERNAL)
            if place != NATIVE and (address == place or not address.rpartition(":")[2].isdigit()):
                raise ServiceChoiceError(f"--services: {choice!r}: allowed: kafka=native, kafka=external:HOST:PORT")
            kafka = address
        return cls(kafka)

    @property
    def described(self) -> Mapping[str, str]:
        """What stands in for what, for reports."""
        kafka = "Apache Kafka, started for this run" if self.kafka == NATIVE else f"the Kafka at {self.kafka}"
        return {"kafka": kafka, "elasticsearch": "scripted clusters"}


@contextmanager
def started(choice: ServiceChoice, folder: Path, progress: Callable[[str], None]) -> Iterator[Services]:
    """The services of `choice`, their logs below `folder`.

    Raises:
        FixtureError: One of them does not start; the message says what to do.
    """
    kafka = (
        Kafka.native(folder / "kafka", progress=progress) if choice.kafka == NATIVE else Kafka.external(choice.kafka)
    )
    with ScriptedClusters.start(folder / "clusters") as clusters, kafka as broker:
        yield Services(broker.bootstrap, clusters, choice.described)
