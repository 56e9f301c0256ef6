"""Producers: kafka-python's, typed; each record's offset is told."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Literal, get_args

from kafka import KafkaProducer
from kafka.errors import KafkaError

from isolane.conformance.errors import HarnessError
from isolane.conformance.kafka_clients import CONNECTING

Codec = Literal["none", "gzip", "snappy", "lz4", "zstd"]
"""How batches of records are compressed: all that Kafka knows."""

Header = tuple[str, bytes]
"""A header of a record: name and value."""


_METADATA_AGE = 0.5
# Partitions that are added are written to as soon as that.

_BATCH_BYTES = 128 * 1024
# With less, what waits for one partition goes there in many small batches, one after the other.


_ASKING = 64
# Topics that are asked for at once.


class Producer:
    """Sends records and tells where each one went. Its callbacks run on kafka-python's own I/O thread."""

    def __init__(self, bootstrap: str, codec: Codec = "none", *, transactional_id: str | None = None) -> None:
        """Connect to `bootstrap` (host:port); every record is confirmed by all replicas, in order.

        With a `transactional_id` every record belongs to a transaction; there is no other with this id.
        """
        self._producer = KafkaProducer(
            bootstrap_servers=bootstrap,
            client_id="isolane-load",
            **CONNECTING,
            acks="all",
            compression_type=None if codec == "none" else codec,
            transactional_id=transactional_id,
            metadata_max_age_ms=round(1000 * _METADATA_AGE),
            max_request_size=16 * 1024 * 1024,
            batch_size=_BATCH_BYTES,
            metrics_enabled=False,
        )
        if transactional_id is not None:
            self._producer.init_transactions()

    def send(
        self,
        topic: str,
        partition: int,
        value: bytes | None,
        *,
        key: bytes | None = None,
        headers: Sequence[Header] = (),
        acknowledged: Callable[[int], None],
        failed: Callable[[Exception], None],
    ) -> None:
        """Send one record; later exactly one of `acknowledged(offset)` and `failed(error)` is called."""
        future = self._producer.send(topic, value=value, key=key, headers=list(headers), partition=partition)
        future.add_callback(lambda sent: acknowledged(sent.offset))
        future.add_errback(failed)

    def learn(self, topics: Iterable[str]) -> None:
        """Ask for the partitions of topics that there are, before anything is sent to them.

        Each topic that is new to a producer waits for the next refresh of its metadata; many at once wait for the same.
        """
        with ThreadPoolExecutor(_ASKING, thread_name_prefix="load-metadata") as threads:
            deque(threads.map(self._producer.partitions_for, topics), maxlen=0)

    def await_partitions(self, topic: str, count: int, timeout: float) -> None:
        """Wait until the producer knows that many partitions of a topic.

        Raises:
            HarnessError: Not within `timeout` seconds.
        """
        deadline = time.monotonic() + timeout
        while len(self._producer.partitions_for(topic)) < count:
            if time.monotonic() > deadline:
                raise HarnessError(f"{count} partitions of {topic} were not known within {timeout:g} s")
            time.sleep(_METADATA_AGE / 10)

    @contextmanager
    def transaction(self, *, commit: bool) -> Iterator[None]:
        """A transaction around what the block sends, committed or aborted at its end.

        Raises:
            HarnessError: Kafka does not let it be begun or ended.
        """
        try:
            self._producer.begin_transaction()
            yield
            self._producer.flush()  # an abort drops what was not sent yet: those records would have no offsets
            if commit:
                self._producer.commit_transaction()
            else:
                self._producer.abort_transaction()
        except KafkaError as error:
            raise HarnessError(f"Kafka does not take a transaction: {error}") from error

    def flush(self, timeout: float) -> None:
        """Wait until everything sent is acknowledged.

        Raises:
            HarnessError: Not within `timeout` seconds.
        """
        try:
            self._producer.flush(timeout=timeout)
        except KafkaError as error:
            raise HarnessError(f"Kafka did not take the load within {timeout:g} s: {error}") from error

    def close(self) -> None:
        """Close the connection; what is not yet sent is given up after a second."""
        self._producer.close(timeout=1)


class Producers:
    """The producers of one load, made when they are needed: one for each codec, and one for transactions.

    Each kind has a lock of its own while it is made: who needs another one must not wait for a connection.
    """

    def __init__(self, bootstrap: str, transactional_id: str) -> None:
        """Prepare producers to `bootstrap` (host:port)."""
        self._bootstrap, self._transactional_id = bootstrap, transactional_id
        self._made: dict[Codec | None, Producer] = {}
        self._making: dict[Codec | None, threading.Lock] = {kind: threading.Lock() for kind in (None, *get_args(Codec))}

    def of(self, codec: Codec) -> Producer:
        """The producer that compresses with `codec`; blocks while it is made."""
        return self._get(codec, lambda: Producer(self._bootstrap, codec))

    @property
    def transactional(self) -> Producer:
        """The producer whose records belong to transactions; blocks while it is made."""
        return self._get(None, lambda: Producer(self._bootstrap, transactional_id=self._transactional_id))

    def flush(self, timeout: float) -> None:
        """Wait until everything sent is acknowledged.

        Raises:
            HarnessError: Not within `timeout` seconds.
        """
        for producer in list(self._made.values()):
            producer.flush(timeout)

    def close(self) -> None:
        """Close the connections."""
        for producer in self._made.values():
            producer.close()

    def _get(self, kind: Codec | None, make: Callable[[], Producer]) -> Producer:
        with self._making[kind]:
            if kind not in self._made:
                self._made[kind] = make()
            return self._made[kind]
