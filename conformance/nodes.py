"""Real Elasticsearch nodes, one a tenant, each a cluster of its own; started ahead of need, several at once."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType
from typing import Self

from isolane.conformance.errors import HarnessError
from isolane.fixtures.services import Elasticsearch, NativeElasticsearch
from isolane.fixtures.services.elasticsearch_documents import Stored, block_writes, stored
from isolane.fixtures.services.elasticsearch_files import elasticsearch_files
from isolane.fixtures.services.elasticsearch_probe import NotAnsweringError

Settings = Mapping[str, str]
"""Elasticsearch's own settings of a node, by their full names."""

AHEAD: Sequence[Settings] = ({},) * 3
"""Nodes that are started ahead: as many as a world on real nodes has tenants at most; each takes some 300 MB."""

Make = Callable[[Path, Settings], Elasticsearch]
"""Makes a node that is not started."""

ANSWERS_WITHIN = 10.0
"""Seconds that a node gets for each request of ours."""


class Nodes:
    """The nodes of a run; a context manager. For one thread, but for `documents`, which any may call.

    Attributes:
        described: What they are, for reports.
    """

    described = NativeElasticsearch.described

    def __init__(
        self,
        folder: Path,
        progress: Callable[[str], None],
        *,
        ahead: Sequence[Settings] = AHEAD,
        make: Make | None = None,
    ) -> None:
        """Begin to start nodes; returns at once, but for the first time on a machine, when their files are fetched.

        Args:
            folder: Each node gets a folder in it, for its data and its log.
            progress: Called with lines for people while files are fetched.
            ahead: The settings of those that are started ahead, in the order in which tenants are given them.
            make: Makes one, not started, from the folder that it may have and its settings; native ones when not given.

        Raises:
            FixtureError: The files cannot be had; the message says what to do.
        """
        if make is None:
            elasticsearch_files(progress)  # here, where one thread asks for them
        self._folder = folder
        self._make = make or (lambda own, given: Elasticsearch.native(own, progress=progress, settings=given))
        self._stack = ExitStack()
        self._threads = ThreadPoolExecutor(max(1, len(ahead)), thread_name_prefix="node-start")
        self._count = 0
        self._spare = deque(map(self._begun, ahead))
        self._tenants: dict[str, Elasticsearch] = {}

    def __enter__(self) -> Self:
        """Return the nodes themselves."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        """End every node; one that is being started is waited for, so that it does not stay."""
        self._threads.shutdown(cancel_futures=True)
        self._stack.close()

    def add(self, tenant: str) -> str:
        """Give a tenant a node that is empty, and return its URL; blocks until it answers.

        Raises:
            ServiceError: It does not start; the message says what to do.
        """
        node, starting = self._spare.popleft() if self._spare else self._begun({})
        starting.result()
        self._tenants[tenant] = node
        return node.endpoint

    def remove(self, tenant: str) -> None:
        """End a tenant's node: nobody gets what it holds."""
        self._tenants.pop(tenant).kill()

    def kill(self, tenant: str) -> None:
        """End a tenant's node with SIGKILL; returns when it has ended."""
        self._tenants[tenant].kill()

    def start(self, tenant: str) -> None:
        """Start a tenant's node again, with the same data, at the same URL; blocks until it answers.

        Raises:
            ServiceError: It does not start.
        """
        self._tenants[tenant].start()

    def block_writes(self, tenant: str, *, blocked: bool) -> None:
        """Let a tenant's indices refuse every document from now on, or take documents again.

        Raises:
            HarnessError: The node does not answer.
        """
        try:
            block_writes(self._tenants[tenant].endpoint, blocked=blocked, timeout=ANSWERS_WITHIN)
        except NotAnsweringError as error:
            raise HarnessError(f"the settings of {tenant}'s indices cannot be changed: {error}") from error

    def documents(self, tenant: str) -> list[Stored]:
        """Search for everything that a tenant's node holds; whatever it acknowledged before this call is among it.

        Raises:
            NotAnsweringError: It does not answer, or could not search all of it.
        """
        return stored(self._tenants[tenant].endpoint, timeout=ANSWERS_WITHIN)

    def node(self, tenant: str) -> Elasticsearch:
        """A tenant's node."""
        return self._tenants[tenant]

    def _begun(self, settings: Settings) -> tuple[Elasticsearch, Future[None]]:
        folder = self._folder / f"node-{self._count}"
        node = self._make(folder, settings)
        self._count += 1
        self._stack.push(node)
        return node, self._threads.submit(node.start)
