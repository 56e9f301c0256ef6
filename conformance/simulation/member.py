"""One process: the whole reference as it is, behind simulated ports."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from isolane.conformance.simulation import inside
from isolane.conformance.simulation.cluster import ClusterPort, DeadLetterPort
from isolane.conformance.simulation.consumer import SimulatedConsumer
from isolane.conformance.simulation.failures import Failure
from isolane.conformance.simulation.locks import Bell
from isolane.conformance.simulation.runtime import SimulatedRuntime
from isolane.conformance.simulation.scheduler import Process
from isolane.reference.program import Program

if TYPE_CHECKING:
    from collections.abc import Hashable, Mapping

    from isolane.conformance.simulation.broker import Broker
    from isolane.conformance.simulation.cluster import SimulatedCluster
    from isolane.conformance.simulation.scheduler import Scheduler
    from isolane.reference.config import Config
    from isolane.reference.consumer import Owner

STOP_MARGIN = 0.6
"""Seconds beyond the grace that a stop may take: to have polled, to commit, and to leave the group."""


class Surroundings(NamedTuple):
    """What is around every process.

    Attributes:
        scheduler: Of its tasks.
        broker: Its Kafka.
        clusters: By tenant.
        letters: Where dead letters go.
    """

    scheduler: Scheduler
    broker: Broker
    clusters: Mapping[str, SimulatedCluster]
    letters: DeadLetterPort


class Member:
    """A process that runs the reference.

    Attributes:
        process: Its tasks.
        program: The reference.
        exited: Whether its main thread has ended.
    """

    def __init__(self, name: str, config: Config, around: Surroundings, batch: int) -> None:
        """Start it; one of its polls returns at most `batch` records."""
        self._batch = batch
        self.process = Process(name)
        self.exited = False
        self._config = config
        self._scheduler = around.scheduler
        self._broker = around.broker
        self._runtime = SimulatedRuntime(self._scheduler, self.process, seed=1)
        self._stop = Bell(self._scheduler)
        self._stopping = False
        self._punctual = False  # whether nobody has been slow since it was told to stop
        ports = {tenant: ClusterPort(cluster, self._begins) for tenant, cluster in around.clusters.items()}
        self.program = Program(config, self._runtime, self._connect, ports, around.letters)
        self._scheduler.spawn("main", self.process, self._main)

    @property
    def name(self) -> str:
        """What it is called."""
        return self.process.name

    def stop(self) -> None:
        """Send SIGTERM."""
        if not self._stopping:
            self._stopping, self._punctual = True, self._scheduler.punctual
            self._stop.ring()

    def _main(self) -> None:
        self.program.start()
        while not self._stopping:
            self._stop.wait()
        grace = self._config.kafka.revoke_grace + STOP_MARGIN
        if not self.program.stop(grace) and self._punctual:
            sentence = f"{self.name} was not stopped within {grace:.2f}s"
            raise Failure("LIF-2", sentence, tuple(self._scheduler.stacks()))
        self.exited = True

    def _connect(self, owner: Owner) -> SimulatedConsumer:
        return SimulatedConsumer(self._broker, self._config.kafka, owner, self._runtime, batch=self._batch)

    def _begins(self, tenant: str, key: Hashable, open_attempts: int) -> None:
        self._scheduler.looked_at = True
        inside.check_attempt(self.program, tenant, key, open_attempts)
        self._scheduler.looked_at = False
