"""Run the reference: `python -m isolane.reference --config FILE`.

Exit codes: 0 after a clean stop, 1 when it cannot go on, 2 for a wrong command line or configuration.
"""

from __future__ import annotations

import argparse
import os
import signal
import sys
from typing import TYPE_CHECKING

from isolane.reference import log
from isolane.reference.config import Config, ConfigError
from isolane.reference.dead_letter import DeadLetters
from isolane.reference.exporter import Exporter
from isolane.reference.kafka_consumer import KafkaGroupConsumer
from isolane.reference.program import Program
from isolane.reference.runtime import Runtime
from isolane.reference.telemetry import Telemetry

if TYPE_CHECKING:
    from isolane.reference.consumer import Owner

_SIGNALS = (signal.SIGTERM, signal.SIGINT)
# Beyond the grace for attempts under way: to commit, and to leave the group.
_STOP_MARGIN = 5.0


def main() -> int:
    """Run until SIGTERM or SIGINT; return the exit code."""
    parser = argparse.ArgumentParser(prog="python -m isolane.reference", description=__doc__)
    parser.add_argument("--config", metavar="FILE", required=True, help="the configuration, in YAML")
    arguments = parser.parse_args()
    try:
        return _run(Config.load(arguments.config))
    except ConfigError as error:
        sys.stderr.write(f"{error}\n")
        return 2


def _run(config: Config) -> int:
    log.set_up()
    # Blocked before any thread is started: all of them inherit it, and the main thread alone takes the signals.
    signal.pthread_sigmask(signal.SIG_BLOCK, _SIGNALS)
    runtime = Runtime(_crash)
    program = _program(config, runtime)
    if config.telemetry is not None:
        Telemetry(config.telemetry, config.kafka.revoke_grace, program.state).start(runtime)
    program.start()
    log.info("started", mode=config.kafka.partition_processing.mode, tenants=len(config.tenants))
    received = signal.sigwait(_SIGNALS)
    log.info("stopping", signal=signal.Signals(received).name)
    in_time = program.stop(config.kafka.revoke_grace + _STOP_MARGIN)
    log.info("stopped", in_time=in_time)
    return 0


def _program(config: Config, runtime: Runtime) -> Program:
    """Wire the program to the real world."""

    def connect(owner: Owner) -> KafkaGroupConsumer:
        return KafkaGroupConsumer(config.kafka, config.subscription, owner, runtime)

    clusters = {name: Exporter(tenant.elasticsearch, runtime) for name, tenant in config.tenants.items()}
    return Program(config, runtime, connect, clusters, DeadLetters(config))


def _crash(thread: str, error: Exception) -> None:
    """End the process at once: what is not finished is not committed, and will be delivered by the next owner."""
    log.crash("crashed", error, thread=thread)
    os._exit(1)


if __name__ == "__main__":
    sys.exit(main())
