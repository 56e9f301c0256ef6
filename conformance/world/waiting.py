"""What a world's story waits for: members, records, commits."""

from __future__ import annotations

import time
from collections.abc import Collection

from isolane.conformance.errors import NoTrafficError
from isolane.conformance.load import Draft
from isolane.conformance.tokens import topic_of
from isolane.conformance.world.behaviour import Behaviour
from isolane.conformance.world.loading import ACKNOWLEDGED_WITHIN

LOOKED_WITHIN = 20.0
"""Seconds that observers get to see how things are."""

LONGER = 3.0
"""How many times its time-out a drain may last while it goes on: it must end for whoever waits for its verdicts."""

KNOCK = 0.5
"""Seconds between canaries to a group that begins at the end of topics."""


class Waiting(Behaviour):
    """Waits until something is so, and says whether it was in time."""

    def await_ready(self, timeout: float, *, without: Collection[str] = ()) -> None:
        """Start of traffic: a canary through each partition. Works for every group protocol.

        One that was committed past was read, too: that it is lost is for the checkers to say. Tenants `without` are not
        waited for.

        Raises:
            ImplementationNotStartedError: The member ended before the canaries came through.
            NoTrafficError: They did not come through within `timeout` seconds.
        """
        self.phase("ready")
        self.load.canaries()
        sent = self.load.settle(ACKNOWLEDGED_WITHIN)
        later = {topic for tenant in without for topic in self._tenants[tenant].topics}

        def come() -> bool:
            return all(topic_of(record) in later or self._is_passed(record) for record in self._missing())

        through = self._await(come, timeout, "canaries", alive=True)
        self._given_up |= {record for record in self._progress.outstanding if topic_of(record) not in later}
        if not through:
            came = sent - len(self._progress.outstanding)
            raise NoTrafficError(
                f"{self.descriptor.name}: {came} of {sent} canary records were accepted "
                f"within {timeout:g} s of the start: it consumes nothing, or not everything; "
                f"its last words:\n{self.members.last_words(0)}",
            )

    def await_begun(self, timeout: float) -> None:
        """Wait for a group that begins at the end of topics: something sent now and then has arrived of each partition.

        What was sent before the group began there it need not deliver; whatever is sent after this it must.

        Raises:
            ImplementationNotStartedError: The member ended before that.
            NoTrafficError: It did not begin within `timeout` seconds.
        """
        self.phase("ready")
        places = {
            (topic, partition)
            for tenant in self._tenants.values()
            if tenant.shape.role != "nobody" and not tenant.shape.late
            for topic in tenant.topics
            for partition in range(tenant.shape.partitions)
        }

        def begun() -> bool:
            self._missing()
            return places <= self._progress.arrived

        deadline = time.monotonic() + timeout
        while time.monotonic() < deadline:
            self.load.canaries(Draft("early"))
            if self._await(begun, KNOCK, "canaries", alive=True):
                self.load.flush(ACKNOWLEDGED_WITHIN)
                return
        raise NoTrafficError(
            f"{self.descriptor.name}: nothing had arrived of {len(places - self._progress.arrived)} of {len(places)} "
            f"partitions {timeout:g} s after the start; its last words:\n{self.members.last_words(0)}",
        )

    def await_members(self, count: int, timeout: float) -> bool:
        """Whether the group was at rest with so many members within `timeout` seconds, as far as Kafka tells."""
        return self._await(
            lambda: self._broker.members(self.members.group) == count, timeout, f"{count} members in the group"
        )

    def await_shared(self, count: int, timeout: float) -> bool:
        """Whether the group was at rest with so many members, each with partitions of its own, within `timeout`."""
        return self._await(
            lambda: self._broker.members(self.members.group, serving=True) == count,
            timeout,
            f"{count} members that share all partitions",
        )

    def await_unrest(self, timeout: float) -> bool:
        """Whether within `timeout` seconds the group was not at rest, as far as Kafka tells."""
        return self._await(
            lambda: self._broker.members(self.members.group) is None, timeout, "a rebalance of the group"
        )

    def await_requests(self, tenant: str, count: int, timeout: float) -> bool:
        """Whether `count` bulk requests, from its begin on, had come to a tenant's cluster within `timeout` seconds."""
        return self._await(lambda: self.requests(tenant) >= count, timeout, f"requests of {tenant}")

    def await_standstill(self, tenant: str, seconds: float, timeout: float) -> bool:
        """Whether within `timeout` seconds nothing of a tenant was finished for so many seconds."""
        topics = frozenset(self._tenants[tenant].topics)
        left, since = -1, time.monotonic()

        def still() -> bool:
            nonlocal left, since
            now = sum(topic_of(record) in topics for record in self._missing())
            if now != left:
                left, since = now, time.monotonic()
            return time.monotonic() - since >= seconds

        return self._await(still, timeout, f"a standstill of {tenant}")

    def await_accepted(self, timeout: float) -> bool:
        """Whether everything sent is accepted within `timeout` seconds, what was committed past included."""
        return self._await(lambda: not self._missing(), timeout, "everything accepted")

    def behind(self, *tenants: str) -> set[int]:
        """The records of these tenants that were sent, and are not finished yet."""
        topics = {topic for tenant in tenants for topic in self._tenants[tenant].topics}
        return {record for record in self._missing() if topic_of(record) in topics}

    def await_backlog_of(self, *tenants: str, timeout: float) -> bool:
        """Whether everything of these tenants that was sent before this call is accepted within `timeout` seconds.

        What is not is given up: nothing waits for it again but the drain. What is committed past is not waited for as
        long.
        """
        behind = self.behind(*tenants) - self._given_up
        gone = self._await_none(
            lambda: behind & self._missing().keys(), timeout, f"the backlog of {', '.join(tenants)}"
        )
        self._given_up |= behind & self._progress.outstanding.keys()
        return gone

    def look(self) -> bool:
        """Wait until offsets were read, and real clusters searched, since this call; whether that was in time."""
        since = time.monotonic()
        names = [tenant.name for tenant in self._tenants.values() if tenant.shape.role != "nobody"]

        def looked() -> bool:
            self._missing()
            return self._commits.began > since and all(self._progress.searched.get(name, 0.0) > since for name in names)

        return self._await(looked, LOOKED_WITHIN, "a look")

    def drain(self, timeout: float, *, silence: float = 0.0) -> bool:
        """Stop the load; whether everything produced was accepted within `timeout` seconds, or longer while it comes.

        What is committed past will hardly come any more, so that is not waited for as long; what comes now and then is
        waited for up to `LONGER` times as long. Commits get their interval and a margin to follow, and `silence`
        seconds more where the implementation may not have heard what was accepted; whether they did is for the
        checkers to say.
        """
        self.phase("drain")
        self.load.settle(ACKNOWLEDGED_WITHIN)
        drained = self._await_none(self._missing, timeout, "everything accepted", going_on=LONGER * timeout)
        if drained:
            self.await_committed(silence)
        self.tell("harness", "drained" if drained else "not_drained", missing=len(self._progress.outstanding))
        return drained

    def await_committed(self, more: float = 0.0) -> bool:
        """Whether everything acknowledged is committed in the commit interval, a margin, and so many seconds more."""
        ends = self.load.ends()
        return self._await(
            lambda: all(self._commits.latest.get(at, 0) >= end for at, end in ends.items()),
            3 * self.descriptor.timing.commit_interval + 2 + more,
            "everything committed",
        )
