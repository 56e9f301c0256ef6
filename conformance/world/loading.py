"""What a world's load does: rates, bursts, single records, and what makes topics special."""

from __future__ import annotations

import time
from collections.abc import Mapping

from isolane.conformance.errors import NoTrafficError
from isolane.conformance.load import PLAIN, Draft
from isolane.conformance.reader import has_gaps
from isolane.conformance.world.ground import STILL, Ground

ACKNOWLEDGED_WITHIN = 20.0
"""Seconds that Kafka has to acknowledge the load."""


class Loading(Ground):
    """The load of a world, by tenants' names."""

    def measure_capacity(self, records: int) -> float:
        """Records a second that the implementation delivers with no fault: a burst over all topics.

        What it loses of the burst is not waited for, here or later; that it is lost is for the checkers to say.

        Raises:
            NoTrafficError: It delivered nothing, or was still busy when the patience was over.
        """
        self.phase("capacity")
        topics = [topic for tenant in self._tenants.values() for topic in tenant.topics]
        sent = records // len(topics) * len(topics)
        began = time.monotonic()
        self.load.burst(dict.fromkeys(topics, records // len(topics)))
        self.load.settle(ACKNOWLEDGED_WITHIN)
        left, latest = sent, began

        def over() -> bool:
            nonlocal left, latest
            now = time.monotonic()
            if len(self._missing()) < left:
                left, latest = len(self._progress.outstanding), now
            return not left or now - latest > STILL

        if not self._await(over, self.patience, "the burst"):
            raise NoTrafficError(
                f"{self.descriptor.name}: of a burst of {sent} records {left} were not accepted yet after "
                f"{self.patience:g} s",
            )
        if left == sent:
            raise NoTrafficError(f"{self.descriptor.name}: of a burst of {sent} records none was accepted")
        self._given_up |= self._progress.outstanding.keys()
        capacity = (sent - left) / (latest - began)
        self.tell("load", "capacity", records_per_second=capacity, left=left)
        return capacity

    def load_within(self, limit: float) -> None:
        """Begin the load of the shape, scaled down where it would be more than `limit` records a second."""
        scale = self.scale = min(1.0, limit / self._shape.rate)
        self.rates({tenant.name: scale * tenant.rate for tenant in self._shape.tenants})

    def rates(self, rates: Mapping[str, float]) -> None:
        """Set the load: records a second by tenant, all its topics together; tenants not named get nothing."""
        by_topic = {
            topic: rate / len(self._tenants[tenant].topics)
            for tenant, rate in rates.items()
            for topic in self._tenants[tenant].topics
        }
        self.tell("load", "rates", rates={str(topic): rate for topic, rate in by_topic.items()}, scale=self.scale)
        self.load.rates(by_topic)

    def send(self, tenant: str, draft: Draft = PLAIN, count: int = 1) -> None:
        """Send that many records like `draft` to each topic of a tenant, beside the load."""
        for topic in self._tenants[tenant].topics:
            self.load.send(topic, draft, count)

    def transaction(self, tenant: str, count: int, *, commit: bool) -> None:
        """Send that many records to each topic of a tenant, in a transaction that is committed or aborted."""
        for topic in self._tenants[tenant].topics:
            self.load.transaction(topic, count, commit=commit)

    def compact(self, tenant: str, keys: int, rounds: int, timeout: float) -> bool:
        """Write keys again and again to a tenant's compacted topics; whether Kafka left any out within so many seconds.

        Only segments that are closed are compacted, and one is closed by a record that comes late enough.
        """
        topics = self._tenants[tenant].topics
        for turn in range(rounds):
            for key in range(keys):
                self.send(
                    tenant, Draft("data" if turn == rounds - 1 else "superseded", key=b"key %d" % key, partition=0)
                )
        self.load.flush(ACKNOWLEDGED_WITHIN)

        def gone() -> bool:
            self.send(tenant, Draft(partition=0))
            self.load.flush(ACKNOWLEDGED_WITHIN)
            return all(has_gaps(self._broker.bootstrap, topic) for topic in topics.values())

        compacted = self._await(gone, timeout, "compaction")
        self.tell("harness", "compacted" if compacted else "not_compacted", tenant=self._tenants[tenant].name)
        return compacted
