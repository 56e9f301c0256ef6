"""Run the reference: `python -m isolane.reference --config FILE`.

Exit codes: 0 after a clean stop or a check that found nothing, 1 when it cannot go on, 2 for a wrong command line or
configuration. On SIGHUP it takes the tenants of the file as they are then.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import sys
from typing import TYPE_CHECKING

if __name__ == "__main__":
    # A change of the file while all this is read and wired is taken then; it would end the process.
    signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGHUP])

from isolane.reference import log
from isolane.reference.config import Config, ConfigError
from isolane.reference.config_rules import check_change
from isolane.reference.consumer import ConsumerFailed, KafkaUnavailable
from isolane.reference.dead_letter import DeadLetters
from isolane.reference.exporter import Exporter
from isolane.reference.kafka_consumer import KafkaGroupConsumer, check_access
from isolane.reference.program import Program
from isolane.reference.runtime import Runtime
from isolane.reference.telemetry import Telemetry

if TYPE_CHECKING:
    from isolane.reference.consumer import Owner

_SIGNALS = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
# Beyond the grace for attempts under way: to commit, and to leave the group.
_STOP_MARGIN = 5.0
# Seconds that a thread may work on before another takes the interpreter over. In a drain dozens want it: where all
# cores are busy each change waits for the system, too: with a quarter of this the healthy wait a third longer (ISO-7).
_SWITCH_INTERVAL = 0.02


def main() -> int:
    """Run until SIGTERM or SIGINT; return the exit code."""
    parser = argparse.ArgumentParser(prog="python -m isolane.reference", description=__doc__)
    what = parser.add_mutually_exclusive_group(required=True)
    what.add_argument("--config", metavar="FILE", help="the configuration, in YAML")
    what.add_argument("--print-schema", action="store_true", help="print the configuration's JSON Schema, and end")
    parser.add_argument(
        "--check",
        nargs="?",
        const="configuration",
        choices=("configuration", "brokers"),
        help="check the configuration, or also that the brokers let the process in, and end",
    )
    arguments = parser.parse_args()
    if arguments.print_schema:
        sys.stdout.write(f"{json.dumps(Config.json_schema(), indent=2)}\n")
        return 0
    try:
        config = Config.load(arguments.config)
        if arguments.check == "brokers":
            check_access(config.kafka)
        return 0 if arguments.check else _run(arguments.config, config)
    except ConfigError as error:
        sys.stderr.write(f"{error}\n")
        return 2
    except (ConsumerFailed, KafkaUnavailable) as error:
        sys.stderr.write(f"kafka: {error}\n")
        return 1


def _run(path: str, config: Config) -> int:
    log.set_up()
    sys.setswitchinterval(_SWITCH_INTERVAL)
    # Blocked before any thread is started: all of them inherit it, and the main thread alone takes the signals.
    signal.pthread_sigmask(signal.SIG_BLOCK, _SIGNALS)
    runtime = Runtime(_crash)
    clusters = {name: Exporter(tenant.elasticsearch, runtime) for name, tenant in config.tenants.items()}

    def connect(owner: Owner) -> KafkaGroupConsumer:
        return KafkaGroupConsumer(config.kafka, config.subscription, owner, runtime)

    program = Program(config, runtime, connect, clusters, DeadLetters(config))
    if config.telemetry is not None:
        Telemetry(config.telemetry, program.state).start(runtime)
    program.start()
    log.info("started", mode=config.kafka.partition_processing.mode, tenants=len(config.tenants))
    tenants = config
    while (received := signal.sigwait(_SIGNALS)) == signal.SIGHUP:
        tenants = _reload(path, tenants, program, clusters, runtime)
    log.info("stopping", signal=signal.Signals(received).name)
    in_time = program.stop(config.kafka.revoke_grace + _STOP_MARGIN)
    log.info("stopped", in_time=in_time)
    return 0


def _reload(path: str, former: Config, program: Program, clusters: dict[str, Exporter], runtime: Runtime) -> Config:
    """Take the tenants of the file as it is now (OPS-4); return the configuration that is in force from now on."""
    try:
        config = Config.load(path)
        check_change(former, config)
    except ConfigError as error:
        log.warning("configuration refused", errors=str(error).splitlines())
        return former
    removed = former.tenants.keys() - config.tenants.keys()
    changed = {
        name: Exporter(tenant.elasticsearch, runtime)
        for name, tenant in config.tenants.items()
        if name not in former.tenants or tenant.elasticsearch != former.tenants[name].elasticsearch
    }
    program.change(config, changed)
    for name in [*changed, *removed]:
        if name in clusters:
            clusters[name].cut()
            clusters.pop(name).close()
    clusters |= changed
    log.info("configuration changed", connected=sorted(changed), removed=sorted(removed))
    return config


def _crash(thread: str, error: Exception) -> None:
    """End the process at once: what is not finished is not committed, and will be delivered by the next owner."""
    log.crash("crashed", error, thread=thread)
    os._exit(1)


if __name__ == "__main__":
    sys.exit(main())
