"""Members: the processes of the implementation under test in one world."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path

from isolane.conformance.errors import ImplementationNotStartedError
from isolane.conformance.history_files import OUTPUT, HistoryWriter
from isolane.fixtures.implementations.descriptor import Descriptor, Wrong
from isolane.fixtures.implementations.rendering import TenantView, WorldView, argv, write_configuration
from isolane.fixtures.processes import CommandNotStartedError, Process, StillRunningError, free_ports

WORDS = 20
"""Lines of output that are kept of a process with a wrong configuration."""


class Members:
    """Starts, kills and stops members by number; each start and end is an event of the history."""

    def __init__(self, descriptor: Descriptor, view: WorldView, folder: Path, events: HistoryWriter) -> None:
        """Prepare members of `descriptor` for the world that `view` shows; files go to `folder`."""
        self._descriptor, self._view, self._folder, self._events = descriptor, view, folder, events
        self._all = view.tenants
        self._running: dict[int, Process] = {}
        self._ports: dict[int, int] = {}  # where each member serves its metrics, as long as there are any

    @property
    def group(self) -> str:
        """The consumer group that they are members of."""
        return self._view.group_id

    @property
    def pids(self) -> Mapping[int, int]:
        """Process ids of the members that run, by member number."""
        return {number: process.pid for number, process in list(self._running.items()) if process.alive}

    @property
    def metrics_urls(self) -> Mapping[int, str]:
        """Where the members that run have their metrics, by member number; nowhere if the descriptor knows of none."""
        metrics = self._descriptor.metrics
        return {number: metrics.url.replace("{port}", str(self._ports[number])) for number in self.pids if metrics}

    def start(self, number: int = 0) -> None:
        """Start one member.

        Raises:
            ImplementationNotStartedError: Its command cannot be run.
            DescriptorError: Its template or command line is wrong.
        """
        self._running[number] = self._launch(number)
        self._tell("started", number, self._running[number])

    def try_wrong(self, timeout: float) -> None:
        """Start a process with each wrong configuration of the descriptor; tell how each ended.

        They have numbers behind those of all members. One that has not ended within `timeout` seconds is killed.
        """
        began = time.monotonic()
        wrongs = dict(enumerate(self._descriptor.config.wrong, self._descriptor.group.max_members))
        tried = {number: self._launch(number, wrong) for number, wrong in wrongs.items()}
        for number, process in tried.items():
            try:
                code: int | None = process.wait(max(0.0, began + timeout - time.monotonic()))
            except StillRunningError:
                code = None
                process.kill()
            self._events.write(
                {
                    "at": time.monotonic(),
                    "kind": "wrong",
                    "name": "refused" if code else "accepted",
                    "field": wrongs[number].names,
                    "code": code,
                    "seconds": time.monotonic() - began,
                    "words": "\n".join(process.tail(WORDS)),
                }
            )

    def reconfigure(self, change: Callable[[TenantView], TenantView | None]) -> None:
        """Change what members are told of the tenants that there are at first, or leave tenants out.

        Those that run are told as the descriptor says.
        """
        tenants = tuple(changed for tenant in self._all if (changed := change(tenant)) is not None)
        self._view = replace(self._view, tenants=tenants)
        how = self._descriptor.config.tenant_change
        for number, process in list(self._running.items()):
            if how == "restart":
                self.stop(number)
                self.start(number)
                continue
            self._configure(number)
            if how == "reload":
                process.send(signal.SIGHUP)
                self._tell("reloaded", number, process, kind="signal")

    def kill(self, number: int = 0) -> None:
        """End one member with SIGKILL, its children too; one that has just ended by itself is told as that."""
        process = self._alive(number)
        if process is not None:
            del self._running[number]
            process.kill()
            self._tell("killed", number, process)

    def freeze(self, number: int = 0) -> None:
        """Let one member do nothing, its children neither, until it is thawed; one that has ended is told as that."""
        process = self._alive(number)
        if process is not None:
            process.freeze()
            self._tell("frozen", number, process)

    def thaw(self, number: int = 0) -> None:
        """Let a frozen member go on; one that has ended is told as that."""
        process = self._alive(number)
        if process is not None:
            process.thaw()
            self._tell("thawed", number, process)

    def stop(self, number: int = 0) -> int | None:
        """End one member with SIGTERM, with SIGKILL after the grace that the descriptor states; its exit code.

        One that has ended by itself is told as that, and has none here.
        """
        process = self._alive(number)
        if process is None:
            return None
        del self._running[number]
        self._tell("terminated", number, process, kind="signal")
        code = process.stop(self._descriptor.timing.stop_grace)
        self._tell("stopped", number, process)
        return code

    def stop_all(self) -> None:
        """End every member that runs."""
        for number in list(self._running):
            self.stop(number)

    def kill_all(self) -> None:
        """End every member that runs at once: the scenario was broken off."""
        for number in list(self._running):
            self.kill(number)

    def ended(self) -> list[int]:
        """Members that ended by themselves since the last call; each is told in the history."""
        gone = [number for number, process in self._running.items() if not process.alive]
        for number in gone:
            self._tell("exited", number, self._running.pop(number))
        return gone

    def _alive(self, number: int) -> Process | None:
        """Return the process of a member that runs; those that have ended by themselves are told first."""
        self.ended()
        return self._running.get(number)

    def last_words(self, number: int) -> str:
        """The last lines of a member's output."""
        log = self._folder / OUTPUT.replace("*", str(number))
        return "\n".join(log.read_text(errors="replace").splitlines()[-5:])

    def _launch(self, number: int, wrong: Wrong | None = None) -> Process:
        run = self._descriptor.run
        command = argv(
            run.start,
            {
                "config": str(self._configure(number, wrong)),
                "member": str(number),
                "workdir": str(self._folder),
                **self._descriptor.placeholders,
            },
        )
        try:
            return Process.start(
                command,
                env={**os.environ, **run.env},
                cwd=run.cwd or self._folder,
                log=self._folder / OUTPUT.replace("*", str(number)),
                name=f"{self._descriptor.name} member {number}",
            )
        except CommandNotStartedError as error:
            field = "run.cwd" if run.cwd is not None and not run.cwd.is_dir() else "run.start"
            raise ImplementationNotStartedError(f"{self._descriptor.file}: {field}: {error}") from error

    def _configure(self, number: int, wrong: Wrong | None = None) -> Path:
        if self._descriptor.metrics is not None and number not in self._ports:
            (self._ports[number],) = free_ports(1)
        return write_configuration(
            self._descriptor,
            self._view,
            member=number,
            workdir=self._folder,
            metrics_port=self._ports.get(number),
            wrong=wrong,
        )

    def _tell(self, name: str, number: int, process: Process, kind: str = "process") -> None:
        self._events.write(
            {
                "at": time.monotonic(),
                "kind": kind,
                "name": name,
                "member": number,
                "pid": process.pid,
                "code": process.exit_code,
            },
        )
