"""The services of a run: Kafka and the tenants' clusters, started, and ended whatever happens."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Self

from isolane.conformance.clusters import ClusterKind
from isolane.conformance.nodes import Nodes
from isolane.conformance.opening import Services
from isolane.conformance.recording import Clusters
from isolane.fixtures.cluster import ScriptedClusters
from isolane.fixtures.services import Kafka, ServiceError
from isolane.fixtures.services.kafka_files import DATA

NATIVE = "native"
EXTERNAL = "external:"

HELP = "kafka=external:HOST:PORT, elasticsearch=native"
"""What can be chosen beside what is chosen by itself."""

_KAFKA = "kafka=native, kafka=external:HOST:PORT"


class ServiceChoiceError(ValueError):
    """A choice of services cannot be understood; the message says what is allowed."""


@dataclass(frozen=True, slots=True)
class ServiceChoice:
    """Where services come from.

    Attributes:
        kafka: "native", or the host:port of a broker that runs already.
        elasticsearch: What the tenants' clusters are.
    """

    kafka: str = NATIVE
    elasticsearch: ClusterKind = "scripted"

    @classmethod
    def parse(cls, choices: Sequence[str], *, only_scripted: bool = False) -> Self:
        """Read choices such as `kafka=external:HOST:PORT` and `elasticsearch=native`; the last one of a service counts.

        Args:
            choices: See above.
            only_scripted: Whether clusters must be scripted.

        Raises:
            ServiceChoiceError: Another service, or another place.
        """
        chosen = cls()
        elasticsearch = "elasticsearch=scripted" if only_scripted else "elasticsearch=scripted, elasticsearch=native"
        for choice in choices:
            match choice.split("=", 1):
                case ["kafka", "native"]:
                    chosen = replace(chosen, kafka=NATIVE)
                case ["kafka", place] if _is_external(place):
                    chosen = replace(chosen, kafka=place.removeprefix(EXTERNAL))
                case ["kafka", *_]:
                    raise ServiceChoiceError(f"--services: {choice!r}: allowed: {_KAFKA}")
                case ["elasticsearch", "scripted"]:
                    chosen = replace(chosen, elasticsearch="scripted")
                case ["elasticsearch", "native"] if not only_scripted:
                    chosen = replace(chosen, elasticsearch="native")
                case ["elasticsearch", *_]:
                    raise ServiceChoiceError(f"--services: {choice!r}: allowed here: {elasticsearch}")
                case _:
                    raise ServiceChoiceError(
                        f"--services: {choice!r}: no such service; allowed: {_KAFKA}, {elasticsearch}"
                    )
        return chosen

    @property
    def described(self) -> Mapping[str, str]:
        """What stands in for what, for reports."""
        kafka = "Apache Kafka, started for this run" if self.kafka == NATIVE else f"the Kafka at {self.kafka}"
        clusters = "scripted clusters" if self.elasticsearch == "scripted" else Nodes.described
        return {"kafka": kafka, "elasticsearch": clusters}


def _is_external(place: str) -> bool:
    try:
        Kafka.external(place.removeprefix(EXTERNAL))
    except ServiceError:
        return False
    return place.startswith(EXTERNAL)


@contextmanager
def started(
    choice: ServiceChoice, folder: Path, progress: Callable[[str], None], *, keep: bool = False
) -> Iterator[Services]:
    """The services of `choice`, their logs below `folder`; with `keep` worlds leave in them what they made.

    What a broker of our own had on disk, some 200 MB that no command reads, ends with it, unless `keep`, or an
    exception leaves the block.

    Raises:
        FixtureError: One of them does not start; the message says what to do.
    """
    kafka = (
        Kafka.native(folder / "kafka", progress=progress) if choice.kafka == NATIVE else Kafka.external(choice.kafka)
    )
    with _clusters(choice, folder, progress) as clusters, kafka as broker:
        yield Services(broker.bootstrap, clusters, choice.described, broker.listeners, keep=keep)
    if choice.kafka == NATIVE and not keep:
        shutil.rmtree(folder / "kafka" / DATA)


def _clusters(choice: ServiceChoice, folder: Path, progress: Callable[[str], None]) -> Clusters:
    if choice.elasticsearch == "native":
        return Nodes(folder / "elasticsearch", progress)
    return ScriptedClusters.start(folder / "clusters")
